package task

import (
	"context"
	"errors"
	"time"

	"carrel/internal/core"
)

// lease is this node's permission to run tasks. Lease ids are never reused, so a node that finds a lease expired knows
// that its owner cannot write any more.
type lease struct {
	owner string
	// previous is the id of the last lease while its tasks have not been returned to the queue.
	previous string
	// until is the end of the lease by the local clock. It counts from before the renewal was sent, so it is never
	// later than the end by the database's clock.
	until time.Time
	peers int
	// expiry cancels the runs shortly before the lease ends if renewals fail.
	expiry *time.Timer
}

// margin is how long before the end of the lease the runs are cancelled.
func (e *Engine) margin() time.Duration { return e.options.Lease / 5 }

// join takes a lease under a new id.
func (e *Engine) join(ctx context.Context) error {
	owner := core.NewSeed()
	if e.options.ID != "" {
		owner = e.options.ID + "-" + owner
	}
	asked := time.Now()
	if err := e.store.JoinNode(ctx, owner, e.options.Version, e.options.Lease, e.options.SingleNode); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Until the first renewal returns the number of peers, assume that there are some.
	e.lease = lease{owner: owner, until: asked.Add(e.options.Lease), peers: 1}
	if !e.options.SingleNode {
		e.lease.expiry = time.AfterFunc(time.Until(e.lease.until)-e.margin(), func() { e.expireLease(owner) })
	}
	return nil
}

// renewRetryFactor divides Options.Renew into the delay before a failed renewal is retried.
const renewRetryFactor = 5

// keepLease renews the lease until the loops are stopped.
func (e *Engine) keepLease() {
	for next := e.options.Renew; sleep(e.loopCtx, next); {
		next = e.options.Renew
		if err := e.renew(e.loopCtx); err != nil && e.loopCtx.Err() == nil {
			e.log.WarnContext(e.loopCtx, "the node's lease could not be renewed", "error", err)
			// A restarting database is usually back long before the next regular renewal, which could be too late.
			next /= renewRetryFactor
		}
	}
}

// renew extends the lease. If it has expired, renew cancels its runs and takes a new lease.
func (e *Engine) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.Renew)
	defer cancel()
	e.mu.Lock()
	owner := e.lease.owner
	e.mu.Unlock()
	if owner == "" {
		return e.rejoin(ctx)
	}
	asked := time.Now()
	peers, err := e.store.RenewNode(ctx, owner, e.options.Lease)
	if errors.Is(err, ErrLost) {
		e.expireLease(owner)
		return e.rejoin(ctx)
	}
	if err == nil {
		e.extend(owner, asked, peers)
	}
	return err
}

// rejoin returns the tasks of the expired lease to the queue and takes a new lease. No crash is counted, unless another
// node swept the expired lease first.
func (e *Engine) rejoin(ctx context.Context) error {
	e.mu.Lock()
	before := e.lease.previous
	e.mu.Unlock()
	if err := e.store.LeaveNode(ctx, before); err != nil {
		return err
	}
	if err := e.join(ctx); err != nil {
		return err
	}
	e.backlog.Store(true)
	e.wakeClaim()
	return nil
}

// extend records a renewal, unless the lease was given up in the meantime.
func (e *Engine) extend(owner string, asked time.Time, peers int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lease.owner == owner {
		e.lease.until, e.lease.peers = asked.Add(e.options.Lease), peers
		e.lease.expiry.Reset(time.Until(e.lease.until) - e.margin())
	}
}

// expireLease gives up a lease: its runs are cancelled, and the fence rejects their writes.
func (e *Engine) expireLease(owner string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lease.owner != owner {
		return
	}
	e.log.Warn("the node's lease has expired; other nodes take over its tasks", "node", owner, "tasks", len(e.runs))
	e.endLease()
}

// releaseLease gives up the lease at shutdown and returns its id.
func (e *Engine) releaseLease() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endLease()
	return e.lease.previous
}

// endLease ends the lease and cancels all runs under it. The caller holds mu.
func (e *Engine) endLease() {
	if e.lease.expiry != nil {
		e.lease.expiry.Stop()
	}
	if e.lease.owner != "" {
		e.lease.previous = e.lease.owner
	}
	e.lease.owner = ""
	for _, r := range e.runs {
		r.cancel(ErrLost)
	}
}

// holdsLease reports whether the lease with that id is valid now. It is checked before every write, because a suspended
// process may resume in the middle of a run after its lease has expired.
func (e *Engine) holdsLease(owner string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return owner != "" && e.lease.owner == owner && (e.options.SingleNode || time.Now().Before(e.lease.until))
}

// peers returns the last known number of other nodes.
func (e *Engine) peers() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.options.SingleNode {
		return 0
	}
	return e.lease.peers
}
