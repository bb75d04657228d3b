package model

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

const (
	// requestTimeout is how long one request may take: a small machine needs its time for a whole batch. A query's
	// context ends sooner.
	requestTimeout = 2 * time.Minute
	// maxReply bounds a reply: a batch of the longest vectors, each number written out in full.
	maxReply = 32 << 20
	// MaxDims is the longest vector that is accepted.
	MaxDims = 8192
	// tries is how often a request is made before its failure is the caller's.
	tries = 3
	// firstPause is the pause before the second try, doubled before the third; maxPause is how long a pause the
	// endpoint may ask for that is waited for here.
	firstPause = 500 * time.Millisecond
	maxPause   = 20 * time.Second
)

// EmbeddingOptions say which endpoint to ask, and for what.
type EmbeddingOptions struct {
	// URL is what "/embeddings" is added to, such as https://api.openai.com/v1.
	URL string
	// Key is sent as a bearer token; empty means none.
	Key   string
	Model string
	// Dims is how long the vectors shall be, for models that let one choose; 0 means as they come.
	Dims int
}

// EmbeddingClient is an Embedder that asks any OpenAI-compatible endpoint. It may be used from many goroutines.
type EmbeddingClient struct {
	options EmbeddingOptions
	clock   core.Clock
	http    *http.Client
	// dims is the length of the vectors once it is known. It never changes after that: vectors of two lengths can't
	// be compared, so a model that was exchanged under its name must not go unnoticed.
	dims  atomic.Int64
	pause func(ctx context.Context, d time.Duration) error
}

// NewEmbeddingClient returns a client. Close gives its connections back.
func NewEmbeddingClient(o EmbeddingOptions, clock core.Clock) *EmbeddingClient {
	c := &EmbeddingClient{options: o, clock: clock, pause: sleep, http: &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		},
		// Texts and key go where they were sent, and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.dims.Store(int64(o.Dims))
	return c
}

// Close gives back the connections that are kept for the next request.
func (c *EmbeddingClient) Close() { c.http.CloseIdleConnections() }

// Model returns the name of the model.
func (c *EmbeddingClient) Model() string { return c.options.Model }

// Dims returns the length of the vectors: as it was set, else as the first reply had it.
func (c *EmbeddingClient) Dims() int { return int(c.dims.Load()) }

// Embed asks for the vectors of the texts, in as many requests as that takes. It is all or nothing: a caller that wants
// to keep what was paid for asks for one EmbeddingBatch at a time.
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

// embedBatch makes one request, again where that may help and there is time for it.
func (c *EmbeddingClient) embedBatch(ctx context.Context, texts []string) (Embeddings, error) {
	body, err := json.Marshal(struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
		Dims  int      `json:"dimensions,omitempty"`
	}{c.options.Model, texts, c.options.Dims})
	if err != nil {
		return Embeddings{}, fmt.Errorf("encode a request for embeddings: %w", err)
	}
	wait := firstPause
	for try := 1; ; try++ {
		out, err := c.request(ctx, body, len(texts))
		var failure *EmbeddingError
		if err == nil || ctx.Err() != nil || !errors.As(err, &failure) {
			return out, err
		}
		// Half of the pause is by chance, so that nodes that failed together do not come back together.
		pause := max(failure.RetryAfter, wait/2+rand.N(wait/2)) //nolint:gosec // nobody gains by guessing it
		end, bounded := ctx.Deadline()
		if !failure.again || try == tries || pause > maxPause || bounded && time.Until(end) < pause {
			return Embeddings{}, err
		}
		if err := c.pause(ctx, pause); err != nil {
			return Embeddings{}, err
		}
		wait *= 2
	}
}

// request makes one try.
func (c *EmbeddingClient) request(ctx context.Context, body []byte, n int) (Embeddings, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.URL+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return Embeddings{}, &EmbeddingError{
			Fault: FaultSettings, detail: "the address can't be used; correct CARREL_EMBEDDINGS_URL", cause: err,
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Carrel")
	if c.options.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.Key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Embeddings{}, c.lost(ctx, "no answer", err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case res.StatusCode != http.StatusOK:
		// What could be read of it is enough to say what it says.
		return Embeddings{}, c.refusal(res, reply)
	case err != nil:
		return Embeddings{}, c.lost(ctx, "the answer broke off", err)
	case len(reply) > maxReply:
		return Embeddings{}, badReply("an answer of more than %d MB", maxReply>>20)
	}
	return c.read(reply, n)
}

// lost is a request without a whole answer. Where the caller's time was up that is what it gets to know.
func (c *EmbeddingClient) lost(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &EmbeddingError{Fault: FaultEndpoint, again: true, cause: err}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		// A second try would most likely take as long again, and may be charged for.
		e.again = false
		what = fmt.Sprintf("no answer within %v", requestTimeout)
	}
	e.detail = what + "; see whether the endpoint of CARREL_EMBEDDINGS_URL runs and can be reached: " + err.Error()
	return e
}

// sleep waits, or returns why the context ended.
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
