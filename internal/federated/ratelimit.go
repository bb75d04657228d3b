package federated

import (
	"context"
	"sync"
	"time"

	"carrel/internal/source"
)

// rateLimit spaces the requests to one host. Callers get their slots in the order of their calls.
type rateLimit struct {
	interval time.Duration
	mu       sync.Mutex
	next     time.Time
}

// wait blocks until the caller may send a request. A caller whose slot would lie beyond its deadline gets a failure
// at once and takes no slot.
func (p *rateLimit) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	if deadline, ok := ctx.Deadline(); ok && at.After(deadline) {
		p.mu.Unlock()
		return &source.Failure{
			Code: source.WarnSourceRateLimited, Detail: "The source's rate limit is reached. Try again later.",
		}
	}
	p.next = at.Add(p.interval)
	p.mu.Unlock()
	return sleep(ctx, at.Sub(now))
}

// sleep waits for d or until the context ends.
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
