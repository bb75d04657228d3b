package model

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// embeddingReply is what an endpoint answers with.
type embeddingReply struct {
	Data []struct {
		// Index may be left out, as servers do that leave out zeros.
		Index     *int   `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	} `json:"usage"`
}

// vector is written as an array of numbers, or as base64 of little-endian 32-bit floats.
type vector []float32

// UnmarshalJSON reads either form.
func (v *vector) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		var numbers []float32
		err := json.Unmarshal(b, &numbers)
		*v = numbers
		return err
	}
	var raw []byte
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return base64.CorruptInputError(len(raw))
	}
	*v = make(vector, len(raw)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// unit scales the vector to length 1 and reports whether that is possible.
func (v vector) unit() bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return false
	}
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return true
}

// read checks an answer for n texts to the last number: a vector in the wrong place would be found for years.
func (c *EmbeddingClient) read(reply []byte, n int) (Embeddings, error) {
	var r embeddingReply
	if err := json.Unmarshal(reply, &r); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Embeddings{}, badReply("an answer that is not JSON")
		}
		return Embeddings{}, badReply("JSON of another shape than an OpenAI-compatible endpoint's")
	}
	if len(r.Data) != n {
		return Embeddings{}, badReply("%d vectors for %d texts", len(r.Data), n)
	}
	out := Embeddings{Vectors: make([][]float32, n), Tokens: max(r.Usage.PromptTokens, r.Usage.TotalTokens, 0)}
	dims := len(r.Data[0].Embedding)
	for place, d := range r.Data {
		i := place
		if d.Index != nil {
			i = *d.Index
		}
		switch {
		case i < 0 || i >= n || out.Vectors[i] != nil:
			return Embeddings{}, badReply("vectors whose indexes are not those of the texts")
		case len(d.Embedding) != dims || dims == 0 || dims > MaxDims:
			return Embeddings{}, badReply("vectors of %d and %d numbers; they must be alike and have 1 to %d", dims, len(d.Embedding), MaxDims)
		case !d.Embedding.unit():
			e := badReply("a vector without a direction, of zeros or with numbers that are none")
			e.Suspect = true // small models fail so at odd texts
			return Embeddings{}, e
		}
		out.Vectors[i] = d.Embedding
	}
	return out, c.learn(dims)
}

// learn notes the length of the vectors, or says that it is another than before.
func (c *EmbeddingClient) learn(dims int) error {
	if c.dims.CompareAndSwap(0, int64(dims)) || c.Dims() == dims {
		return nil
	}
	if c.options.Dims != 0 {
		return &EmbeddingError{Fault: FaultSettings, detail: fmt.Sprintf(
			"the endpoint answers with vectors of %d numbers, not %d; correct CARREL_EMBEDDINGS_DIMENSIONS or leave it out", dims, c.options.Dims)}
	}
	return &EmbeddingError{Fault: FaultSettings, detail: fmt.Sprintf(
		"the endpoint answers with vectors of %d numbers and did so with %d before; if its model was exchanged, restart Carrel", dims, c.Dims())}
}

// badReply is an answer that can't be used. The endpoint may be half started or behind a broken proxy, so it is asked
// again later, but not at once.
func badReply(format string, a ...any) *EmbeddingError {
	return &EmbeddingError{
		Fault:  FaultEndpoint,
		detail: "the endpoint sent " + fmt.Sprintf(format, a...) + "; see whether CARREL_EMBEDDINGS_URL is the address of an OpenAI-compatible endpoint, such as https://api.openai.com/v1",
	}
}

// refusal makes an error of an answer with another status than 200.
func (c *EmbeddingClient) refusal(res *http.Response, reply []byte) error {
	e := &EmbeddingError{Fault: FaultEndpoint, RetryAfter: retryAfter(res.Header, c.clock.Now())}
	said := c.said(reply)
	status := res.StatusCode
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		// What the endpoint says here quotes the key.
		e.Fault, said = FaultSettings, ""
		e.detail = "the endpoint does not take the key; correct CARREL_EMBEDDINGS_API_KEY"
	case status >= 300 && status <= 399:
		e.Fault = FaultSettings
		e.detail = "the endpoint has moved, and redirects are not followed; set CARREL_EMBEDDINGS_URL to its new address"
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		e.Fault = FaultSettings
		e.detail = "the endpoint knows no such address or model; correct CARREL_EMBEDDINGS_URL or CARREL_EMBEDDINGS_MODEL"
	case status == http.StatusTooManyRequests:
		e.again = true
		e.detail = "the endpoint asks for fewer requests, or for money; it is asked again later"
	case status >= 500:
		e.again = true
		e.detail = "the endpoint failed; it is asked again later"
		// Some local servers say so to texts that are too long for them.
		e.Suspect = status == http.StatusInternalServerError
	case status == http.StatusRequestTimeout:
		e.detail = "the endpoint took too long; it is asked again later"
	case status >= 400:
		e.Fault, e.Suspect = FaultInput, true
		e.detail = "the endpoint refuses the request"
	default:
		e.detail = "the endpoint gave no answer of status 200"
	}
	e.detail += fmt.Sprintf(" (status %d%s)", status, said)
	return e
}

// maxSaid bounds how much of an endpoint's own words is repeated.
const maxSaid = 200

// said returns the endpoint's own message on one line, or nothing where it has none that is made for us to read.
func (c *EmbeddingClient) said(reply []byte) string {
	var r struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(reply, &r) != nil {
		return ""
	}
	var nested struct {
		Message string `json:"message"`
	}
	var flat string
	switch {
	case json.Unmarshal(r.Error, &nested) == nil && nested.Message != "":
		r.Message = nested.Message
	case json.Unmarshal(r.Error, &flat) == nil && flat != "":
		r.Message = flat
	}
	if c.options.Key != "" {
		r.Message = strings.ReplaceAll(r.Message, c.options.Key, "[redacted]")
	}
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, r.Message)
	if runes := []rune(line); len(runes) > maxSaid {
		line = string(runes[:maxSaid]) + "…"
	}
	if line == "" {
		return ""
	}
	return ", " + strconv.Quote(line)
}

// retryAfter reads the header of that name: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
