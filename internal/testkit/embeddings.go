package testkit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

// Embeddings is a local OpenAI-compatible embeddings endpoint. It is strict: a request that a provider could reject
// fails the test. Vectors are sums of hashed words, so that texts with common words are similar, and equal in every
// run.
type Embeddings struct {
	// Key and Model are required in requests. Dims is the length of the vectors.
	Key, Model string
	Dims       int
	// Base64 returns base64 instead of arrays. Backwards returns the last text first.
	Base64, Backwards bool
	// Synonyms maps words to words with the same vector.
	Synonyms map[string]string

	t      testing.TB
	server *httptest.Server
	mu     sync.Mutex
	faults []EmbeddingFault
	always EmbeddingFault
	calls  int
	paid   []string
}

// EmbeddingFault handles a request instead of the endpoint and reports whether it did.
type EmbeddingFault func(w http.ResponseWriter, r *http.Request, texts []string) bool

// NewEmbeddings starts an endpoint that is closed at the end of the test.
func NewEmbeddings(t testing.TB) *Embeddings {
	t.Helper()
	e := &Embeddings{t: t, Key: "sk-secret-of-the-test", Model: "words-64", Dims: 64}
	e.server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.server.Close)
	return e
}

// URL returns the base URL for a client.
func (e *Embeddings) URL() string { return e.server.URL + "/v1" }

// Close stops the endpoint, so that its address refuses connections.
func (e *Embeddings) Close() { e.server.Close() }

// Fail adds faults for the next requests, one each; nil is a successful request.
func (e *Embeddings) Fail(faults ...EmbeddingFault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, faults...)
}

// Break makes every request fail that has no fault of its own; nil ends this.
func (e *Embeddings) Break(fault EmbeddingFault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.always = fault
}

// Calls returns the number of requests.
func (e *Embeddings) Calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

// Paid returns the texts that a provider would have charged for, in order, including those with a lost response.
func (e *Embeddings) Paid() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.paid)
}

func (e *Embeddings) serve(w http.ResponseWriter, r *http.Request) {
	texts, err := e.check(r)
	if err != nil {
		e.t.Errorf("a request for embeddings is wrong: %v", err)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	e.mu.Lock()
	e.calls++
	fault := e.always
	if len(e.faults) > 0 {
		fault, e.faults = e.faults[0], e.faults[1:]
	}
	e.mu.Unlock()
	if fault != nil && fault(w, r, texts) {
		return
	}
	e.pay(texts)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(e.reply(texts)) // fails if the client has disconnected
}

func (e *Embeddings) pay(texts []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paid = append(e.paid, texts...)
}

// check validates a request against OpenAI's API and the expectations of the test.
func (e *Embeddings) check(r *http.Request) ([]string, error) {
	var body struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions"`
	}
	dec := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil {
		return nil, err
	}
	switch {
	case r.Method != http.MethodPost || r.URL.String() != "/v1/embeddings":
		return nil, fmt.Errorf("%s %s", r.Method, r.URL)
	case r.Header.Get("Content-Type") != "application/json":
		return nil, errors.New("Content-Type " + r.Header.Get("Content-Type"))
	case e.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.Key, e.Key == "" &&
		len(r.Header["Authorization"]) > 0:
		return nil, errors.New("the wrong key")
	case body.Model != e.Model:
		return nil, errors.New("model " + body.Model)
	case body.Dimensions != 0 && body.Dimensions != e.Dims:
		return nil, fmt.Errorf("%d dimensions", body.Dimensions)
	case len(body.Input) == 0 || len(body.Input) > 96:
		return nil, fmt.Errorf("%d texts", len(body.Input))
	case slices.ContainsFunc(body.Input, func(s string) bool { return strings.TrimSpace(s) == "" }):
		return nil, errors.New("an empty text")
	}
	return body.Input, nil
}

// reply returns the response to these texts. A token is a word.
func (e *Embeddings) reply(texts []string) []byte {
	type embedding struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	data := make([]embedding, len(texts))
	tokens := 0
	for i, text := range texts {
		v := e.Vector(text)
		data[i] = embedding{"embedding", i, v}
		if e.Base64 {
			data[i].Embedding = floatBytes(v)
		}
		tokens += len(strings.Fields(text))
	}
	if e.Backwards {
		slices.Reverse(data)
	}
	b, _ := json.Marshal(map[string]any{ // numbers and strings always marshal
		"object": "list", "model": e.Model, "data": data,
		"usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens},
	})
	return b
}

// Vector returns the vector of a text. It is not normalized.
func (e *Embeddings) Vector(text string) []float32 {
	v := make([]float32, e.Dims)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if same, ok := e.Synonyms[word]; ok {
			word = same
		}
		h := fnv.New64a()
		_, _ = io.WriteString(h, word) // never fails
		sum := h.Sum64()
		// Three components per word make collisions unlikely to matter.
		for range 3 {
			v[sum%uint64(e.Dims)] += 1 - 2*float32(sum>>63)
			sum = sum*6364136223846793005 + 1442695040888963407
		}
	}
	v[0] += 0.01 // a text without words has a vector too
	return v
}

func floatBytes(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// EmbeddingsStatus responds with a status other than 200, and with Retry-After unless it is empty.
func EmbeddingsStatus(status int, retryAfter, message string) EmbeddingFault {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": message, "type": "error"}})
		return true
	}
}

// EmbeddingsBody responds with status 200 and this body.
func EmbeddingsBody(body string) EmbeddingFault {
	return func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		_, _ = io.WriteString(w, body) // fails if the client has disconnected
		return true
	}
}

// Cut computes and charges for the vectors, and closes the connection in the middle of the response.
func (e *Embeddings) Cut() EmbeddingFault {
	return func(w http.ResponseWriter, _ *http.Request, texts []string) bool {
		e.pay(texts)
		reply := e.reply(texts)
		w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
		_, _ = w.Write(reply[:len(reply)/2])
		panic(http.ErrAbortHandler)
	}
}

// Slow delays the response, unless the client disconnects first.
func (e *Embeddings) Slow(d time.Duration) EmbeddingFault {
	return func(_ http.ResponseWriter, r *http.Request, _ []string) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false
		case <-r.Context().Done():
			return true
		}
	}
}

// Refuse responds with this status to every request with a text that contains part.
func (e *Embeddings) Refuse(part string, status int) EmbeddingFault {
	return func(w http.ResponseWriter, r *http.Request, texts []string) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) &&
			EmbeddingsStatus(status, "", "this text is rejected")(w, r, texts)
	}
}
