// Package client is a client of the REST API of Carrel.
//
// The calls and types of the operations are generated from the contract. This file and its neighbours add what a
// contract can't express: retries, idempotency keys, pages as iterators, turns that are polled or streamed, uploads,
// OAuth sign-in, and the verification of webhooks.
//
//	c := client.New("https://carrel.example.org", client.APIKey(os.Getenv("CARREL_KEY")), client.Options{})
//	for agent, err := range c.ListAgentsAll(ctx, client.ListAgentsParams{}) {
//		…
//	}
package client

//go:generate go run ./gen

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Credential supplies bearer tokens. Implementations are safe for concurrent use.
type Credential interface {
	// Token returns the token for the next request. Rejected is the token that the server has just refused, or empty;
	// a credential that can't be renewed returns ErrNotRenewable for it.
	Token(ctx context.Context, rejected string) (string, error)
}

// ErrNotRenewable means that a refused token can't be replaced.
var ErrNotRenewable = errors.New("the credential can't be renewed")

// APIKey is an API key or another token without an expiry.
type APIKey string

// Token implements Credential.
func (k APIKey) Token(_ context.Context, rejected string) (string, error) {
	if rejected != "" {
		return "", ErrNotRenewable
	}
	return string(k), nil
}

// Options configure a client. Zero values mean defaults.
type Options struct {
	// HTTP sends the requests. It must not have a timeout, which would cut streams off. Default: a client of its own.
	HTTP *http.Client
	// UserAgent identifies the program. Default: "carrel-client".
	UserAgent string
	// Attempts is the number of times a request is sent. Default: 4.
	Attempts int
	// Backoff is the pause before the first retry; it doubles with each. Default: 250 ms.
	Backoff time.Duration
}

// maxBackoff limits the pause between two attempts, also if Retry-After is longer.
const maxBackoff = 30 * time.Second

// maxReply limits the size of a JSON reply.
const maxReply = 64 << 20

// Client calls a server. It is safe for concurrent use.
type Client struct {
	base       string
	credential Credential
	opts       Options
}

// New returns a client of the server at a base URL. A nil credential sends no token.
func New(base string, credential Credential, opts Options) *Client {
	if opts.HTTP == nil {
		opts.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	opts.UserAgent = cmp.Or(opts.UserAgent, "carrel-client")
	opts.Attempts = cmp.Or(opts.Attempts, 4)
	opts.Backoff = cmp.Or(opts.Backoff, 250*time.Millisecond)
	return &Client{base: strings.TrimSuffix(base, "/"), credential: credential, opts: opts}
}

// Base returns the base URL without a trailing slash.
func (c *Client) Base() string { return c.base }

// Close closes idle connections.
func (c *Client) Close() { c.opts.HTTP.CloseIdleConnections() }

// request is a request to the API.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	// body is encoded as JSON. Raw opens another body for each attempt; rawType is its content type.
	body    any
	raw     func() io.ReadCloser
	rawType string
	// keyed marks a POST that honours Idempotency-Key.
	keyed bool
}

// repeatable reports whether the request may be sent again if it is unknown whether the server has processed it.
func (r request) repeatable() bool {
	return r.method == http.MethodGet || r.method == http.MethodPut || r.keyed
}

type idempotencyKey struct{}

// WithIdempotencyKey sets the key of the next POST that creates something, so that a program can repeat the call after
// its own restart. By default every call has a random key, which its retries share.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

type preferKey struct{}

// WithPrefer sets the Prefer header of requests, such as "wait=5" or "respond-async".
func WithPrefer(ctx context.Context, prefer string) context.Context {
	return context.WithValue(ctx, preferKey{}, prefer)
}

// Do sends a request to a path of the server, such as /mcp, with the credential and the retries of the client. The
// caller closes the body of the reply. A reply with an error status is an *Error.
func (c *Client) Do(
	ctx context.Context, method, path string, header http.Header, contentType string, body []byte,
) (*http.Response, error) {
	r := request{method: method, path: path, header: header, rawType: contentType}
	if body != nil {
		r.raw = func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
	}
	return c.send(ctx, r)
}

// call sends a request and decodes its reply.
func call[T any](ctx context.Context, c *Client, r request) (*T, error) {
	body, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	out := new(T)
	if err := json.NewDecoder(io.LimitReader(body, maxReply)).Decode(out); err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	return out, nil
}

// open sends a request and returns the body of its successful reply.
func (c *Client) open(ctx context.Context, r request) (io.ReadCloser, error) {
	res, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// send sends a request with retries. A reply with an error status is returned as an *Error.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	header := http.Header{"User-Agent": {c.opts.UserAgent}, "Accept": {"application/json, */*;q=0.5"}}
	for name, values := range r.header {
		header[name] = values
	}
	if prefer, ok := ctx.Value(preferKey{}).(string); ok {
		header.Set("Prefer", prefer)
	}
	if r.keyed {
		key, _ := ctx.Value(idempotencyKey{}).(string)
		header.Set("Idempotency-Key", cmp.Or(key, rand.Text()))
	}
	if r.body != nil {
		encoded, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		r.raw = func() io.ReadCloser { return io.NopCloser(bytes.NewReader(encoded)) }
		r.rawType = "application/json"
	}
	if r.rawType != "" {
		header.Set("Content-Type", r.rawType)
	}
	pause := c.opts.Backoff
	for attempt := 1; ; attempt++ {
		res, err := c.authorized(ctx, r, header)
		if err == nil {
			return res, nil
		}
		if attempt >= c.opts.Attempts || !retryable(ctx, r, err) {
			return nil, err
		}
		if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > pause {
			pause = e.RetryAfter
		}
		if err := sleep(ctx, min(pause, maxBackoff)); err != nil {
			return nil, err
		}
		pause *= 2
	}
}

// retryable reports whether another attempt may succeed and does no harm.
func retryable(ctx context.Context, r request, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		_, transport := errors.AsType[*url.Error](err)
		return transport && r.repeatable()
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true // the server has not processed the request
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return e.Code == "" && r.repeatable() // from a proxy; the server's own codes are results of the operation
	}
	return e.Code == CodeIdempotencyInProgress
}

// authorized sends a request once, and a second time with a renewed token if the server refuses the first.
func (c *Client) authorized(ctx context.Context, r request, header http.Header) (*http.Response, error) {
	if c.credential == nil {
		return c.attempt(ctx, r, header)
	}
	token, err := c.credential.Token(ctx, "")
	if err != nil {
		return nil, err
	}
	header.Set("Authorization", "Bearer "+token)
	res, err := c.attempt(ctx, r, header)
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusUnauthorized {
		return res, err
	}
	token, renewal := c.credential.Token(ctx, token)
	if errors.Is(renewal, ErrNotRenewable) {
		return nil, err
	}
	if renewal != nil {
		return nil, renewal
	}
	header.Set("Authorization", "Bearer "+token)
	return c.attempt(ctx, r, header)
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, r request, header http.Header) (*http.Response, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.raw != nil {
		opened := r.raw()
		defer func() { _ = opened.Close() }() // ends its writer even if the body was not read
		body = opened
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	res, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return nil, readError(res)
	}
	return res, nil
}

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
