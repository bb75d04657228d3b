package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

// Sentences for those whose task the engine ended.
const (
	detailTimeout   = "It took too long and was stopped."
	detailCrashLoop = "The service was interrupted too often while working on it."
	detailInternal  = "Something went wrong on our side."
)

// Run is one attempt at a task. Its methods are for the goroutine that runs it, apart from Emit and Delta, which may
// be called from any.
type Run struct {
	engine *Engine
	kind   Kind
	task   Task
	fresh  bool
	ctx    context.Context
	cancel context.CancelCauseFunc
	// ending is taken by whoever ends the task: the run or, when it does not stop, the engine.
	ending atomic.Bool
	// told is when the run was asked to stop, in Unix nanoseconds.
	told atomic.Int64

	journal map[int]StepRecord // what earlier attempts left
	n       atomic.Int32       // steps asked for so far
	inStep  atomic.Bool
	events  buffer
	// writing lets one write happen after the other; broken is the error of one that failed.
	writing sync.Mutex
	broken  error
}

func newRun(e *Engine, t Task, fresh bool) *Run {
	r := &Run{engine: e, kind: e.kinds[t.Kind], task: t, fresh: fresh}
	r.ctx, r.cancel = context.WithCancelCause(e.base)
	return r
}

// Task returns the task as it was when this attempt began.
func (r *Run) Task() Task { return r.task }

// stop asks the run to end its task, for a reason that is not the run's.
func (r *Run) stop(cause error) {
	r.told.CompareAndSwap(0, time.Now().UnixNano())
	r.cancel(cause)
}

