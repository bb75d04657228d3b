package model

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"carrel/internal/core"
)

const (
	// maxSilence is how long nothing may come of an answer, its beginning included. A small machine may read a long
	// prompt for minutes; the caller's context says when it is too long for the caller.
	maxSilence = 5 * time.Minute
	// maxComplaint is how much is read of what a provider says about a failure, and maxStream of an answer.
	maxComplaint = 64 << 10
	maxStream    = 64 << 20
)

// newStreamingClient returns a client for answers that come bit by bit and have no fixed end.
func newStreamingClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
			DisableCompression: true, // a compressor holds tokens back
		},
		// Prompt and key go where they were sent, and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

var (
	errSilent  = errors.New("nothing came for too long")
	errEndless = errors.New("the answer does not end")
)

// exchange is the HTTP of one try. It stands between a provider's client and the network, so that both clients fail in
// the same ways: it lets only streams through and ends one that falls silent.
type exchange struct {
	key     string
	clock   core.Clock
	silence time.Duration
	timer   *time.Timer
	// opened says that the provider has begun to answer: from then on it charges.
	opened bool
	// err is what reading ended with.
	err  error
	read int64
}

// begin returns a context for the try that ends when nothing comes for too long.
func (x *exchange) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	x.timer = time.AfterFunc(x.silence, func() { cancel(errSilent) })
	return ctx, func() {
		x.timer.Stop()
		cancel(nil)
	}
}

// do makes the request, as the middleware of a client.
func (x *exchange) do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	// The clients tell of their version, system and compiler; nobody needs to know.
	for name := range req.Header {
		if len(name) > 11 && name[:11] == "X-Stainless" {
			delete(req.Header, name)
		}
	}
	req.Header.Set("User-Agent", "Carrel")
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	x.timer.Reset(x.silence)
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }() // it was only read
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxComplaint))
		f := classify(res.StatusCode, complain(body), x.key)
		f.after = pauseAsked(res.Header, x.clock.Now())
		if res.Header.Get("X-Should-Retry") == "false" {
			f.again = false
		}
		return nil, f
	}
	// A login page of a proxy, or the front page of something else, is no stream. Some servers name no type.
	switch media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media {
	case "text/event-stream", "text/plain", "":
	default:
		_ = res.Body.Close() // nothing of it is wanted
		return nil, &failure{what: ErrReply}
	}
	x.opened = true
	res.Body = &watched{res.Body, x}
	return res, nil
}

// watched is the body of an answer.
type watched struct {
	io.ReadCloser
	x *exchange
}

// Read reads on, and notes that something came, or how it ended.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.x.timer.Reset(w.x.silence)
	}
	if w.x.read += int64(n); w.x.read > maxStream && err == nil {
		err = errEndless
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.x.err = err
	}
	return n, err
}
