package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

const (
	// requestTimeout is the time limit of one request. It is long because a small machine may need minutes for a
	// batch; the context of a search query ends sooner.
	requestTimeout = 2 * time.Minute
	// maxReply bounds a response: a batch of vectors of MaxDims, each number with all its digits.
	maxReply = 32 << 20
	// MaxDims is the longest vector that is accepted.
	MaxDims = 8192
	// embedAttempts is the number of times that a request is made.
	embedAttempts = 3
	// firstBackoff is the delay before the first retry. It doubles with every further one.
	firstBackoff = 500 * time.Millisecond
	// maxEmbedDelay is the longest Retry-After that is honoured.
	maxEmbedDelay = 20 * time.Second
)

// EmbeddingOptions configure an EmbeddingClient.
type EmbeddingOptions struct {
	// URL is the address without "/embeddings", such as https://api.openai.com/v1.
	URL string
	// Key is sent as a bearer token; empty means none.
	Key   string
	Model string
	// Dims is the requested length of the vectors, for models that support several; 0 means the model's default.
	Dims int
}

// EmbeddingClient is an Embedder for OpenAI-compatible endpoints. It is safe for concurrent use.
type EmbeddingClient struct {
	options EmbeddingOptions
	clock   core.Clock
	http    *http.Client
	// dims is the length of the vectors once it is known. It does not change after that: vectors of two lengths can't
	// be compared, so an endpoint that switches its model must fail.
	dims  atomic.Int64
	sleep func(ctx context.Context, d time.Duration) error
}

// NewEmbeddingClient returns a client. Close closes its connections.
func NewEmbeddingClient(o EmbeddingOptions, clock core.Clock) *EmbeddingClient {
	c := &EmbeddingClient{options: o, clock: clock, sleep: sleep, http: newHTTPClient()}
	c.http.Timeout = requestTimeout
	c.dims.Store(int64(o.Dims))
	return c
}

// Close closes idle connections.
func (c *EmbeddingClient) Close() { c.http.CloseIdleConnections() }

// Model returns the name of the model.
func (c *EmbeddingClient) Model() string { return c.options.Model }

// Dims returns the length of the vectors: the configured length, or the length in the first response.
func (c *EmbeddingClient) Dims() int { return int(c.dims.Load()) }

// Embed requests the vectors of the texts, in batches. It returns none if one batch fails; callers that want to keep
// the vectors they have paid for pass one EmbeddingBatch at a time.
func (c *EmbeddingClient) Embed(ctx context.Context, texts []string) (Embeddings, error) {
	all := Embeddings{Vectors: make([][]float32, 0, len(texts))}
	for len(texts) > 0 {
		n := EmbeddingBatch(texts)
		part, err := c.embedBatch(ctx, texts[:n])
		if err != nil {
			return Embeddings{}, err
		}
		all.Vectors = append(all.Vectors, part.Vectors...)
		all.Tokens += part.Tokens
		texts = texts[n:]
	}
	return all, nil
}

// embedBatch makes one request, with retries while the context allows them.
func (c *EmbeddingClient) embedBatch(ctx context.Context, texts []string) (Embeddings, error) {
	backoff := firstBackoff
	for n := 1; ; n++ {
		out, err := c.request(ctx, texts)
		var failure *EmbeddingError
		if err == nil || ctx.Err() != nil || !errors.As(err, &failure) {
			return out, err
		}
		delay := max(failure.RetryAfter, jitter(backoff))
		if !failure.retryable || n == embedAttempts || delay > maxEmbedDelay || !endsAfter(ctx, delay) {
			return Embeddings{}, err
		}
		if err := c.sleep(ctx, delay); err != nil {
			return Embeddings{}, err
		}
		backoff *= 2
	}
}

// request makes one attempt.
func (c *EmbeddingClient) request(ctx context.Context, texts []string) (Embeddings, error) {
	req, err := newRequest(ctx, c.options.URL+"/embeddings", struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
		Dims  int      `json:"dimensions,omitempty"`
	}{c.options.Model, texts, c.options.Dims})
	if err != nil {
		return Embeddings{}, &EmbeddingError{
			Fault: FaultSettings, detail: "the address is not valid; correct CARREL_EMBEDDINGS_URL", cause: err,
		}
	}
	req.Header.Set("Accept", "application/json")
	if c.options.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.Key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Embeddings{}, c.connectionError(ctx, "no response", err)
	}
	defer func() { _ = res.Body.Close() }() // only read from
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case res.StatusCode != http.StatusOK:
		// A truncated body is enough for the message in it.
		return Embeddings{}, c.statusError(res, reply)
	case err != nil:
		return Embeddings{}, c.connectionError(ctx, "the response was cut off", err)
	case len(reply) > maxReply:
		return Embeddings{}, badReply("a response of more than %d MB", maxReply>>20)
	}
	return c.parse(reply, len(texts))
}

// connectionError returns the error of a request without a complete response: the context's cause if that has ended.
func (c *EmbeddingClient) connectionError(ctx context.Context, problem string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &EmbeddingError{Fault: FaultEndpoint, retryable: true, cause: err}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		// A retry would most likely take as long again, and may be charged for.
		e.retryable = false
		problem = fmt.Sprintf("no response within %v", requestTimeout)
	}
	e.detail = problem + "; check that the endpoint of CARREL_EMBEDDINGS_URL runs and can be reached: " + err.Error()
	return e
}

// sleep waits for d, or returns the cause of a context that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
