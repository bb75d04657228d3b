package budget

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// Pool is the memory shared by all uploads of a node. A document waits for the memory that it may need, so that many
// hostile documents use no more than a few at a time.
type Pool struct {
	size int64
	free *semaphore.Weighted
}

// NewPool returns a pool of a size in bytes.
func NewPool(size int64) *Pool { return &Pool{size, semaphore.NewWeighted(size)} }

// acquire reserves memory in the order of calls. A nil pool has no limit.
func (p *Pool) acquire(ctx context.Context, n int64) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	n = min(n, p.size)
	if err := p.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() {
		if n >= collectFrom {
			runtime.GC()
		}
		p.free.Release(n)
	}, nil
}

// collectFrom is the reservation from which the memory of a document is collected before the next one may use it. The
// heap would otherwise grow by the second before the collector has freed the first.
const collectFrom = 64 << 20
