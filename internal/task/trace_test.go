package task_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"carrel/internal/task"
)

// recorder is a tracer that lists its calls.
type recorder struct {
	mu    sync.Mutex
	calls []string
}

type spanName struct{}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *recorder) Submitted(ctx context.Context, t task.Task) {
	r.add("%s submitted in %v", t.Kind, ctx.Value(spanName{}))
}

func (r *recorder) StartRun(ctx context.Context, t task.Task) (context.Context, func(task.Outcome, bool)) {
	r.add("run %d", t.Attempt)
	return context.WithValue(ctx, spanName{}, "run"), func(o task.Outcome, ends bool) {
		r.add("run is %s, %v", o.State, ends)
	}
}

func (r *recorder) StartStep(ctx context.Context, n int, kind string) (context.Context, func(error)) {
	r.add("step %d %s in %v", n, kind, ctx.Value(spanName{}))
	return context.WithValue(ctx, spanName{}, "step"), func(err error) { r.add("step is %v", err) }
}

func TestRunsAndStepsAreTraced(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		r := &recorder{}
		e := task.New(task.Deps{Store: c.db, Clock: c.clock, Log: slog.New(slog.DiscardHandler), Tracer: r}, c.options)
		e.Register(task.Kind{Name: "work", Run: func(ctx context.Context, run *task.Run) (task.Outcome, error) {
			if _, err := run.Step(ctx, "first", "", func(ctx context.Context, _ *task.Step) ([]byte, error) {
				r.add("works in %v", ctx.Value(spanName{}))
				return nil, nil
			}); err != nil {
				return task.Outcome{}, err
			}
			if run.Task().Attempt == 1 {
				return task.RetryAt(c.clock.Now()), nil
			}
			_, err := run.Step(ctx, "second", "", func(context.Context, *task.Step) ([]byte, error) {
				return nil, errors.New("broken")
			})
			return task.Outcome{}, err
		}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.stop(e) })
		ctx := context.WithValue(t.Context(), spanName{}, "request")
		submitted, err := e.Submit(ctx, task.Spec{ID: "tsk_1", Kind: "work"})
		if err != nil {
			t.Fatal(err)
		}
		c.wait(e, submitted.ID)
		want := []string{
			"work submitted in request", "run 1", "step 1 first in run", "works in step", "step is <nil>",
			"run is queued, true", "run 2", "step 2 second in run", "step is broken", "run is failed, true",
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Equal(r.calls, want) {
			t.Errorf("calls %q, want %q", r.calls, want)
		}
	})
}
