package research_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// dying is a store whose process is killed right after a number of steps have been made durable.
type dying struct {
	task.Store
	after int
	ended map[int]bool
	dead  atomic.Bool
}

// RecordTask implements task.Store.
func (d *dying) RecordTask(ctx context.Context, f task.Fence, e task.Entry) error {
	if d.dead.Load() {
		return task.ErrLost
	}
	if err := d.Store.RecordTask(ctx, f, e); err != nil {
		return err
	}
	for _, s := range e.Steps {
		if s.State != task.StepStarted {
			d.ended[s.N] = true
		}
	}
	if len(d.ended) >= d.after {
		d.dead.Store(true)
		return task.ErrLost // written, but the process does not learn of it
	}
	return nil
}

// FinishTask implements task.Store.
func (d *dying) FinishTask(ctx context.Context, f task.Fence, o task.Outcome) error {
	if d.after > 0 {
		d.dead.Store(true)
		return task.ErrLost
	}
	return d.Store.FinishTask(ctx, f, o)
}

// killed runs a turn that is killed after a number of steps and then resumed.
func (w *fixture) killed(after int, q thread.Question) reply {
	w.t.Helper()
	d := &dying{after: after, ended: map[int]bool{}}
	first := w.start(func(s task.Store) task.Store {
		d.Store = s
		return d
	})
	id := w.submit(first, q)
	for end := time.Now().Add(10 * time.Second); !d.dead.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("it was not killed")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := first.Stop(ctx); err != nil {
		w.t.Fatal(err)
	}
	return w.await(w.start(nil), id)
}

func TestKillBetweenStagesRepeatsNoPaidCall(t *testing.T) {
	t.Parallel()
	// A turn with all stages: a memory, two rounds, a repair.
	start := func(t *testing.T) (*fixture, *modelfake.Server) {
		w := bridges(t)
		round := 0
		return w, w.fake(brain{
			plan: func(r modelfake.Request) modelfake.Reply {
				if strings.Contains(r.Last(), "searches so far") {
					return plans("paid in fish")(r)
				}
				return plans("stone")(r)
			},
			evidence: func(r modelfake.Request) modelfake.Reply {
				if round++; round == 1 {
					return quotes(quote{1, "The old bridge was built of stone in 1850.", 10})(r)
				}
				return firstSentences(r)
			},
			answer: says("It was built in 1860 [1]. It is of stone [1]."),
			repair: says("It was built in 1850 [1]. It is of stone [1]."),
		})
	}
	ask := "When was the old bridge built? I prefer short answers."
	w, s := start(t)
	whole := w.ask(ask)
	paid := stages(s)
	if want := []string{"plan", "evidence", "plan", "answer", "repair"}; !slices.Equal(paid, want) ||
		whole.Text != "It was built in 1850 [1]. It is of stone [1]." {
		t.Fatalf("asked for %q and answered %q", paid, whole.Text)
	}
	for after := 1; after <= len(whole.steps); after++ {
		t.Run(fmt.Sprint("after ", after, " ", whole.steps[after-1]), func(t *testing.T) {
			t.Parallel()
			w, s := start(t)
			got := w.killed(after, thread.Question{Text: ask})
			w.holds(got)
			if again := stages(s); !slices.Equal(again, paid) {
				t.Errorf("asked for %q", again)
			}
			if got.task.State != task.StateComplete || got.Text != whole.Text || !slices.Equal(got.steps, whole.steps) {
				t.Errorf("ended %s (%s) with %q after %q", got.task.State, got.task.ErrorDetail, got.Text, got.steps)
			}
			if got.Usage.InputTokens == 0 || got.Usage.CostMicros != w.purse.spent || w.purse.reserved != 0 {
				t.Errorf("used %+v of %+v", got.Usage, &w.purse)
			}
			if len(w.proposed) != 1 {
				t.Errorf("proposed %q", w.proposed)
			}
			marks := map[string]bool{}
			for _, r := range s.Requests() {
				marks[fenced.FindStringSubmatch(r.Last())[1]] = true
			}
			if len(marks) != 1 {
				t.Errorf("the fences have the marks %v", marks)
			}
		})
	}
}

func TestKilledTurnWithoutAModelResumes(t *testing.T) {
	t.Parallel()
	for after := 1; after <= 3; after++ {
		w := bridges(t)
		got := w.killed(after, thread.Question{Text: aboutBridge})
		if w.holds(got); got.task.State != task.StateComplete || len(got.Citations) == 0 {
			t.Errorf("after %d: ended %s with %s", after, got.task.State, got.Text)
		}
	}
}

func TestCostOfAnInterruptedCallIsEstimated(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	calls := 0
	w.fake(brain{answer: func(modelfake.Request) modelfake.Reply {
		if calls++; calls > 1 {
			return modelfake.Say("It was built in 1850 [1].")
		}
		r := modelfake.Say("It was built in 1850 [1]. And th")
		r.End, r.Pause = modelfake.Hangs, 10*time.Millisecond // a very short step is not journaled at once
		return r
	}})
	first := w.start(nil)
	id := w.submit(first, thread.Question{Text: aboutBridge})
	for w.shown(id) == "" {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := first.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	got := w.await(w.start(nil), id)
	if w.holds(got); got.Text != "It was built in 1850 [1]." || calls != 2 {
		t.Errorf("%d calls, and %s", calls, got.Text)
	}
	if w.purse.spent <= got.Usage.CostMicros || !w.purse.estimated || w.purse.reserved != 0 {
		t.Errorf("the purse is at %+v, and %+v was used", &w.purse, got.Usage)
	}
}

func TestACancelledTurnStopsItsModel(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	began := make(chan struct{}, 1)
	w.fake(brain{answer: func(modelfake.Request) modelfake.Reply {
		began <- struct{}{}
		r := modelfake.Say("It was built in 1850 [1]. And then ")
		r.End = modelfake.Hangs
		return r
	}})
	e := w.start(nil)
	id := w.submit(e, thread.Question{Text: aboutBridge})
	<-began
	if ok, err := e.Cancel(t.Context(), id); !ok || err != nil {
		t.Fatal(ok, err)
	}
	got := w.await(e, id)
	if got.task.State != task.StateCancelled || w.purse.reserved != 0 || w.purse.settled != 3 {
		t.Errorf("ended %s, and the purse is at %+v", got.task.State, &w.purse)
	}
}
