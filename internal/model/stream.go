package model

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"carrel/internal/core"
)

const (
	// chatTries is how often a request is made, as long as nothing of an answer has been passed on.
	chatTries = 4
	// maxChatPause is how long a pause the provider may ask for that is waited for; limits are by the minute.
	maxChatPause = time.Minute
)

// wire speaks the protocol of one API.
type wire interface {
	// send makes one try and tells the sink what comes. What it returns is worth something also beside an error. Its
	// error is errStopped, a *failure, or whatever the client had.
	send(ctx context.Context, x *exchange, r Request, q quirk, s *sink) (reply, error)
}

// reply is what the end of an answer tells.
type reply struct {
	finish Finish
	usage  Usage
	// counted says that usage is the provider's last word.
	counted bool
}

// chat is a Provider over one wire.
type chat struct {
	wire    wire
	models  []string
	key     string
	clock   core.Clock
	http    *http.Client
	pause   func(ctx context.Context, d time.Duration) error
	silence time.Duration

	mu sync.Mutex
	// quirks are what models did not take, so that it is found out once only.
	quirks map[string]quirk
}

// Models implements Provider.
func (c *chat) Models() []string { return slices.Clone(c.models) }

// Close implements Provider.
func (c *chat) Close() { c.http.CloseIdleConnections() }

// Stream implements Provider.
func (c *chat) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := r.prepare(c.models)
		if err != nil {
			yield(nil, err)
			return
		}
		c.stream(ctx, r, yield)
	}
}

// stream tries until there is an answer, or nothing more to try. Once a part of an answer has been passed on there is
// no second try: whoever has it could not tell the two answers apart.
func (c *chat) stream(ctx context.Context, r Request, yield func(Event, error) bool) {
	var spent Usage
	wait := firstPause
	for try := 1; ; try++ {
		s := &sink{yield: yield}
		out, err := c.try(ctx, r, s)
		if errors.Is(err, errStopped) {
			return
		}
		spent = spent.plus(out.usage)
		if err == nil {
			_ = yield(spent, nil) && yield(Done{out.finish}, nil)
			return
		}
		var f *failure
		if errors.As(err, &f) && !s.delivered {
			if c.learn(r.Model, f.unwelcome) {
				try--
				continue
			}
			// Half of the pause is by chance, so that turns that failed together do not come back together.
			pause := max(f.after, wait/2+rand.N(wait/2)) //nolint:gosec // nobody gains by guessing it
			if f.again && try < chatTries && pause <= maxChatPause && enough(ctx, pause) {
				wait *= 2
				if c.pause(ctx, pause) == nil {
					continue
				}
				err = over(ctx, err)
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

// enough reports whether the context leaves time for a pause.
func enough(ctx context.Context, pause time.Duration) bool {
	end, bounded := ctx.Deadline()
	return !bounded || time.Until(end) > pause
}

// over is the error of a context that has ended; of one that has not it is err.
func over(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &failure{what: ErrTimeout, cause: context.Cause(ctx)}
	}
	return context.Cause(ctx)
}

// learn notes what a model does not take, and reports whether that was news.
func (c *chat) learn(model string, q quirk) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.quirks[model]
	c.quirks[model] = known | q
	return known|q != known
}

func (c *chat) quirksOf(model string) quirk {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quirks[model]
}

// try asks once. The usage it returns is complete, by estimate where need be.
func (c *chat) try(ctx context.Context, r Request, s *sink) (reply, error) {
	x := &exchange{key: c.key, clock: c.clock, silence: c.silence}
	limited, end := x.begin(ctx)
	defer end()
	out, err := c.wire.send(limited, x, r, c.quirksOf(r.Model), s)
	if err == nil {
		err = s.flush()
	}
	if err != nil && !errors.Is(err, errStopped) {
		err = explain(ctx, limited, x, err)
	}
	var f *failure
	if free := errors.As(err, &f) && f.free; x.opened && !free {
		out.usage = complete(out, r, s)
	}
	return out, err
}

// complete fills in what the provider did not count.
func complete(out reply, r Request, s *sink) Usage {
	u := out.usage
	u.Estimated = !out.counted
	if u.In <= 0 {
		u.In, u.Estimated = estimateIn(r), true
	}
	if said := s.said.tokens(); said > u.Out && (!out.counted || u.Out <= 0) {
		u.Out, u.Estimated = said, true
	}
	u.Out, u.Cached = max(u.Out, 0), min(max(u.Cached, 0), u.In)
	return u
}

// explain finds out what is behind the error of a try.
func explain(ctx, limited context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		return over(ctx, err)
	}
	var f *failure
	switch {
	case errors.Is(context.Cause(limited), errSilent):
		return &failure{what: ErrTimeout, cause: errSilent}
	case errors.As(err, &f):
		return f
	case errors.Is(x.err, errEndless):
		return &failure{what: ErrReply, cause: x.err}
	case x.err != nil:
		return &failure{what: ErrCut, again: true, cause: x.err}
	case !x.opened:
		return &failure{what: ErrUnreachable, again: true, cause: err}
	}
	// The error of a decoder may quote what it can't read.
	return &failure{what: ErrReply, again: true}
}
