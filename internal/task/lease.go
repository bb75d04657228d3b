package task

import (
	"context"
	"errors"
	"time"

	"carrel/internal/core"
)

// lease is this node's right to run tasks. Its id is never used again once it has ended: whoever finds it dead may
// rely on it.
type lease struct {
	owner string
	// before is the id of the lease before this one while its tasks are not given back.
	before string
	// until is when it ends, by our own clock, and never later than by the database's: it counts from before the
	// renewal was asked for.
	until time.Time
	peers int
	// lapse ends the runs in time when renewals fail.
	lapse *time.Timer
}

// margin is how long before the lease's end the runs are cancelled.
func (e *Engine) margin() time.Duration { return e.o.Lease / 5 }

// join takes a lease under a new id.
func (e *Engine) join(ctx context.Context) error {
	owner := core.NewSeed()
	if e.o.ID != "" {
		owner = e.o.ID + "-" + owner
	}
	asked := time.Now()
	if err := e.store.JoinNode(ctx, owner, e.o.Version, e.o.Lease, e.o.Alone); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Until the first renewal says otherwise, there may be others.
	e.lease = lease{owner: owner, until: asked.Add(e.o.Lease), peers: 1}
	if !e.o.Alone {
		e.lease.lapse = time.AfterFunc(time.Until(e.lease.until)-e.margin(), func() { e.lapsed(owner) })
	}
	return nil
}

// renewAgain says how much sooner than usual a renewal that failed is tried again.
const renewAgain = 5

// keepLease renews the lease until the loops end.
func (e *Engine) keepLease() {
	for next := e.o.Renew; e.sleep(e.loops, next); {
		next = e.o.Renew
		if err := e.renew(e.loops); err != nil && e.loops.Err() == nil {
			e.log.WarnContext(e.loops, "the node's lease could not be renewed", "error", err)
			// A database that restarts is back long before the next renewal is due; the one after could be too late.
			next /= renewAgain
		}
	}
}

// renew extends the lease. One that has ended is given up, with its runs, for a new one.
func (e *Engine) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.o.Renew)
	defer cancel()
	e.mu.Lock()
	owner := e.lease.owner
	e.mu.Unlock()
	if owner == "" {
		return e.rejoin(ctx)
	}
	asked := time.Now()
	peers, err := e.store.RenewNode(ctx, owner, e.o.Lease)
	if errors.Is(err, ErrLost) {
		e.lapsed(owner)
		return e.rejoin(ctx)
	}
	if err == nil {
		e.extend(owner, asked, peers)
	}
	return err
}

// rejoin gives back what ran under the lease that has ended, and takes a new one. The runs have stopped without a
// crash; only if another node found the lease dead first has it counted one.
func (e *Engine) rejoin(ctx context.Context) error {
	e.mu.Lock()
	before := e.lease.before
	e.mu.Unlock()
	if err := e.store.LeaveNode(ctx, before); err != nil {
		return err
	}
	if err := e.join(ctx); err != nil {
		return err
	}
	e.backlog.Store(true)
	e.nudge()
	return nil
}

// extend notes a renewal, unless the lease was given up meanwhile.
func (e *Engine) extend(owner string, asked time.Time, peers int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lease.owner == owner {
		e.lease.until, e.lease.peers = asked.Add(e.o.Lease), peers
		e.lease.lapse.Reset(time.Until(e.lease.until) - e.margin())
	}
}

// lapsed gives a lease up: its runs stop and can write nothing more.
func (e *Engine) lapsed(owner string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lease.owner != owner {
		return
	}
	e.log.Warn("the node's lease has ended; its tasks are left to others", "node", owner, "tasks", len(e.runs))
	e.lose()
}

// drop gives the lease up for good and returns the id that it had.
func (e *Engine) drop() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lose()
	return e.lease.before
}

// lose ends the lease and all runs under it. The caller holds mu.
func (e *Engine) lose() {
	if e.lease.lapse != nil {
		e.lease.lapse.Stop()
	}
	if e.lease.owner != "" {
		e.lease.before = e.lease.owner
	}
	e.lease.owner = ""
	for _, r := range e.runs {
		r.cancel(ErrLost)
	}
}

// holds reports whether the lease of that id stands at this moment. It is asked before every write, because a process
// that was stopped for a while wakes up in the middle of something.
func (e *Engine) holds(owner string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return owner != "" && e.lease.owner == owner && (e.o.Alone || time.Now().Before(e.lease.until))
}

// peers returns how many other nodes there are, as far as is known.
func (e *Engine) peers() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.o.Alone {
		return 0
	}
	return e.lease.peers
}
