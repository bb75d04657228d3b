package research_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/memory"
	"carrel/internal/model"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// slowly sends the reply piece by piece with a pause.
func slowly(pause time.Duration, f func(modelfake.Request) modelfake.Reply) func(modelfake.Request) modelfake.Reply {
	return func(r modelfake.Request) modelfake.Reply {
		reply := f(r)
		reply.Pause = pause
		return reply
	}
}

// stuck begins a reply and then sends nothing.
func stuck(text string) func(modelfake.Request) modelfake.Reply {
	return func(modelfake.Request) modelfake.Reply {
		reply := modelfake.Say(text)
		reply.End = modelfake.Hangs
		return reply
	}
}

// TestASlowModelIsNotAFailure scales a model with two tokens per second to one with a hundred, and its time limits in
// the same way.
func TestASlowModelIsNotAFailure(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.options.ProgressInterval = 20 * time.Millisecond
	const pause = 10 * time.Millisecond
	w.fake(brain{
		plan:     slowly(pause, plans("old bridge stone")),
		evidence: slowly(pause, firstSentences),
		answer: slowly(pause,
			says("The old bridge was built in 1850 [1]. "+strings.Repeat("It was built by masons from Bergen [2]. ", 5))),
	})
	e := w.start(nil)
	id := w.submit(e, thread.Question{Text: aboutBridge})
	got := w.await(e, id)
	w.holds(got)
	if got.task.State != task.StateComplete || got.Partial ||
		!strings.HasPrefix(got.Text, "The old bridge was built in 1850 [1].") {
		t.Errorf("ended %s with %q", got.task.State, got.Text)
	}
	if n := progressEvents(w, id, "Writing the answer"); n == 0 {
		t.Error("no progress was reported")
	}
}

// progressEvents counts the repeated events of a step.
func progressEvents(w *fixture, id, label string) int {
	events, err := w.db.TaskEvents(context.Background(), id, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, e := range events {
		var payload struct{ Label, State string }
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			w.t.Fatal(err)
		}
		if e.Kind == task.EventStep && strings.HasPrefix(payload.Label, label+" · ") && payload.State == "started" {
			n++
		}
	}
	return n
}

func TestATurnOutOfTimeIsNeverEmpty(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		brain brain
		want  string
	}{
		"planning, not found": {"Penguins?", brain{plan: stuck("{")}, "Nothing in 2 sources matched."},
		"all of it": {
			aboutBridge,
			brain{plan: stuck("{"), answer: stuck("It")},
			"This answer is partial, because time ran out. These are quotes from your sources:",
		},
		"writing": {
			aboutBridge,
			brain{answer: stuck("It was bu")},
			"This answer is partial, because time ran out. These are quotes from your sources:",
		},
		"writing, half": {
			aboutBridge,
			brain{answer: stuck("It was built in 1850 [1]. It has th")},
			"It was built in 1850 [1].\n\nThis answer is partial: time ran out.",
		},
		"judging": {
			aboutBridge, brain{answer: says("It was built in 1850 [1]."), judge: stuck("{")}, "It was built in 1850 [1].",
		},
		"hello": {"hello", brain{reply: stuck("He")}, "The model did not answer in time."},
		"hello, half": {
			"hello", brain{reply: stuck("Hello there. How are ")}, "Hello there.\n\nThis answer is partial: time ran out.",
		},
		"my name": {
			"What is my name?",
			brain{plan: planned("conversation"), reply: stuck("Y")},
			"The model did not answer in time.\n\nI remember this about you:\n\n- My name is Ada.",
		},
		"first question": {
			"What did I ask first?",
			brain{plan: planned("conversation"), reply: stuck("Y")},
			"The model did not answer in time.\n\nYou asked:\n\n- How old is the bridge?",
		},
		"rewriting": {
			"Shorten it",
			brain{plan: planned("transformation"), transform: stuck("T")},
			"This answer is partial, because time ran out. These are quotes from your sources:\n\n" +
				"> The old bridge was built of stone in 1850. [1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.options.Ordinary.Time, w.options.NoJudge = 2*time.Second, false // per call, because the clock stands still
			w.memories = []memory.Memory{{ID: "mem_1", Text: "My name is Ada."}}
			w.cited("How old is the bridge?", "It was built in 1850 [1].", w.docs[0],
				"The old bridge was built of stone in 1850.")
			w.fake(c.brain)
			got := w.ask(c.text)
			w.holds(got)
			partial := name != "judging" && name != "planning, not found"
			if got.task.State != task.StateComplete || !strings.HasPrefix(got.Text, c.want) || got.Partial != partial ||
				got.shown == "" {
				t.Errorf("ended %s (%s), partial %v, with %q; readers saw %q",
					got.task.State, got.task.ErrorDetail, got.Partial, got.Text, got.shown)
			}
		})
	}
}

// TestASlowPlanOrChoiceIsLeftOut has a model that never ends its plan or its choice of quotes. The answer gets the rest
// of the time.
func TestASlowPlanOrChoiceIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		brain brain
		asked []string
	}{
		"plan": {
			brain{plan: stuck(`{"kinds":["sources"],"question":"q","queries":[{"query":"stone"},`)}, []string{"plan", "answer"},
		},
		"choice": {brain{evidence: stuck(`{"evidence":[{"passage":1,`)}, []string{"plan", "evidence", "answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.options.Ordinary.Time = 2 * time.Second
			s := w.fake(c.brain)
			got := w.ask("When was the old bridge built of stone?")
			w.holds(got)
			if got.task.State != task.StateComplete || !strings.HasPrefix(got.Text,
				"The old bridge was built of stone in 1850 [1].") || !slices.Equal(stages(s), c.asked) {
				t.Errorf("ended %s with %q after %q", got.task.State, got.Text, stages(s))
			}
		})
	}
}

// cited adds an exchange whose answer cites a quote of a document.
func (w *fixture) cited(question, answer string, d source.Document, text string) {
	w.said(question, answer, d.Title)
	start := strings.Index(d.Text, text)
	w.messages[0].Answer.Citations = []thread.Citation{{
		N: 1, CardID: d.CardID(), DocumentID: d.ID, SourceID: d.SourceID, Title: d.Title, Quote: text, Start: start,
		End: start + len(text),
	}}
}

func TestASilentModelIsGivenUpAfterItsIdleTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{aboutBridge, "hello"} {
		w := bridges(t)
		s := modelfake.New(t, modelfake.OpenAI)
		s.Answer(brain{plan: stuck("{"), reply: stuck("H")}.answerTo)
		p, err := model.New(
			model.Options{API: model.OpenAI, BaseURL: s.URL(), Key: s.Key, Name: "fake-1", Idle: 300 * time.Millisecond},
			w.clock,
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		w.model = p
		got := w.ask(text)
		w.holds(got)
		if got.task.State != task.StateComplete || got.Text == "" || got.Text != got.shown {
			t.Errorf("%q ended %s (%s) with %q", text, got.task.State, got.task.ErrorDetail, got.Text)
		}
	}
}
