package model

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"carrel/internal/core"
)

const (
	// idleTimeout is the default of Options.Idle. It is long because a small machine may need minutes to read a prompt;
	// callers limit the whole answer with their context.
	idleTimeout = 5 * time.Minute
	// maxErrorBody bounds the body of a failed request, and maxStream an answer.
	maxErrorBody = 64 << 10
	maxStream    = 64 << 20
)

// newHTTPClient returns a client for requests to providers. It does not follow redirects, so that prompts and keys
// reach only the configured host.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newStreamingClient returns a client that does not accept compressed answers: compression buffers tokens.
func newStreamingClient() *http.Client {
	c := newHTTPClient()
	c.Transport.(*http.Transport).DisableCompression = true
	return c
}

// newRequest returns a POST of a JSON body.
func newRequest(ctx context.Context, url string, body any) (*http.Request, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b.Bytes()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Carrel")
	return req, nil
}

var errIdle = errors.New("the provider sent nothing for too long")

// attempt is one HTTP request for an answer. It cancels the request when the provider sends nothing for idle.
type attempt struct {
	http  *http.Client
	key   string
	clock core.Clock
	idle  time.Duration
	timer *time.Timer
	// opened is set once the provider has accepted the request. From then on it charges for it.
	opened bool
	// readErr is the error that reading the body ended with, io.EOF excluded.
	readErr error
	read    int64
}

// start returns a context that is cancelled with errIdle when the idle timer fires.
func (a *attempt) start(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.timer = time.AfterFunc(a.idle, func() { cancel(errIdle) })
	return ctx, func() {
		a.timer.Stop()
		cancel(nil)
	}
}

// send sends the request and returns the body of the answer. A status other than 200, or a body that is not a stream,
// is a *failure.
func (a *attempt) send(req *http.Request) (io.ReadCloser, error) {
	req.Header.Set("Accept", "text/event-stream")
	res, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	a.timer.Reset(a.idle)
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }() // only read from
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		f := classify(res.StatusCode, parseProviderError(body), a.key)
		f.retryAfter = requestedDelay(res.Header, a.clock.Now())
		if res.Header.Get("X-Should-Retry") == "false" {
			f.retryable = false
		}
		return nil, f
	}
	// Other types are the login page of a proxy, or a web site at a wrong address. Some servers set no type.
	switch media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media {
	case "text/event-stream", "text/plain", "":
	default:
		_ = res.Body.Close() // nothing was read from it
		return nil, &failure{kind: ErrReply}
	}
	a.opened = true
	return &idleBody{res.Body, a}, nil
}

// idleBody resets the idle timer on every read, so a silent provider is cut off, and limits the body to maxStream.
type idleBody struct {
	io.ReadCloser
	attempt *attempt
}

// Read implements io.Reader.
func (b *idleBody) Read(p []byte) (int, error) {
	a := b.attempt
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		a.timer.Reset(a.idle)
	}
	if a.read += int64(n); a.read > maxStream && err == nil {
		err = errTooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		a.readErr = err
	}
	return n, err
}
