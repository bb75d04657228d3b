package task

import (
	"context"
	"time"
)

// Tick does once what the engine does every second.
func (e *Engine) Tick(ctx context.Context) error { return e.tick(ctx) }

// Renew renews the lease once.
func (e *Engine) Renew(ctx context.Context) error { return e.renew(ctx) }

// Die ends the engine as a kill would: nothing is given back and nothing more is written.
func (e *Engine) Die() {
	e.mu.Lock()
	e.open = false
	e.lose()
	e.mu.Unlock()
	e.stopLoops()
	e.looping.Wait()
	e.end()
	e.running.Wait()
}

// Pause makes the lease end as a process sees it that was stopped past it and goes on: nobody has told the runs.
func (e *Engine) Pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease.lapse.Stop()
	e.lease.until = time.Now()
}
