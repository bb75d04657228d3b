package research_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/favourite"
	"carrel/internal/memory"
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
	for end := time.Now().Add(4 * time.Minute); !d.dead.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("it was not killed")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
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

// TestKillBetweenStagesOfEveryKindRepeatsNothing kills turns of the other kinds after each of their steps. Paid calls
// and actions happen once, and the reply is the same.
func TestKillBetweenStagesOfEveryKindRepeatsNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"hello":                  {"reply"},
		"What did I ask first?":  {"reply"},
		"And you?":               {"plan", "reply"},
		"Shorten it":             {"plan", "transform", "repair", "judge"},
		"Summarize your answers": {"summary", "plan", "transform", "repair", "judge"},
		"Remember that I like cake. Forget that I like tea. Save the first paper to my favourites. " +
			"When was the old bridge built?": {
			"plan", "evidence", "answer", "judge",
		},
		"Forget that I like tea": {},
	} {
		start := func(t *testing.T) (*fixture, *modelfake.Server) {
			w := bridges(t)
			w.sender, w.options.NoJudge = everyone, false
			w.memories = []memory.Memory{{ID: "mem_1", Text: "I like tea."}}
			n := 2
			if strings.HasPrefix(text, "Summarize") {
				n = 40
			}
			for i := range n {
				w.cited(fmt.Sprint("Question ", i), "It was built in 1850 [1]. "+strings.Repeat("It is long. ", 40), w.docs[0],
					"The old bridge was built of stone in 1850.")
			}
			kind := "transformation"
			if strings.HasSuffix(text, "you?") {
				kind = "conversation"
			} else if strings.HasPrefix(text, "Remember") {
				kind = "sources"
			}
			return w, w.fake(brain{
				plan: planned(kind, "masons"), answer: says("It dates from 1850 [1]."),
				evidence: quotes(
					quote{1, "The old bridge was built of stone in 1850.", 10},
					quote{2, "Masons from Bergen built the old bridge.", 8},
					quote{1, "Masons from Bergen built the old bridge.", 8},
					quote{3, "Before the old bridge, a ferry crossed the river.", 8},
				),
				transform: says("It dates from 1999 [1]."), repair: says("It dates from 1850 [1]."),
				// Longer than a step whose end is journaled with the end of the task.
				judge: slowly(30*time.Millisecond, says(`{"sentences":[{"n":1,"verdict":"says","words":"in 1850"}]}`)),
				reply: slowly(30*time.Millisecond, says("Hello.")),
			})
		}
		w, s := start(t)
		whole := w.ask(text)
		if paid := stages(s); !slices.Equal(paid, want) {
			t.Fatalf("%q asked for %q and answered %q", text, paid, whole.Text)
		}
		left := w.left()
		for after := 1; after <= len(whole.steps); after++ {
			t.Run(fmt.Sprint(text, " after ", after, " ", whole.steps[after-1]), func(t *testing.T) {
				t.Parallel()
				w, s := start(t)
				got := w.killed(after, thread.Question{Text: text})
				w.holds(got)
				if again := stages(s); !slices.Equal(again, want) {
					t.Errorf("asked for %q", again)
				}
				if got.task.State != task.StateComplete || got.Text != whole.Text || got.shown != whole.Text ||
					!slices.Equal(got.steps, whole.steps) {
					t.Errorf("ended %s (%s) with %q after %q; readers saw %q",
						got.task.State, got.task.ErrorDetail, got.Text, got.steps, got.shown)
				}
				if again := w.left(); again != left {
					t.Errorf("it leaves %s, want %s", again, left)
				}
				if got.Usage != nil && got.Usage.CostMicros != w.purse.spent || w.purse.reserved != 0 {
					t.Errorf("used %+v of %+v", got.Usage, &w.purse)
				}
			})
		}
	}
}

// TestAnInterruptedActionIsRepeatedSafely interrupts actions after their effect and before their step has ended.
func TestAnInterruptedActionIsRepeatedSafely(t *testing.T) {
	t.Parallel()
	for text, state := range map[string]thread.ActionState{
		"Remember that I like cake": thread.ActionDone, "Forget that I like tea": thread.ActionDone,
		"Save the first paper to my favourites":     thread.ActionDone,
		"Remove the first paper from my favourites": thread.ActionDone,
	} {
		w := bridges(t)
		w.sender = everyone
		w.memories = []memory.Memory{{ID: "mem_1", Text: "I like tea."}}
		w.cited("Q", "It was built in 1850 [1].", w.docs[0], "The old bridge was built of stone in 1850.")
		if strings.HasPrefix(text, "Remove") {
			w.favourites = []favourite.Favourite{
				{CardID: w.docs[0].CardID(), Card: []byte(`{"cardId":"` + w.docs[0].CardID() + `"}`)},
			}
		}
		w.fake(brain{})
		first := w.start(func(s task.Store) task.Store { return &lossy{Store: s, w: w} })
		id := w.submit(first, thread.Question{Text: text})
		for end := time.Now().Add(4 * time.Minute); w.changed() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nothing was changed")
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		if err := first.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		got := w.await(w.start(nil), id)
		if got.task.State != task.StateComplete || len(got.Actions) != 1 || got.Actions[0].State != state ||
			got.Actions[0].Undo == "" || w.changed() != 2 {
			t.Errorf("%q ended %s with %+v after %q", text, got.task.State, got.Actions, w.changes)
		}
		if n := len(w.memories) + len(w.favourites); n != 2 && strings.HasPrefix(text, "Remember") || n > 2 {
			t.Errorf("%q leaves %+v and %+v", text, w.memories, w.favourites)
		}
	}
}

// left returns the memories and favourites by text and title.
func (w *fixture) left() string {
	var out []string
	for _, m := range w.memories {
		out = append(out, m.Text)
	}
	for _, f := range w.favourites {
		var card struct{ Title string }
		if err := json.Unmarshal(f.Card, &card); err != nil {
			w.t.Error(err)
		}
		out = append(out, card.Title)
	}
	return strings.Join(out, "; ")
}

func (w *fixture) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes)
}

// lossy is a store whose process is killed at the first write after an action has had its effect.
type lossy struct {
	task.Store
	w *fixture
}

// RecordTask implements task.Store.
func (l *lossy) RecordTask(ctx context.Context, f task.Fence, e task.Entry) error {
	if l.w.changed() > 0 {
		return task.ErrLost
	}
	return l.Store.RecordTask(ctx, f, e)
}

// FinishTask implements task.Store.
func (l *lossy) FinishTask(ctx context.Context, f task.Fence, o task.Outcome) error {
	if l.w.changed() > 0 {
		return task.ErrLost
	}
	return l.Store.FinishTask(ctx, f, o)
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
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
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
