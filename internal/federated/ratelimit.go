package federated

import (
	"context"
	"sync"
	"time"

	"carrel/internal/source"
)

// pace keeps requests to one host apart. It hands out times in the order in which they are asked for.
type rateLimit struct {
	interval time.Duration
	mu       sync.Mutex
	next     time.Time
}

// wait returns when the caller may send a request. Whoever would wait beyond their deadline is told at once, and takes
// no turn from others.
func (p *rateLimit) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	if deadline, ok := ctx.Deadline(); ok && at.After(deadline) {
		p.mu.Unlock()
		return &source.Failure{Code: source.WarnSourceRateLimited, Detail: "It is asked as often as it allows already. Try again in a while."}
	}
	p.next = at.Add(p.interval)
	p.mu.Unlock()
	return sleep(ctx, at.Sub(now))
}

// sleep waits, or returns why the context ended.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
