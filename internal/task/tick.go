package task

import (
	"context"
	"errors"
	"time"
)

// claimBatch is the maximum number of tasks claimed in one statement.
const claimBatch = 64

// runLoop is the housekeeping loop. It claims tasks when woken, and does everything else in tick.
func (e *Engine) runLoop() {
	tick := time.NewTicker(e.options.Poll)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-e.claimNow:
			err = e.claim(e.loopCtx)
		case <-e.endDueNow:
			err = e.endDue(e.loopCtx)
		case <-tick.C:
			err = e.tick(e.loopCtx)
		case <-e.loopCtx.Done():
			return
		}
		if err != nil && e.loopCtx.Err() == nil {
			e.log.WarnContext(e.loopCtx, "task housekeeping failed; it is retried", "error", err)
		}
	}
}

// tick does all periodic work. A part that fails does not prevent the others.
func (e *Engine) tick(ctx context.Context) error {
	var errs []error
	// A node without a lease must not sweep: its own tasks would count as crashed, and LeaveNode still returns them.
	if owner, _ := e.capacity(); !e.options.SingleNode && e.holdsLease(owner) {
		errs = append(errs, e.sweep(ctx))
	}
	e.stopOverdueRuns()
	errs = append(errs, e.endDue(ctx), e.claim(ctx), e.pollRemote(ctx))
	if now := time.Now(); now.Sub(e.lastReconcile) >= e.options.Renew {
		e.lastReconcile = now
		errs = append(errs, e.reconcile(ctx))
	}
	if now := time.Now(); now.Sub(e.lastPrune) >= pruneInterval {
		e.lastPrune = now
		errs = append(errs, e.prune(ctx))
	}
	return errors.Join(errs...)
}

// sweep queues the tasks of dead nodes again.
func (e *Engine) sweep(ctx context.Context) error {
	n, err := e.store.SweepNodes(ctx)
	if n > 0 {
		e.log.WarnContext(ctx, "tasks of lost nodes are queued again", "tasks", n)
		e.backlog.Store(true)
	}
	return err
}

// claim starts queued tasks while the node has capacity.
func (e *Engine) claim(ctx context.Context) error {
	if err := e.claimUnlimited(ctx); err != nil {
		return err
	}
	if !e.backlog.Load() {
		e.clearFull()
		return nil
	}
	for _, kind := range e.limited {
		if err := e.claimLimited(ctx, e.kinds[kind]); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) claimUnlimited(ctx context.Context) error {
	for {
		owner, room := e.capacity()
		if owner == "" || room == 0 || len(e.kinds) == 0 {
			return nil
		}
		n := min(room, claimBatch)
		tasks, backlog, err := e.store.ClaimTasks(ctx, owner, e.names, n, e.clock.Now())
		if err != nil {
			return err
		}
		e.backlog.Store(backlog)
		for _, t := range tasks {
			e.start(t, t.Attempt == 1)
		}
		if len(tasks) < n {
			return nil
		}
	}
}

// capacity returns the lease id to claim tasks under and the number of further tasks that may run.
func (e *Engine) capacity() (string, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.accepting {
		return "", 0
	}
	return e.lease.owner, max(0, e.options.MaxRunning-len(e.runs))
}

// stopOverdueRuns stops runs past their deadline. Runs that did not stop within Options.Grace are abandoned.
func (e *Engine) stopOverdueRuns() {
	now := e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		switch told := r.stopRequestedAt(); {
		case told.IsZero():
			if !now.Before(r.task.DeadlineAt) {
				r.stop(ErrDeadline)
			}
		case time.Since(told) > e.options.Grace && r.ending.CompareAndSwap(false, true):
			e.log.Error("a run did not stop; its task ends without it", "task", r.task.ID, "kind", r.task.Kind)
			e.runGroup.Go(r.abandon)
		}
	}
}

// dueBatch is the maximum number of tasks ended in one pass.
const dueBatch = 100

// unknownKindGrace is how far past its deadline a task of an unregistered kind must be before this node ends it. Until
// then, a node with a newer version may run it.
const unknownKindGrace = time.Hour

// endDue ends queued tasks that are cancelled or past their deadline, and stops runs that are cancelled.
func (e *Engine) endDue(ctx context.Context) error {
	now := e.clock.Now()
	due, err := e.store.DueTasks(ctx, now, dueBatch)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range due {
		_, known := e.kinds[t.Kind]
		switch {
		case t.State == StateRunning:
			if r := e.run(t.ID); r != nil {
				r.stop(ErrCancelled)
			}
		case known || now.Sub(t.DeadlineAt) >= unknownKindGrace:
			if err := e.endQueued(ctx, t); !errors.Is(err, ErrLost) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// endQueued ends a task that is not running: as cancelled if that was requested, else as timed out.
func (e *Engine) endQueued(ctx context.Context, t Task) error {
	o := Outcome{State: StateFailed, Code: CodeTimeout, Detail: detailTimeout, At: e.clock.Now()}
	if t.CancelRequestedAt != nil {
		o.State, o.Code, o.Detail = StateCancelled, "", ""
	}
	finish := e.store.FinishTask
	if k, ok := e.kinds[t.Kind]; ok {
		finish = k.Finish
	}
	if err := finish(ctx, t.Fence(), o); err != nil {
		return err
	}
	e.counters.ended(o)
	ended := o.apply(t)
	e.notify(t, &ended)
	return nil
}

// wakeEndDue makes the housekeeping loop handle cancellations now.
func (e *Engine) wakeEndDue() {
	select {
	case e.endDueNow <- struct{}{}:
	default:
	}
}

// reconcile compares the runs of this node with the tasks that it owns in the database. An owned task without a run is
// started: its insert or claim succeeded, but the reply was lost. A run without an owned task is stopped. Both must be
// observed in two passes, so that tasks that are just starting or ending are left alone.
func (e *Engine) reconcile(ctx context.Context) error {
	owner, _ := e.capacity()
	if owner == "" {
		return nil
	}
	ids, err := e.store.NodeTasks(ctx, owner)
	if err != nil {
		return err
	}
	mismatched := map[string]bool{}
	ours := make(map[string]bool, len(ids))
	for _, id := range ids {
		ours[id] = true
		if !e.runsHere(id) {
			mismatched[id] = true
		}
	}
	e.mu.Lock()
	for id, r := range e.runs {
		if !ours[id] {
			mismatched[id] = true
			if e.mismatched[id] && r.task.Owner == owner {
				r.cancel(ErrLost)
			}
		}
	}
	e.mu.Unlock()
	var errs []error
	for id := range mismatched {
		if ours[id] && e.mismatched[id] {
			errs = append(errs, e.startOwned(ctx, id, owner))
		}
	}
	e.mismatched = mismatched
	return errors.Join(errs...)
}

// startOwned starts a task that this node owns and does not run.
func (e *Engine) startOwned(ctx context.Context, id, owner string) error {
	t, err := e.store.Task(ctx, id)
	if err == nil && t.State == StateRunning && t.Owner == owner {
		e.start(t, false)
	}
	return err
}

const (
	// pruneInterval is how often expired events are deleted, and pruneBatch the number of tasks per statement.
	pruneInterval = time.Minute
	pruneBatch    = 100
)

// prune deletes the events and tasks whose retention is over.
func (e *Engine) prune(ctx context.Context) error {
	for {
		n, err := e.store.PruneTasks(ctx, e.clock.Now(), e.options.Keep, pruneBatch)
		if err != nil || n < pruneBatch {
			return err
		}
	}
}
