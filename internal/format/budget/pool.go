package budget

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Pool is the memory in which all uploads of a node are read. A document waits for the memory that it may need, so that
// many hostile documents at once take no more than a few.
type Pool struct {
	size int64
	free *semaphore.Weighted
}

// NewPool returns a pool of this many bytes.
func NewPool(size int64) *Pool { return &Pool{size, semaphore.NewWeighted(size)} }

// acquire takes memory, first come, first served. A nil pool has no limit.
func (p *Pool) acquire(ctx context.Context, n int64) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	n = min(n, p.size)
	if err := p.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { p.free.Release(n) }, nil
}
