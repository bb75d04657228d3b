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
	"unicode"

	"carrel/internal/outbound"
)

type embeddingReply struct {
	Data []struct {
		// Index is missing in responses of servers that omit zeros, or all indexes.
		Index     *int   `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	} `json:"usage"`
}

// vector is encoded as an array of numbers, or as base64 of little-endian 32-bit floats.
type vector []float32

// UnmarshalJSON implements json.Unmarshaler.
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

// normalize scales the vector to unit length and reports whether that is possible.
func (v vector) normalize() bool {
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

// parse decodes and validates a response for n texts. It is strict because a vector assigned to the wrong text would
// corrupt search results until the text is embedded again.
func (c *EmbeddingClient) parse(reply []byte, n int) (Embeddings, error) {
	var r embeddingReply
	if err := json.Unmarshal(reply, &r); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Embeddings{}, badReply("a response that is not JSON")
		}
		return Embeddings{}, badReply("JSON of an unexpected shape")
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
			return Embeddings{}, badReply("vectors whose indexes do not match the texts")
		case len(d.Embedding) != dims || dims == 0 || dims > MaxDims:
			return Embeddings{}, badReply(
				"vectors of %d and %d numbers; all must have the same length, 1 to %d", dims, len(d.Embedding), MaxDims)
		case !d.Embedding.normalize():
			e := badReply("a vector without a direction: all zeros, or with NaN")
			e.Suspect = true // small models do this for unusual texts
			return Embeddings{}, e
		}
		out.Vectors[i] = d.Embedding
	}
	return out, c.checkDims(dims)
}

// checkDims stores the length of the first vectors, and returns an error for a different one.
func (c *EmbeddingClient) checkDims(dims int) error {
	if c.dims.CompareAndSwap(0, int64(dims)) || c.Dims() == dims {
		return nil
	}
	if c.options.Dims != 0 {
		return &EmbeddingError{Fault: FaultSettings, detail: fmt.Sprintf(
			"the endpoint sends vectors of %d numbers, not %d; correct CARREL_EMBEDDINGS_DIMENSIONS or remove it",
			dims, c.options.Dims)}
	}
	return &EmbeddingError{Fault: FaultSettings, detail: fmt.Sprintf(
		"the endpoint sends vectors of %d numbers, and %d before; if its model was replaced, restart Carrel",
		dims, c.Dims())}
}

// badReply returns the error for an unusable response. The endpoint may be starting or behind a broken proxy, so the
// request is retried later, but not at once.
func badReply(format string, a ...any) *EmbeddingError {
	return &EmbeddingError{
		Fault: FaultEndpoint,
		detail: "the endpoint sent " + fmt.Sprintf(format, a...) + "; check that CARREL_EMBEDDINGS_URL is the address of " +
			"an OpenAI-compatible endpoint, such as https://api.openai.com/v1",
	}
}

// statusError returns the error for a status other than 200.
func (c *EmbeddingClient) statusError(res *http.Response, reply []byte) error {
	e := &EmbeddingError{Fault: FaultEndpoint, RetryAfter: outbound.RetryAfter(res.Header, c.clock.Now())}
	message := c.message(reply)
	status := res.StatusCode
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		// The message is dropped because it usually quotes the key.
		e.Fault, message = FaultSettings, ""
		e.detail = "the endpoint rejected the API key; correct CARREL_EMBEDDINGS_API_KEY"
	case status >= 300 && status <= 399:
		e.Fault = FaultSettings
		e.detail = "the endpoint has moved, and redirects are not followed; set CARREL_EMBEDDINGS_URL to its new address"
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		e.Fault = FaultSettings
		e.detail = "the endpoint has no such path or model; correct CARREL_EMBEDDINGS_URL or CARREL_EMBEDDINGS_MODEL"
	case status == http.StatusTooManyRequests:
		e.retryable = true
		e.detail = "the endpoint's rate limit or credit is exceeded; the request is retried later"
	case status >= 500:
		e.retryable = true
		e.detail = "the endpoint failed; the request is retried later"
		// Some local servers send this status for texts that are too long for them.
		e.Suspect = status == http.StatusInternalServerError
	case status == http.StatusRequestTimeout:
		e.detail = "the endpoint took too long; the request is retried later"
	case status >= 400:
		e.Fault, e.Suspect = FaultInput, true
		e.detail = "the endpoint rejected the request"
	default:
		e.detail = "the endpoint sent an unexpected status"
	}
	e.detail += fmt.Sprintf(" (status %d%s)", status, message)
	return e
}

// maxMessage is the number of characters of an endpoint's message that is kept.
const maxMessage = 200

// message returns the message of an error response, quoted, on one line and without the key, or "".
func (c *EmbeddingClient) message(reply []byte) string {
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
	if runes := []rune(line); len(runes) > maxMessage {
		line = string(runes[:maxMessage]) + "…"
	}
	if line == "" {
		return ""
	}
	return ", " + strconv.Quote(line)
}
