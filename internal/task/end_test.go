package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

func (c *cluster) cancel(e *task.Engine, id string, want bool) {
	c.t.Helper()
	got, err := e.Cancel(c.t.Context(), id)
	if err != nil || got != want {
		c.t.Errorf("cancel: %v, %v; want %v", got, err, want)
	}
}

func TestCancelEndsRunningAndQueuedTasks(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var running atomic.Int32
		c.work(func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			running.Add(1)
			return task.Outcome{Result: []byte("half")}, hang(ctx)
		})
		here, elsewhere := c.node(), c.node()
		runs := c.submit(here, task.Spec{Key: "k"})
		waits := c.submit(elsewhere, task.Spec{Key: "k"})
		same(t, "states", []task.State{runs.State, waits.State}, []task.State{"running", "queued"})

		c.cancel(here, waits.ID, true)
		same(t, "a queued task", c.read(waits.ID).State, task.StateCancelled) // at once

		c.cancel(elsewhere, runs.ID, true)
		got := c.wait(elsewhere, runs.ID)
		same(t, "a running task", fmt.Sprintf("%s %s %s", got.State, got.ErrorCode, got.Result), "cancelled  half")
		c.cancel(here, runs.ID, false)
		local := c.submit(here, task.Spec{})
		c.cancel(here, local.ID, true)
		same(t, "one that runs here", c.wait(here, local.ID).State, task.StateCancelled)
		if _, err := here.Cancel(t.Context(), "none"); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("none: %v", err)
		}
	})
}

func TestCancellationSurvivesACrash(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var runs atomic.Int32
		c.work(func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			runs.Add(1)
			return task.Outcome{}, hang(ctx)
		})
		e := c.node(singleNode)
		id := c.submit(e, task.Spec{}).ID
		c.until("the run", func() bool { return runs.Load() == 1 })
		e.Die()
		if _, err := c.db.CancelTask(t.Context(), id, c.clock.Now()); err != nil {
			t.Fatal(err)
		}
		e = c.node(singleNode)
		same(t, "state", c.wait(e, id).State, task.StateCancelled)
		same(t, "runs", runs.Load(), 1)
	})
}

func TestCancelledTaskNeverCompletes(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			// The request is stored without notifying the run, just before it completes.
			_, err := c.db.CancelTask(ctx, r.Task().ID, c.clock.Now())
			return task.Outcome{Result: []byte("all")}, err
		})
		e := c.node(func(o *task.Options) { o.Poll = time.Hour })
		got := c.wait(e, c.submit(e, task.Spec{}).ID)
		same(t, "end", fmt.Sprintf("%s %s", got.State, got.Result), "cancelled all")
	})
}

func TestTaskFailsAfterItsDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		release := make(chan struct{})
		var started atomic.Int32
		run := func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			started.Add(1)
			return task.Outcome{}, hang(ctx)
		}
		c.kind(task.Kind{Name: "work", Deadline: time.Minute, Run: run})
		c.kind(task.Kind{Name: "patient", Deadline: time.Hour, Run: run})
		c.kind(task.Kind{
			Name: "deaf", Deadline: time.Minute,
			Run: func(context.Context, *task.Run) (task.Outcome, error) {
				started.Add(1)
				<-release
				return task.Outcome{}, nil
			},
		})
		e := c.node(func(o *task.Options) { o.Grace = 50 * time.Millisecond })
		other := c.submit(e, task.Spec{Kind: "patient", Key: "k"})
		late := map[string]task.Task{
			"running":         c.submit(e, task.Spec{}),
			"queued":          c.submit(e, task.Spec{Key: "k"}),
			"one that's deaf": c.submit(e, task.Spec{Kind: "deaf"}),
		}
		same(t, "queued", late["queued"].State, task.StateQueued)
		c.until("the runs", func() bool { return started.Load() == 3 })
		c.clock.Advance(time.Minute)
		for name, submitted := range late {
			got := c.wait(e, submitted.ID)
			same(t, name, fmt.Sprint(got.State, " ", got.ErrorCode), "failed timeout")
		}
		same(t, "another", c.read(other.ID).State, task.StateRunning)
		close(release)
	})
}

