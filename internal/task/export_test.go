package task

import (
	"context"
	"time"
)

// Renew renews the lease once.
func (e *Engine) Renew(ctx context.Context) error { return e.renew(ctx) }

// Die ends the engine like a kill: no task is returned and nothing more is written.
func (e *Engine) Die() {
	e.mu.Lock()
	e.accepting = false
	e.endLease()
	e.mu.Unlock()
	e.stopLoops()
	e.loopGroup.Wait()
	e.cancelBase()
	e.runGroup.Wait()
}

// Pause expires the lease without cancelling the runs, as seen by a process that was suspended past its lease.
func (e *Engine) Pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease.expiry.Stop()
	e.lease.until = time.Now()
}
