package config

import (
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// The values of Embeddings.Mode.
const (
	embeddingsBuiltIn = "builtin"
	embeddingsOff     = "off"
)

// Default weights. They were measured: the vectors of the built-in model are means of word vectors, and weigh less than
// those of a model that reads the whole text.
const (
	builtInWeight  = 0.3
	endpointWeight = 0.45
)

// Endpoint reports whether vectors come from an endpoint.
func (e Embeddings) Endpoint() bool { return e.Mode != embeddingsOff && e.URL != "" }

// BuiltIn reports whether vectors come from the built-in model.
func (e Embeddings) BuiltIn() bool { return e.Mode != embeddingsOff && e.URL == "" }

// FusionWeight returns the weight of vectors in the ranking.
func (e Embeddings) FusionWeight() float64 {
	switch {
	case e.Weight != 0:
		return e.Weight
	case e.Endpoint():
		return endpointWeight
	}
	return builtInWeight
}

type vectorWeight float64

func (v *vectorWeight) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*v), 'f', -1, 64)
}

func (v *vectorWeight) Set(s string) error {
	if s == "" {
		*v = 0
		return nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n > 1 {
		return errors.New("must be a number above 0 and up to 1, such as 0.3; embeddings=off turns vectors off")
	}
	*v = vectorWeight(n)
	return nil
}

// maxDimensions is the longest vector that is stored.
const maxDimensions = 8192

type dimensions int

func (v *dimensions) String() string { return strconv.Itoa(int(*v)) }

func (v *dimensions) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxDimensions {
		return errors.New("must be a whole number from 1 to 8192, or 0 for the default of the model")
	}
	*v = dimensions(n)
	return nil
}

type dollars float64

func (v *dollars) String() string { return strconv.FormatFloat(float64(*v), 'f', -1, 64) }

// maxPrice is higher than the price of any model. A higher value is likely in another unit.
const maxPrice = 1000

func (v *dollars) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > maxPrice {
		return errors.New("must be dollars per million tokens, such as 0.02")
	}
	*v = dollars(n)
	return nil
}

func checkEmbeddingsURL(s string) error {
	if s == "" {
		return nil // none
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be an absolute http or https URL, such as https://api.openai.com/v1")
	case u.User != nil:
		return errors.New("must not contain a user name or password; use embeddings-api-key")
	case strings.ContainsAny(s, "?#"):
		return errors.New("must not have a query or a fragment")
	case strings.HasSuffix(s, "/embeddings"):
		return errors.New("must not end in /embeddings, which is appended")
	case strings.HasSuffix(s, "/"):
		return errors.New("must not end in a slash")
	}
	return nil
}

func checkModel(s string) error {
	if len(s) > 200 || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }) ||
		strings.TrimSpace(s) != s {
		return errors.New("must be the name of a model, such as text-embedding-3-small")
	}
	return nil
}

// checkAPIKey refuses characters that are invalid in a header, usually copied by accident.
func checkAPIKey(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("must consist of ASCII characters without spaces")
	}
	return nil
}

// warnings returns likely mistakes.
func (e Embeddings) warnings() []string {
	if e.Mode == embeddingsOff && e.URL != "" {
		return []string{"embeddings-url has no effect with embeddings=off"}
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || e.Key == "":
		return nil
	case e.URL == "":
		return []string{"embeddings-api-key has no effect without embeddings-url"}
	case u.Scheme == "http" && !loopback(u.Hostname()+":0") && !loopback("["+u.Hostname()+"]:0"):
		return []string{"embeddings-url is plain http to another machine: the key and documents are not encrypted; use https"}
	}
	return nil
}
