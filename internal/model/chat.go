package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"carrel/internal/core"
)

const (
	// chatAttempts is the number of requests that are made for one answer.
	chatAttempts = 4
	// maxChatDelay is the longest Retry-After that is honoured. Providers limit rates per minute.
	maxChatDelay = time.Minute
)

// wireFormat encodes requests for one API and decodes its answers.
type wireFormat interface {
	// newRequest returns the HTTP request for r, without the fields in q.
	newRequest(ctx context.Context, r Request, q quirk) (*http.Request, error)
	newAnswer(out *emitter) answer
}

// answer assembles one streamed answer and passes its parts to an emitter.
type answer interface {
	// add handles an event and reports whether it was the last one of the stream.
	add(e event) (done bool, err error)
	// end is called once, after the last event or with the error that reading ended with. The reply is valid even if
	// end returns an error.
	end(err error) (reply, error)
}

type reply struct {
	finish Finish
	usage  Usage
	// counted is set if usage is the provider's final count.
	counted bool
}

// chatClient is a Provider for one wire format.
type chatClient struct {
	format wireFormat
	models []string
	key    string
	clock  core.Clock
	http   *http.Client
	sleep  func(ctx context.Context, d time.Duration) error
	idle   time.Duration

	mu sync.Mutex
	// quirks holds the request fields that each model has refused, so that each is refused once only.
	quirks map[string]quirk
}

// Models implements Provider.
func (c *chatClient) Models() []string { return slices.Clone(c.models) }

// Close implements Provider.
func (c *chatClient) Close() { c.http.CloseIdleConnections() }

// Stream implements Provider.
func (c *chatClient) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := r.prepare(c.models)
		if err != nil {
			yield(nil, err)
			return
		}
		c.stream(ctx, r, yield)
	}
}

// stream makes attempts until one succeeds or a retry is pointless. It does not retry once a part of an answer has been
// yielded: the caller could not tell the two answers apart.
func (c *chatClient) stream(ctx context.Context, r Request, yield func(Event, error) bool) {
	var spent Usage
	backoff := firstBackoff
	for n := 1; ; n++ {
		out := &emitter{yield: yield}
		reply, err := c.attempt(ctx, r, out)
		if errors.Is(err, errStopped) {
			return
		}
		spent = spent.plus(reply.usage)
		if err == nil {
			_ = yield(spent, nil) && yield(Done{reply.finish}, nil)
			return
		}
		var f *failure
		if errors.As(err, &f) && !out.delivered {
			if c.addQuirks(r.Model, f.unsupported) {
				n--
				continue
			}
			delay := max(f.retryAfter, jitter(backoff))
			if f.retryable && n < chatAttempts && delay <= maxChatDelay && endsAfter(ctx, delay) {
				backoff *= 2
				if c.sleep(ctx, delay) == nil {
					continue
				}
				err = contextError(ctx, err)
			}
		}
		if spent != (Usage{}) && !yield(spent, nil) {
			return
		}
		if errors.As(err, &f) {
			err = f.public()
		}
		yield(nil, err)
		return
	}
}

// jitter returns a random delay between half of d and d, so that requests that failed together are not retried
// together.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2) //nolint:gosec // not a secret
}

// endsAfter reports whether the context has no deadline within d.
func endsAfter(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > d
}

// contextError returns the error of a context that has ended, else err.
func contextError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &failure{kind: ErrTimeout, cause: context.Cause(ctx)}
	}
	return context.Cause(ctx)
}

// addQuirks remembers the fields that a model refuses and reports whether one of them is new.
func (c *chatClient) addQuirks(model string, q quirk) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.quirks[model]
	c.quirks[model] = known | q
	return known|q != known
}

func (c *chatClient) quirksOf(model string) quirk {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quirks[model]
}

// attempt makes one request. The usage in its reply is complete, estimated if necessary.
func (c *chatClient) attempt(ctx context.Context, r Request, out *emitter) (reply, error) {
	a := &attempt{http: c.http, key: c.key, clock: c.clock, idle: c.idle}
	limited, cancel := a.start(ctx)
	defer cancel()
	reply, err := c.exchange(limited, a, r, out)
	if err == nil {
		err = out.flush()
	}
	if err != nil && !errors.Is(err, errStopped) {
		err = attemptError(ctx, limited, a, err)
	}
	var f *failure
	if uncharged := errors.As(err, &f) && f.uncharged; a.opened && !uncharged {
		reply.usage = completeUsage(reply, r, out)
	}
	return reply, err
}

// exchange sends the request and reads the answer.
func (c *chatClient) exchange(ctx context.Context, a *attempt, r Request, out *emitter) (reply, error) {
	req, err := c.format.newRequest(ctx, r, c.quirksOf(r.Model))
	if err != nil {
		return reply{}, &failure{kind: ErrRequest, cause: fmt.Errorf("encode the request: %w", err)}
	}
	body, err := a.send(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = body.Close() }() // only read from
	answer := c.format.newAnswer(out)
	events := newEventReader(body)
	for {
		e, err := events.next()
		if errors.Is(err, io.EOF) {
			return answer.end(nil)
		}
		if err != nil {
			return answer.end(err)
		}
		if done, err := answer.add(e); done || err != nil {
			return answer.end(err)
		}
	}
}

// completeUsage estimates the numbers that the provider has not sent.
func completeUsage(reply reply, r Request, out *emitter) Usage {
	u := reply.usage
	u.Estimated = !reply.counted
	if u.In <= 0 {
		u.In, u.Estimated = estimateInput(r), true
	}
	if written := out.written.tokens(); written > u.Out && (!reply.counted || u.Out <= 0) {
		u.Out, u.Estimated = written, true
	}
	u.Out, u.Cached = max(u.Out, 0), min(max(u.Cached, 0), u.In)
	return u
}

// attemptError turns the error of an attempt into a *failure, or into the cause of ctx if that has ended.
func attemptError(ctx, limited context.Context, a *attempt, err error) error {
	if ctx.Err() != nil {
		return contextError(ctx, err)
	}
	var f *failure
	switch {
	case errors.Is(context.Cause(limited), errIdle):
		return &failure{kind: ErrTimeout, cause: errIdle}
	case errors.As(err, &f):
		return f
	case errors.Is(err, errTooLong):
		return &failure{kind: ErrReply, cause: err}
	case a.readErr != nil:
		return &failure{kind: ErrTruncated, retryable: true, cause: a.readErr}
	case !a.opened:
		return &failure{kind: ErrUnreachable, retryable: true, cause: err}
	}
	// The text of a JSON error is not kept: it may quote the answer.
	return &failure{kind: ErrReply, retryable: true}
}
