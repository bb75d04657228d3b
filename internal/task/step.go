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

// Step is one part of a task, as its code sees it.
type Step struct {
	run    *Run
	record StepRecord
	began  time.Time // by the real clock
	once   bool
	again  bool
}

// quickStep is how long a step may take whose end waits for company. What took longer is worth a write of its own.
const quickStep = 20 * time.Millisecond

// N returns the step's number in its task, from 1.
func (s *Step) N() int { return s.record.N }

// Key returns what to send along as idempotency key: the same whenever this step runs.
func (s *Step) Key() string { return s.run.task.ID + ":" + strconv.Itoa(s.record.N) }

// Again reports whether the step is known to have been started before.
func (s *Step) Again() bool { return s.again }

// StepOption changes how a step is run.
type StepOption func(*Step)

// Once marks a step that must not be repeated. Its start is durable before it runs; when it is found open after a
// crash it is not run, and returns ErrOutcomeUnknown.
func Once(s *Step) { s.once = true }

// Step runs a part of the task and journals what it returns. Steps are numbered in the order of the calls, which must
// be the same in every attempt, one after the other. One that has ended before, well or badly, returns the same again
// without running. An error of a step is part of the journal, unless the run was stopped. What a step returned is
// durable before the next one runs.
func (r *Run) Step(ctx context.Context, kind, label string, fn func(ctx context.Context, s *Step) ([]byte, error), options ...StepOption) ([]byte, error) {
	if r.inStep.Load() {
		return nil, fmt.Errorf("%w: a step inside a step", ErrJournal)
	}
	n := int(r.n.Add(1))
	s := &Step{run: r, record: StepRecord{N: n, Kind: kind, Label: label, State: StepStarted}}
	for _, option := range options {
		option(s)
	}
	if old, ok := r.journal[n]; ok {
		if old.Kind != kind {
			return nil, fmt.Errorf("%w: step %d is %q and was %q", ErrJournal, n, kind, old.Kind)
		}
		if old.State != StepStarted {
			return old.result()
		}
		s.again = true
		s.record.StartedAt = old.StartedAt
	}
	// A process that was stopped past its lease wakes up here or in a write; it must not begin anything.
	if !r.engine.holds(r.task.Owner) {
		r.cancel(ErrLost)
	}
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx) //nolint:contextcheck // why the run ended, which is not this call's
	}
	r.inStep.Store(true)
	defer r.inStep.Store(false)
	return s.do(ctx, fn)
}

// do runs the step and journals its end.
func (s *Step) do(ctx context.Context, fn func(context.Context, *Step) ([]byte, error)) ([]byte, error) {
	r := s.run
	if s.once && s.again {
		return nil, s.end(nil, ErrOutcomeUnknown)
	}
	if s.record.StartedAt.IsZero() {
		s.record.StartedAt = r.engine.clock.Now()
	}
	// The start of a step that may be repeated waits for company: most often it shares the write of its end. But
	// nothing is done before the steps that it may build on are durable.
	if ended := r.events.step(r, s.record); ended || s.once {
		if err := r.flush(); err != nil {
			return nil, err
		}
	}
	s.began = time.Now()
	out, err := fn(ctx, s)
	if err != nil && r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx) //nolint:contextcheck // cut off, not failed
	}
	if err := s.end(out, err); err != nil {
		return nil, err
	}
	return out, nil
}

// end journals the step's end and returns its error, or that of the journal.
func (s *Step) end(out []byte, err error) error {
	now := s.run.engine.clock.Now()
	s.record.EndedAt = &now
	s.record.State, s.record.Output = StepFinished, out
	if err != nil {
		s.record.State, s.record.Output = StepFailed, packError(err)
	}
	// Written with the start of the next step or the end of the task; failing these, in a moment.
	s.run.events.step(s.run, s.record)
	if time.Since(s.began) > quickStep {
		if flushErr := s.run.flush(); flushErr != nil {
			return flushErr
		}
	}
	return err
}

// stepError is how the error of a step is kept.
type stepError struct {
	Kind    core.Kind `json:"kind,omitempty"`
	Code    string    `json:"code,omitempty"`
	Detail  string    `json:"detail"`
	Unknown bool      `json:"unknown,omitempty"`
}

func packError(err error) []byte {
	kept := stepError{Detail: err.Error(), Unknown: errors.Is(err, ErrOutcomeUnknown)}
	var told *core.Error
	if errors.As(err, &told) {
		kept.Kind, kept.Code, kept.Detail = told.Kind, told.Code, told.Detail
	}
	b, _ := json.Marshal(kept) // strings always marshal
	return b
}

// result returns what a step that has ended returned.
func (s StepRecord) result() ([]byte, error) {
	if s.State == StepFinished {
		return s.Output, nil
	}
	var kept stepError
	if err := json.Unmarshal(s.Output, &kept); err != nil {
		return nil, fmt.Errorf("%w: the error of step %d: %w", ErrJournal, s.N, err)
	}
	switch {
	case kept.Unknown:
		return nil, ErrOutcomeUnknown
	case kept.Code != "":
		return nil, &core.Error{Kind: kept.Kind, Code: kept.Code, Detail: kept.Detail}
	}
	return nil, errors.New(kept.Detail)
}