// toldAt returns when the run was asked to stop, or zero.
func (r *Run) toldAt() time.Time {
	if ns := r.told.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// isLost reports whether the task is known to be somebody else's.
func (r *Run) isLost() bool { return errors.Is(context.Cause(r.ctx), ErrLost) }

// run is the goroutine of the run.
func (r *Run) run() {
	defer r.cancel(nil)
	o, ends := r.verdict()
	if !ends {
		o, ends = r.work()
	}
	if !r.ending.CompareAndSwap(false, true) {
		return // the engine has ended the task and told everybody
	}
	r.conclude(o, ends)
}

// endWithout ends the task of a run that does not stop.
func (r *Run) endWithout() {
	o, ends := r.judge(Outcome{}, context.Cause(r.ctx))
	r.conclude(o, ends)
}

// conclude stores the end, if it is one, and takes the run off the books.
func (r *Run) conclude(o Outcome, ends bool) {
	var ended *Task
	if ends && r.finish(&o) && o.State.Ended() {
		t := o.apply(r.task)
		ended = &t
	}
	r.events.close()
	r.engine.leave(r, ended)
}

// verdict ends a task that must not run any more.
func (r *Run) verdict() (Outcome, bool) {
	switch t := r.task; {
	case t.CancelRequestedAt != nil:
		return Outcome{State: StateCancelled}, true
	case !r.engine.clock.Now().Before(t.DeadlineAt):
		return Outcome{State: StateFailed, Code: CodeTimeout, Detail: detailTimeout}, true
	case t.Crashes >= r.kind.MaxCrashes:
		return Outcome{State: StateFailed, Code: CodeCrashLoop, Detail: detailCrashLoop}, true
	}
	return Outcome{}, false
}

// work runs the kind's code and returns how the task ends, if it does.
func (r *Run) work() (Outcome, bool) {
	err := r.load()
	var o Outcome
	if err == nil {
		o, err = r.call()
	}
	return r.judge(o, err)
}

// load reads what earlier attempts left.
func (r *Run) load() error {
	if r.fresh {
		return nil
	}
	return r.retry(func(ctx context.Context) error {
		// Asked once more now that no other run of it can begin here.
		t, err := r.engine.store.Task(ctx, r.task.ID)
		if core.IsKind(err, core.KindNotFound) || err == nil && t.Fence() != r.task.Fence() {
			return ErrLost
		}
		if err != nil {
			return err
		}
		steps, err := r.engine.store.TaskSteps(ctx, r.task.ID)
		if err != nil {
			return err
		}
		last, err := r.engine.store.LastTaskEvent(ctx, r.task.ID)
		if err != nil {
			return err
		}
		r.resume(steps, last)
		return nil
	})
}

// call runs the kind's code; a panic is an error.
func (r *Run) call() (o Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return r.kind.Run(r.ctx, r)
}

// judge says how the task ends after its code returned this, or that it does not end here.
func (r *Run) judge(o Outcome, err error) (Outcome, bool) {
	cause := context.Cause(r.ctx)
	switch {
	case errors.Is(cause, ErrLost), errors.Is(err, ErrLost), r.engine.base.Err() != nil:
		return o, false
	case errors.Is(cause, ErrCancelled):
		o.State, o.Code, o.Detail = StateCancelled, "", ""
		return o, true
	case errors.Is(cause, ErrDeadline):
		o.State, o.Code, o.Detail = StateFailed, CodeTimeout, detailTimeout
		return o, true
	case errors.Is(cause, ErrShutdown):
		if err != nil {
			return o, false // goes back to the queue with the rest of the node's
		}
	case cause != nil:
		err = cause // what it did could not be written
	}
	if err != nil {
		return r.failure(o, err), true
	}
	if o.State == "" {
		o.State = StateComplete
	}
	return o, true
}

// failure is the outcome of a run that returned an error. Only what was meant for callers is told them.
func (r *Run) failure(o Outcome, err error) Outcome {
	o.State, o.Code, o.Detail = StateFailed, CodeInternal, detailInternal
	var told *core.Error
	if errors.As(err, &told) && told.Kind != core.KindInternal {
		o.Code, o.Detail = told.Code, told.Detail
	} else {
		r.engine.log.Error("a task failed", "task", r.task.ID, "kind", r.task.Kind, "error", err)
	}
	return o
}

// finish stores the end and reports whether it is stored. What the kind's own Finish refuses ends the task as failed,
// in the engine's own way if need be: a task always ends.
func (r *Run) finish(o *Outcome) bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	o.At = r.engine.clock.Now()
	if r.broken == nil {
		o.Entry, _ = r.events.take(r.task)
	}
	var err error
	for refusals := 0; err == nil; {
		finish := r.kind.Finish
		if o.State == StateQueued || refusals > 1 {
			finish = r.engine.store.FinishTask
		}
		err = r.retry(func(ctx context.Context) error { return finish(ctx, r.task.Fence(), *o) })
		switch {
		case err == nil:
			if o.State.Ended() {
				r.engine.counters.ended(*o)
			}
			return true
		case errors.Is(err, ErrCancelled):
			o.State, o.Code, o.Detail = StateCancelled, "", ""
			err = nil
		case errors.Is(err, ErrLost) || refusals > 1:
		default:
			r.engine.log.Error("a task's end was refused", "task", r.task.ID, "kind", r.task.Kind, "error", err)
			*o = Outcome{State: StateFailed, Code: CodeInternal, Detail: detailInternal, At: o.At, Entry: o.Entry}
			refusals++
			err = nil
		}
	}
	if !errors.Is(err, ErrLost) {
		r.engine.log.Error("a task's end could not be stored", "task", r.task.ID, "kind", r.task.Kind, "error", err)
	}
	return false
}

const (
	// firstRetry and lastRetry bound the pause before a write is tried again.
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// retry does something with the database again and again while the database is away and the lease stands. It is not
// ended by the run's own end: what was done is still to be written.
func (r *Run) retry(do func(ctx context.Context) error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		if r.isLost() || !r.engine.holds(r.task.Owner) {
			r.cancel(ErrLost)
			return ErrLost
		}
		err := do(r.engine.base)
		switch {
		case errors.Is(err, ErrLost):
			r.cancel(ErrLost)
			return ErrLost
		case !core.IsKind(err, core.KindUnavailable):
			return err
		case !r.engine.sleep(r.engine.base, pause):
			return ErrLost
		}
	}
}

// sleep waits and reports whether it could wait to the end.
func (e *Engine) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// apply returns the task as the outcome leaves it.
func (o Outcome) apply(t Task) Task {
	t.State, t.Owner, t.New = o.State, "", false
	t.Result, t.ErrorCode, t.ErrorDetail, t.FinishedAt = o.Result, o.Code, o.Detail, &o.At
	return t
}

// DoneEvent returns the payload of the last event.
func (o Outcome) DoneEvent() []byte {
	if o.Event != nil {
		return o.Event
	}
	type failure struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	done := struct {
		Status State    `json:"status"`
		Error  *failure `json:"error,omitempty"`
	}{Status: o.State}
	if o.Code != "" {
		done.Error = &failure{o.Code, o.Detail}
	}
	b, _ := json.Marshal(done) // strings always marshal
	return b
}