func TestTaskEndsEvenIfItsFinishFails(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var refusals atomic.Int32
		finish := func(ctx context.Context, f task.Fence, o task.Outcome) error {
			o.Event = []byte(`{"messageId":"` + f.Key + `"}`)
			return c.db.FinishTask(ctx, f, o)
		}
		run := func(context.Context, *task.Run) (task.Outcome, error) { return task.Outcome{}, nil }
		c.kind(task.Kind{Name: "work", Run: run, Finish: finish})
		c.kind(task.Kind{
			Name: "refused", Run: run,
			Finish: func(ctx context.Context, f task.Fence, o task.Outcome) error {
				if o.State == task.StateComplete {
					return errors.New("no")
				}
				return finish(ctx, f, o)
			},
		})
		c.kind(task.Kind{Name: "broken", Run: run, Finish: func(context.Context, task.Fence, task.Outcome) error {
			if refusals.Add(1) == 1 {
				panic("no")
			}
			return errors.New("no")
		}})
		c.kind(task.Kind{Name: "away", Run: run, Finish: func(ctx context.Context, f task.Fence, o task.Outcome) error {
			if refusals.Add(1) < 5 {
				return &core.Error{Kind: core.KindUnavailable}
			}
			return finish(ctx, f, o)
		}})
		e := c.node()
		for _, want := range []struct{ kind, end, event string }{
			{"work", "complete ", `{"messageId":"key of work"}`},
			{"refused", "failed internal", `{"messageId":"key of refused"}`},
			{
				"broken", "failed internal",
				`{"status":"failed","error":{"code":"internal","detail":"Something went wrong on our side."}}`,
			},
			{"away", "complete ", `{"messageId":"key of away"}`},
		} {
			got := c.wait(e, c.submit(e, task.Spec{Kind: want.kind, Key: "key of " + want.kind}).ID)
			same(t, want.kind, fmt.Sprint(got.State, " ", got.ErrorCode), want.end)
			events := c.events(got.ID)
			same(t, "event of "+want.kind, string(events[len(events)-1].Payload), want.event)
		}
	})
}

func TestReconcileFindsUnadoptedAndDeletedTasks(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var ended atomic.Int32
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			if r.Task().Key == "deleted" {
				defer ended.Add(1)
				return task.Outcome{}, hang(ctx)
			}
			return task.Outcome{}, nil
		})
		e := c.node(func(o *task.Options) { o.Renew = 30 * time.Millisecond })
		// The insert succeeds but its reply is lost.
		var inserted task.Task
		lost := errors.New("lost")
		_, err := e.SubmitWith(t.Context(), task.Spec{ID: core.NewID("tsk"), Kind: "work"},
			func(ctx context.Context, prepared task.Task) (_ task.Task, err error) {
				inserted, err = c.db.InsertTask(ctx, prepared)
				return task.Task{}, errors.Join(lost, err)
			})
		if !errors.Is(err, lost) || inserted.State != task.StateRunning {
			t.Fatal(inserted.State, err)
		}
		same(t, "state", c.wait(e, inserted.ID).State, task.StateComplete)

		id := c.submit(e, task.Spec{Key: "deleted"}).ID
		waiting := make(chan error)
		go func() {
			_, err := e.Wait(t.Context(), id)
			waiting <- err
		}()
		if err := c.db.DeleteTasks(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		c.until("the run's end", func() bool { return ended.Load() == 1 })
		if err := <-waiting; !core.IsKind(err, core.KindNotFound) {
			t.Errorf("waiting for a deleted task: %v", err)
		}
	})
}

func TestWaitReadsTheTaskOnceMoreAfterItsTimeout(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		goOn := make(chan struct{})
		c.work(func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			select {
			case <-goOn:
				return task.Outcome{}, nil
			case <-ctx.Done():
				return task.Outcome{}, context.Cause(ctx)
			}
		})
		c.options.Poll = time.Hour // the waiter must be woken, not find the end by polling
		e := c.node()
		id := c.submit(e, task.Spec{}).ID
		c.until("the run", func() bool { return c.read(id).State == task.StateRunning })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		got, err := e.Wait(ctx, id)
		same(t, "state", got.State, task.StateRunning)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.AfterFunc(50*time.Millisecond, func() { close(goOn) })
		c.wait(e, id)
		got, err = e.Wait(ctx, id) // ctx has already ended
		same(t, "end", fmt.Sprint(got.State, err), "complete<nil>")
	})
}

func TestEveryWaiterIsWoken(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.work(func(context.Context, *task.Run) (task.Outcome, error) { return task.Outcome{}, nil })
		here, elsewhere := c.node(), c.node()
		for range 25 {
			id := core.NewID("tsk")
			done := make(chan task.Task, 3)
			go func() { done <- c.wait(elsewhere, c.submit(here, task.Spec{ID: id}).ID) }()
			for _, e := range []*task.Engine{here, elsewhere} {
				go func() {
					// Wait starts before, during and after the insert.
					for {
						got, err := e.Wait(t.Context(), id)
						if !core.IsKind(err, core.KindNotFound) {
							done <- got
							return
						}
					}
				}()
			}
			for range 3 {
				same(t, "state", (<-done).State, task.StateComplete)
			}
		}
	})
}
