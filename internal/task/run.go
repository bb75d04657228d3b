package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

// Error details of tasks that the engine ended, shown to the user.
const (
	detailTimeout   = "It took too long and was stopped."
	detailCrashLoop = "The service was interrupted too often while working on it."
	detailInternal  = "Something went wrong on our side."
)

// Run is one attempt at a task. Its methods must be called from the goroutine that runs the kind, except Emit and
// Delta, which are safe for concurrent use.
type Run struct {
	engine *Engine
	kind   Kind
	task   Task
	fresh  bool
	ctx    context.Context
	cancel context.CancelCauseFunc
	// endTrace ends the trace of the run; nil without a tracer.
	endTrace func(o Outcome, ends bool)
	// ending is set by the side that ends the task: the run, or the engine if the run does not stop.
	ending atomic.Bool
	// stopRequested is the time of the stop request in Unix nanoseconds, or 0.
	stopRequested atomic.Int64

	journal map[int]StepRecord // steps of earlier attempts
	n       atomic.Int32       // number of the last step called
	inStep  atomic.Bool
	ended   []StepRecord // steps that have ended, in this attempt or earlier ones
	events  buffer
	// writing serializes writes. writeErr is the error of the write that failed; nothing is written after it.
	writing  sync.Mutex
	writeErr error
}

func newRun(e *Engine, t Task, fresh bool) *Run {
	r := &Run{engine: e, kind: e.kinds[t.Kind], task: t, fresh: fresh}
	ctx := e.base
	if e.tracer != nil {
		ctx, r.endTrace = e.tracer.StartRun(ctx, t)
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// Steps returns the steps that have ended, without their outputs.
func (r *Run) Steps() []StepRecord { return slices.Clone(r.ended) }

// noteEnd adds a step to the result of Steps.
func (r *Run) noteEnd(s StepRecord) {
	s.Output = nil
	r.ended = append(r.ended, s)
}

// Task returns the task as of the start of this attempt.
func (r *Run) Task() Task { return r.task }

// stop cancels the run, which then ends its task with the given cause.
func (r *Run) stop(cause error) {
	r.stopRequested.CompareAndSwap(0, time.Now().UnixNano())
	r.cancel(cause)
}

// stopRequestedAt returns the time of the stop request, or the zero time.
func (r *Run) stopRequestedAt() time.Time {
	if ns := r.stopRequested.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// isLost reports whether the task is known to have another owner.
func (r *Run) isLost() bool { return errors.Is(context.Cause(r.ctx), ErrLost) }

// run is the main function of the run's goroutine.
func (r *Run) run() {
	defer r.cancel(nil)
	o, ends := r.endBeforeStart()
	if !ends {
		o, ends = r.execute()
	}
	if !r.ending.CompareAndSwap(false, true) {
		return // the engine has already ended the task
	}
	r.conclude(o, ends)
}

// abandon ends the task of a run that did not stop in time. The writes of its goroutine are rejected from then on.
func (r *Run) abandon() {
	o, ends := r.decideOutcome(Outcome{}, context.Cause(r.ctx))
	r.conclude(o, ends)
}

// conclude stores the outcome if the task ends here, and removes the run from the engine.
func (r *Run) conclude(o Outcome, ends bool) {
	var ended *Task
	if ends && r.finish(&o) && o.State.Ended() {
		t := o.apply(r.task)
		ended = &t
	}
	r.events.close()
	if r.endTrace != nil {
		r.endTrace(o, ends)
	}
	r.engine.removeRun(r, ended)
}

// endBeforeStart returns the outcome of a task that must not run: cancelled, past its deadline, or crash-looping.
func (r *Run) endBeforeStart() (Outcome, bool) {
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

// execute runs the kind and returns the outcome, and whether the task ends here.
func (r *Run) execute() (Outcome, bool) {
	err := r.load()
	var o Outcome
	if err == nil {
		o, err = r.callKind()
	}
	return r.decideOutcome(o, err)
}

// load reads the journal of earlier attempts.
func (r *Run) load() error {
	if r.fresh {
		return nil
	}
	return r.retry(func(ctx context.Context) error {
		// The fence is checked again now that no other run of this task can start on this node.
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

// callKind calls the kind's Run and turns a panic into an error.
func (r *Run) callKind() (o Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return r.kind.Run(r.ctx, r)
}

// decideOutcome returns the outcome for the result of the kind's Run, and whether the task ends here.
func (r *Run) decideOutcome(o Outcome, err error) (Outcome, bool) {
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
			return o, false // LeaveNode queues it again with the node's other tasks
		}
	case cause != nil:
		err = cause // a journal write failed
	}
	if err != nil {
		return r.failure(o, err), true
	}
	if o.State == "" {
		o.State = StateComplete
	}
	return o, true
}

// failure returns the outcome of a run that returned an error. Internal errors are logged and not shown to the user.
func (r *Run) failure(o Outcome, err error) Outcome {
	o.State, o.Code, o.Detail = StateFailed, CodeInternal, detailInternal
	if told := core.AsError(err); told.Kind != core.KindInternal {
		o.Code, o.Detail = told.Code, told.Detail
	} else {
		r.engine.log.Error("a task failed", "task", r.task.ID, "kind", r.task.Kind, "error", err)
	}
	return o
}

// finish stores the outcome and reports whether it did. If the kind's Finish rejects the outcome, the task fails as
// internal; if Finish rejects that too, the engine ends the task without it, so that every task ends.
func (r *Run) finish(o *Outcome) bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	o.At = r.engine.clock.Now()
	if r.writeErr == nil {
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
			r.engine.log.Error("the outcome of a task was rejected",
				"task", r.task.ID, "kind", r.task.Kind, "error", err)
			*o = Outcome{State: StateFailed, Code: CodeInternal, Detail: detailInternal, At: o.At, Entry: o.Entry}
			refusals++
			err = nil
		}
	}
	if !errors.Is(err, ErrLost) {
		r.engine.log.Error("the outcome of a task could not be stored",
			"task", r.task.ID, "kind", r.task.Kind, "error", err)
	}
	return false
}

const (
	// firstRetry and lastRetry bound the backoff of database writes.
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// retry calls do until it succeeds, with backoff, while the database is unavailable and the lease is valid. It does not
// end with the run's context, because the outcome of a cancelled run is still written.
func (r *Run) retry(do func(ctx context.Context) error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		if r.isLost() || !r.engine.holdsLease(r.task.Owner) {
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
		case !sleep(r.engine.base, pause):
			return ErrLost
		}
	}
}

// sleep waits for d and reports whether it elapsed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// apply returns the task with the outcome stored in it.
func (o Outcome) apply(t Task) Task {
	t.State, t.Owner, t.New = o.State, "", false
	t.Result, t.ErrorCode, t.ErrorDetail, t.FinishedAt = o.Result, o.Code, o.Detail, &o.At
	return t
}

// DoneEvent returns the payload of the task's last event.
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
