package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"carrel/internal/outbound"
)

const (
	// requestTimeout limits one request to the collector.
	requestTimeout = 10 * time.Second
	// maxAttempts is how often a request is sent until its data is dropped.
	maxAttempts = 5
	// maxBackoff limits the pause before a retry, also one that the collector asks for.
	maxBackoff = time.Minute
	// maxReply limits the part of a reply that is read.
	maxReply = 64 << 10
	// logInterval is the time between two log lines about a collector that keeps failing.
	logInterval = 5 * time.Minute
)

// newClient returns a client that follows no redirects, which would send the headers to another address.
func newClient() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{}
	}
	return &http.Client{
		Transport: transport.Clone(), Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// exporter sends the requests of one signal. It is not safe for concurrent use.
type exporter struct {
	tracer *Tracer
	signal string
	// failing is set after a failure, until a request succeeds. logged is the time of the last log line about it.
	failing bool
	logged  time.Time
}

func (t *Tracer) newExporter(signal string) exporter {
	t.failures.WithLabelValues(signal) // series that start at 0 let a query see the first increase
	return exporter{tracer: t, signal: signal}
}

// send sends a message and retries failures that may pass, with backoff, until ctx ends. A request in flight may end
// then, so that the collector does not get its spans twice.
func (e *exporter) send(ctx context.Context, message any) error {
	body, err := compress(message)
	if err != nil {
		return e.report(ctx, err)
	}
	request, cancel := endLater(ctx, e.tracer.options.Flush/2)
	defer cancel()
	backoff := e.tracer.options.Backoff
	for attempt := 1; ; attempt++ {
		err := e.report(ctx, e.post(request, body))
		var failed *exportError
		if err == nil || !errors.As(err, &failed) || !failed.retry || attempt == maxAttempts {
			return err
		}
		pause := backoff/2 + rand.N(backoff) //nolint:gosec // spreads the retries of several nodes
		if failed.after > 0 {
			pause = failed.after
		}
		select {
		case <-time.After(min(pause, maxBackoff)):
		case <-ctx.Done():
			return ctx.Err()
		}
		backoff *= 2
	}
}

// endLater returns a context that ends some time after another one.
func endLater(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(after, cancel)
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() {
		stop()
		cancel()
	}
}

// sendOnce sends a message without retries.
func (e *exporter) sendOnce(ctx context.Context, message any) error {
	body, err := compress(message)
	if err != nil {
		return e.report(ctx, err)
	}
	return e.report(ctx, e.post(ctx, body))
}

func compress(message any) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(message); err != nil {
		return nil, fmt.Errorf("encode for OTLP: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress for OTLP: %w", err)
	}
	return b.Bytes(), nil
}

// Probe sends an empty request to a collector and returns why it failed.
func Probe(ctx context.Context, o Options) error {
	t := New(o)
	defer t.client.CloseIdleConnections()
	body, err := compress(traceRequest{ResourceSpans: []resourceSpans{}})
	if err != nil {
		return err
	}
	return t.traces.post(ctx, body)
}

// exportError is the failure of a request to the collector.
type exportError struct {
	cause error
	// retry is set if the failure may pass. after is the pause that the collector asks for, or 0.
	retry bool
	after time.Duration
}

func (e *exportError) Error() string { return e.cause.Error() }
func (e *exportError) Unwrap() error { return e.cause }

// post sends one request. Its error is an *exportError.
func (e *exporter) post(ctx context.Context, body []byte) error {
	o := e.tracer.options
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL+"/v1/"+e.signal, bytes.NewReader(body))
	if err != nil {
		return &exportError{cause: err}
	}
	for name, values := range o.Headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("User-Agent", "Carrel/"+o.Version)
	res, err := e.tracer.client.Do(r)
	if err != nil {
		return &exportError{cause: err, retry: true}
	}
	defer func() { _ = res.Body.Close() }() // only read
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if res.StatusCode < http.StatusOK || res.StatusCode >= http.StatusMultipleChoices {
		return &exportError{
			cause: fmt.Errorf("the collector replied with the status %d", res.StatusCode),
			retry: retryable(res.StatusCode), after: outbound.RetryAfter(res.Header, time.Now()),
		}
	}
	if err == nil {
		e.reportRejected(ctx, reply)
	}
	return nil
}

// retryable reports whether the specification of OTLP asks to repeat a request that failed with the status.
func retryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// reportRejected logs data that the collector has not accepted although the request succeeded. It must not be sent
// again.
func (e *exporter) reportRejected(ctx context.Context, reply []byte) {
	var body struct {
		PartialSuccess struct {
			RejectedSpans      wholeNumber `json:"rejectedSpans"`
			RejectedDataPoints wholeNumber `json:"rejectedDataPoints"`
			ErrorMessage       string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(reply, &body) != nil {
		return // not every collector replies with JSON
	}
	p := body.PartialSuccess
	rejected := p.RejectedSpans + p.RejectedDataPoints
	if rejected <= 0 {
		return
	}
	e.tracer.dropped.Add(float64(max(0, p.RejectedSpans)))
	if e.mayLog() {
		e.tracer.options.Log.WarnContext(ctx, "the OTLP collector has rejected data", slog.String("signal", e.signal),
			slog.Int64("rejected", int64(rejected)), slog.String("reason", p.ErrorMessage))
	}
}

// wholeNumber is a 64-bit integer, which JSON may hold as a string or as a number.
type wholeNumber int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *wholeNumber) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(bytes.Trim(b, `"`), (*int64)(n))
}

// report counts and logs a failure and returns it. A collector that keeps failing is logged once in a while. The end of
// ctx is no failure of the collector.
func (e *exporter) report(ctx context.Context, err error) error {
	log := e.tracer.options.Log
	switch {
	case err == nil && e.failing:
		e.failing = false
		log.InfoContext(ctx, "the OTLP collector accepts data again", slog.String("signal", e.signal))
	case err == nil || errors.Is(ctx.Err(), context.Canceled):
	default:
		e.failing = true
		e.tracer.failures.WithLabelValues(e.signal).Inc()
		if e.mayLog() {
			log.WarnContext(ctx, "sending to the OTLP collector failed; requests are not affected",
				slog.String("signal", e.signal), slog.Any("error", err))
		}
	}
	return err
}

// mayLog reports whether the last line about a problem is old enough for another.
func (e *exporter) mayLog() bool {
	now := time.Now()
	if !e.logged.IsZero() && now.Sub(e.logged) < logInterval {
		return false
	}
	e.logged = now
	return true
}
