package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"carrel/internal/core"
)

// Step is one journaled part of a task.
type Step struct {
	run    *Run
	record StepRecord
	began  time.Time // by the system clock
}

// quickStep is the duration up to which a step's end is batched with later writes. The end of a longer step is
// written at once.
const quickStep = 20 * time.Millisecond

// N returns the step's number in its task, from 1.
func (s *Step) N() int { return s.record.N }

// Key returns an idempotency key for external calls. It is the same in every attempt.
func (s *Step) Key() string { return s.run.task.ID + ":" + strconv.Itoa(s.record.N) }

// Step runs fn as the next step of the task and journals its result. Steps are numbered in call order, must not nest,
// and must be called in the same order in every attempt. A step that ended in an earlier attempt returns its recorded
// result or error without running. An error is recorded unless the run was stopped. The result is durable before the
// next step runs.
func (r *Run) Step(
	ctx context.Context, kind, label string, fn func(ctx context.Context, s *Step) ([]byte, error),
) ([]byte, error) {
	if r.inStep.Load() {
		return nil, fmt.Errorf("%w: a step inside a step", ErrJournal)
	}
	n := int(r.n.Add(1))
	s := &Step{run: r, record: StepRecord{N: n, Kind: kind, Label: label, State: StepStarted}}
	if old, ok := r.journal[n]; ok {
		if old.Kind != kind {
			return nil, fmt.Errorf("%w: step %d is %q and was %q", ErrJournal, n, kind, old.Kind)
		}
		if old.State != StepStarted {
			r.noteEnd(old)
			return old.result()
		}
		s.record.StartedAt = old.StartedAt
	}
	// A process suspended past its lease resumes here or in a write. It must not start a step.
	if !r.engine.holdsLease(r.task.Owner) {
		r.cancel(ErrLost)
	}
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx) //nolint:contextcheck // the run's context, not the caller's, has the cause
	}
	r.inStep.Store(true)
	defer r.inStep.Store(false)
	return s.do(ctx, fn)
}

// do runs the step and records its end.
func (s *Step) do(ctx context.Context, fn func(context.Context, *Step) ([]byte, error)) ([]byte, error) {
	r := s.run
	if s.record.StartedAt.IsZero() {
		s.record.StartedAt = r.engine.clock.Now()
	}
	// The start of a step is batched; usually it is written together with its end. The step runs only after
	// all earlier steps are durable.
	if r.events.recordStep(r, s.record) {
		if err := r.flush(); err != nil {
			return nil, err
		}
	}
	s.began = time.Now()
	out, err := s.call(ctx, fn)
	if err != nil && r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx) //nolint:contextcheck // interrupted, not failed
	}
	if err := s.end(out, err); err != nil {
		return nil, err
	}
	return out, nil
}

// call calls fn and traces it.
func (s *Step) call(ctx context.Context, fn func(context.Context, *Step) ([]byte, error)) (out []byte, err error) {
	tracer := s.run.engine.tracer
	if tracer == nil {
		return fn(ctx, s)
	}
	ctx, end := tracer.StartStep(ctx, s.record.N, s.record.Kind)
	err = errStepPanicked
	defer func() { end(err) }()
	out, err = fn(ctx, s)
	return out, err
}

// errStepPanicked is the result of a step that panics, for its trace.
var errStepPanicked = errors.New("task: the step panicked")

// end records the end of the step. It returns the step's error, or the error of the write.
func (s *Step) end(out []byte, err error) error {
	now := s.run.engine.clock.Now()
	s.record.EndedAt = &now
	s.record.State, s.record.Output = StepFinished, out
	if err != nil {
		s.record.State, s.record.Output = StepFailed, encodeStepError(err)
	}
	s.run.noteEnd(s.record)
	// Batched with the start of the next step or the end of the task, or flushed after stepEndDelay.
	s.run.events.recordStep(s.run, s.record)
	if time.Since(s.began) > quickStep {
		if flushErr := s.run.flush(); flushErr != nil {
			return flushErr
		}
	}
	return err
}

// stepError is the stored form of a step's error.
type stepError struct {
	Kind   core.Kind `json:"kind,omitempty"`
	Code   string    `json:"code,omitempty"`
	Detail string    `json:"detail"`
}

func encodeStepError(err error) []byte {
	kept := stepError{Detail: err.Error()}
	var told *core.Error
	if errors.As(err, &told) {
		kept.Kind, kept.Code, kept.Detail = told.Kind, told.Code, told.Detail
	}
	b, _ := json.Marshal(kept) // strings always marshal
	return b
}

// result decodes the recorded result or error of an ended step.
func (s StepRecord) result() ([]byte, error) {
	if s.State == StepFinished {
		return s.Output, nil
	}
	var kept stepError
	if err := json.Unmarshal(s.Output, &kept); err != nil {
		return nil, fmt.Errorf("%w: the error of step %d: %w", ErrJournal, s.N, err)
	}
	if kept.Code != "" {
		return nil, &core.Error{Kind: kept.Kind, Code: kept.Code, Detail: kept.Detail}
	}
	return nil, errors.New(kept.Detail)
}
