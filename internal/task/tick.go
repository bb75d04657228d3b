package task

import (
	"context"
	"errors"
	"time"
)

// claimBatch is how many tasks are claimed in one statement.
const claimBatch = 64

// work is the loop that claims tasks and looks after what nobody told it.
func (e *Engine) work() {
	tick := time.NewTicker(e.o.Poll)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-e.wake:
			err = e.claim(e.loops)
		case <-e.wakeDue:
			err = e.endDue(e.loops)
		case <-tick.C:
			err = e.tick(e.loops)
		case <-e.loops.Done():
			return
		}
		if err != nil && e.loops.Err() == nil {
			e.log.WarnContext(e.loops, "tasks could not be looked after", "error", err)
		}
	}
}

// tick does all that is due; a part that fails does not keep the others from being done.
func (e *Engine) tick(ctx context.Context) error {
	var errs []error
	// Without a lease of its own a node has tasks to give back, which is no crash.
	if owner, _ := e.room(); !e.o.Alone && e.holds(owner) {
		errs = append(errs, e.sweep(ctx))
	}
	e.endLate()
	errs = append(errs, e.endDue(ctx), e.claim(ctx), e.pollWatched(ctx))
	if now := time.Now(); now.Sub(e.lastOwned) >= e.o.Renew {
		e.lastOwned = now
		errs = append(errs, e.reconcile(ctx))
	}
	if now := time.Now(); now.Sub(e.lastTidy) >= tidyEvery {
		e.lastTidy = now
		errs = append(errs, e.tidy(ctx))
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

// claim starts what waits in the queue, as far as there is room.
func (e *Engine) claim(ctx context.Context) error {
	if err := e.claimUnlimited(ctx); err != nil {
		return err
	}
	for _, kind := range e.limited {
		if err := e.claimLimited(ctx, e.kinds[kind]); err != nil {
			return err
		}
	}
	return nil
}

// claimLimited starts tasks of a limited kind, as far as its limits let it.
func (e *Engine) claimLimited(ctx context.Context, k Kind) error {
	owner, room := e.room()
	if k.MaxRunning > 0 {
		room = min(room, k.MaxRunning-e.runningOf(k.Name))
	}
	if owner == "" || room <= 0 {
		return nil
	}
	now := e.clock.Now()
	tasks, err := e.store.ClaimLimitedTasks(ctx, owner, k.Name, min(room, claimBatch), k.MaxPerUser, now, now.Add(k.Deadline))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		e.start(t, t.Attempt == 1)
	}
	return nil
}

// runningOf returns how many tasks of a kind run here.
func (e *Engine) runningOf(kind string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, r := range e.runs {
		if r.task.Kind == kind {
			n++
		}
	}
	return n
}

func (e *Engine) claimUnlimited(ctx context.Context) error {
	for {
		owner, room := e.room()
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

// room returns the id to claim under and how many more tasks may run.
func (e *Engine) room() (string, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		return "", 0
	}
	return e.lease.owner, max(0, e.o.Room-len(e.runs))
}

// endLate stops the runs whose time is up, and ends the tasks of those that were told to stop and did not.
func (e *Engine) endLate() {
	now := e.clock.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		switch told := r.toldAt(); {
		case told.IsZero():
			if !now.Before(r.task.DeadlineAt) {
				r.stop(ErrDeadline)
			}
		case time.Since(told) > e.o.Grace && r.ending.CompareAndSwap(false, true):
			e.log.Error("a run did not stop; its task ends without it", "task", r.task.ID, "kind", r.task.Kind)
			e.running.Go(r.endWithout)
		}
	}
}

// dueBatch bounds how many tasks are ended at once.
const dueBatch = 100

// forsaken is how far past its deadline a task of a kind that nobody here knows is ended all the same. Until then a
// node with a newer version may know it.
const forsaken = time.Hour

// endDue ends queued tasks whose end is wanted or whose time is up, and stops the runs that are to be cancelled.
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
		case known || now.Sub(t.DeadlineAt) >= forsaken:
			if err := e.endQueued(ctx, t); !errors.Is(err, ErrLost) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// endQueued ends a task that does not run: cancelled if that was asked for, else as too late.
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
	e.tell(t, &ended)
	return nil
}

// nudgeDue makes the working loop look for cancellations now.
func (e *Engine) nudgeDue() {
	select {
	case e.wakeDue <- struct{}{}:
	default:
	}
}

// reconcile compares what runs here with what the database says runs here. A task that is ours but does not run (its
// insert or claim was carried out, and the answer lost) is started; a run whose task is gone is stopped. Either must
// be found twice, so that what is just beginning or ending is left alone.
func (e *Engine) reconcile(ctx context.Context) error {
	owner, _ := e.room()
	if owner == "" {
		return nil
	}
	ids, err := e.store.NodeTasks(ctx, owner)
	if err != nil {
		return err
	}
	strays := map[string]bool{}
	ours := make(map[string]bool, len(ids))
	for _, id := range ids {
		ours[id] = true
		if !e.runsHere(id) {
			strays[id] = true
		}
	}
	e.mu.Lock()
	for id, r := range e.runs {
		if !ours[id] {
			strays[id] = true
			if e.strays[id] && r.task.Owner == owner {
				r.cancel(ErrLost)
			}
		}
	}
	e.mu.Unlock()
	var errs []error
	for id := range strays {
		if ours[id] && e.strays[id] {
			errs = append(errs, e.recover(ctx, id, owner))
		}
	}
	e.strays = strays
	return errors.Join(errs...)
}

// recover starts a task that is ours and does not run.
func (e *Engine) recover(ctx context.Context, id, owner string) error {
	t, err := e.store.Task(ctx, id)
	if err == nil && t.State == StateRunning && t.Owner == owner {
		e.start(t, false)
	}
	return err
}

const (
	// tidyEvery is how often old events are deleted, and tidyBatch of how many tasks at once.
	tidyEvery = time.Minute
	tidyBatch = 100
)

// tidy deletes events that are no longer kept.
func (e *Engine) tidy(ctx context.Context) error {
	for {
		n, err := e.store.PruneTasks(ctx, e.clock.Now(), tidyBatch)
		if err != nil || n < tidyBatch {
			return err
		}
	}
}
