package research_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/model"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
)

// costs answers like the brain, at a price.
func costs(in int, f func(modelfake.Request) modelfake.Reply) func(modelfake.Request) modelfake.Reply {
	return func(r modelfake.Request) modelfake.Reply {
		reply := f(r)
		reply.In, reply.Out = in, 1
		return reply
	}
}

func TestACapInTheMidstOfATurnMakesItPartial(t *testing.T) {
	t.Parallel()
	// The reserved cost of a call is its MaxTokens in micros: 600 for the plan, 2000 for the quotes, 1500 for the
	// answer. Input costs only what the fake reports.
	for name, c := range map[string]struct {
		cap    int64
		asked  []string
		starts string
	}{
		"before the plan": {
			599, nil, "This answer is partial, because the spending cap was reached. These are quotes from your sources:",
		},
		"before the quotes": {
			1999,
			[]string{"plan"},
			"This answer is partial, because the spending cap was reached. These are quotes from your sources:",
		},
		"before the answer": {
			2002,
			[]string{"plan", "evidence"},
			"This answer is partial, because the spending cap was reached. These are quotes from your sources:",
		},
		"never": {10_000, []string{"plan", "evidence", "answer"}, "It was built in 1850 [1]."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.options.Prices = model.Prices{Default: &model.Price{Out: 1_000_000}}
			w.purse.capped, w.purse.cap = true, c.cap
			s := w.fake(brain{plan: costs(1, plans("stone")), evidence: func(r modelfake.Request) modelfake.Reply {
				reply := firstSentences(r)
				reply.In, reply.Out = 1, 600
				return reply
			}, answer: says("It was built in 1850 [1].")})
			got := w.ask(aboutBridge)
			w.holds(got)
			if got.task.State != task.StateComplete || got.Partial != (name != "never") ||
				!strings.HasPrefix(got.Text, c.starts) || len(got.Citations) == 0 {
				t.Errorf("ended %s, partial: %v, with %s", got.task.State, got.Partial, got.Text)
			}
			if got := stages(s); !slices.Equal(got, c.asked) {
				t.Errorf("asked for %q", got)
			}
			if w.purse.spent > c.cap || w.purse.reserved != 0 {
				t.Errorf("the purse is at %+v", &w.purse)
			}
			// Without any result it fails.
			w.purse.cap = 0
			if got := w.ask("Penguins?"); got.task.State != task.StateFailed || got.task.ErrorCode != "spend_cap_reached" ||
				!strings.Contains(got.task.ErrorDetail, "resets at") {
				t.Errorf("ended %s, %s: %s", got.task.State, got.task.ErrorCode, got.task.ErrorDetail)
			}
		})
	}
}

func TestAModelWithoutAPriceCountsAsADearOne(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.options.Prices = model.Prices{}
	w.fake(brain{})
	got := w.ask(aboutBridge)
	if u := got.Usage; u == nil || u.CostMicros < 10*u.InputTokens || !u.Estimated {
		t.Errorf("used %+v", u)
	}
}

func TestUsageThatIsNotToldIsEstimated(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.fake(brain{answer: func(modelfake.Request) modelfake.Reply {
		r := modelfake.Say("It was built in 1850 [1].")
		r.NoUsage = true
		return r
	}})
	got := w.ask(aboutBridge)
	if u := got.Usage; u == nil || !u.Estimated || !w.purse.estimated || w.purse.spent != u.CostMicros {
		t.Errorf("used %+v of %+v", u, &w.purse)
	}
}

func TestACapIsKeptInEveryKindOfTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		cap   int64
		asked []string
		state task.State
		want  string
	}{
		"before the reply": {"hello", 599, nil, task.StateFailed, ""},
		"after the plan":   {"And you?", 600, []string{"plan"}, task.StateFailed, ""},
		"before the rewriting": {
			"Shorten it", 1000,
			[]string{"plan"},
			task.StateComplete,
			"This answer is partial, because the spending cap was reached.",
		},
		"before the judge": {
			"Shorten it", 1501, []string{"plan", "transform"}, task.StateComplete, "It dates from 1850 [1].",
		},
		"never": {
			"Shorten it", 10_000, []string{"plan", "transform", "judge"}, task.StateComplete, "It dates from 1850 [1].",
		},
		"an action costs none": {"Remember that I like tea", 0, nil, task.StateComplete, "Remembered: “I like tea”"},
		"an action is not lost": {
			"Remember that I like tea. What can you do?", 0, nil, task.StateComplete,
			"Remembered: “I like tea”\n\nThe spend cap of",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.sender, w.options.NoJudge = everyone, false
			w.options.Prices = model.Prices{Default: &model.Price{Out: 1_000_000}}
			w.purse.capped, w.purse.cap = true, c.cap
			w.cited("Q", "It was built in 1850 [1].", w.docs[0], "The old bridge was built of stone in 1850.")
			kind := "transformation"
			if strings.HasSuffix(c.text, "?") {
				kind = "conversation"
			}
			s := w.fake(brain{
				plan: costs(1, planned(kind)), transform: costs(1, says("It dates from 1850 [1].")),
				reply: costs(1, says("Hello.")), judge: costs(1, says("{}")),
			})
			got := w.ask(c.text)
			w.holds(got)
			if got.task.State != c.state || !strings.HasPrefix(got.Text, c.want) || !slices.Equal(stages(s), c.asked) {
				t.Errorf("ended %s, %s, with %q after %q", got.task.State, got.task.ErrorCode, got.Text, stages(s))
			}
			if c.state == task.StateFailed && got.task.ErrorCode != "spend_cap_reached" {
				t.Errorf("failed with %s", got.task.ErrorCode)
			}
			if w.purse.spent > c.cap || w.purse.reserved != 0 || got.Usage != nil && got.Usage.CostMicros != w.purse.spent {
				t.Errorf("the purse is at %+v, and %+v was used", &w.purse, got.Usage)
			}
		})
	}
}
