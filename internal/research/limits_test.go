package research_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

func TestALongAnswerIsCutAtASentence(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.fake(brain{answer: func(modelfake.Request) modelfake.Reply {
		r := modelfake.Say("It was built in 1850 [1]. It has ma")
		r.Finish = "length"
		return r
	}})
	got := w.ask(aboutBridge)
	w.holds(got)
	if !got.Partial || got.Text != "It was built in 1850 [1].\n\nThis answer is partial: it reached the maximum length." {
		t.Error(got.Text)
	}
}

func TestATurnThatRunsOutOfTimeAnswersWithWhatItHas(t *testing.T) {
	t.Parallel()
	slow := func(f func(modelfake.Request) modelfake.Reply) func(modelfake.Request) modelfake.Reply {
		return func(r modelfake.Request) modelfake.Reply {
			reply := f(r)
			reply.End, reply.Text = modelfake.Hangs, reply.Text[:len(reply.Text)-1]
			return reply
		}
	}
	for name, c := range map[string]struct {
		brain brain
		want  string
	}{
		"everything": {
			brain{plan: slow(plans("a b")), answer: slow(says("It was bu"))},
			"This answer is partial, because time ran out. These are quotes from your sources:",
		},
		"writing": {
			brain{answer: slow(says("It was built in 1850 [1]. It has three arches"))},
			"It was built in 1850 [1].\n\nThis answer is partial: time ran out.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bridges(t)
			w.options.Ordinary.Time = 2 * time.Second // per call, because the clock stands still
			w.fake(c.brain)
			got := w.ask(aboutBridge)
			w.holds(got)
			if !got.Partial || !strings.HasPrefix(got.Text, c.want) || len(got.Citations) == 0 || got.Usage == nil ||
				!got.Usage.Estimated {
				t.Errorf("%s %+v", got.Text, got.Usage)
			}
		})
	}
}

func TestTheLastThirdOfTheTimeIsForTheAnswer(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	clock := testkit.NewClock()
	w.clock = clock
	s := w.fake(brain{
		evidence: func(r modelfake.Request) modelfake.Reply {
			clock.Advance(61 * time.Second)
			return quotes(quote{1, "The old bridge was built of stone in 1850.", 10})(r)
		},
		answer: says("In 1850 [1]."),
	})
	got := w.ask(aboutBridge)
	w.holds(got)
	if got := stages(s); !slices.Equal(got, []string{"plan", "evidence", "answer"}) {
		t.Errorf("asked for %q", got)
	}
	if !got.Partial || got.Text != "In 1850 [1].\n\nThis answer is partial: time ran out." {
		t.Error(got.Text)
	}
}

func TestModelIsNotCalledAfterTheTimeIsUp(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	clock := testkit.NewClock()
	w.clock = clock
	s := w.fake(brain{evidence: func(r modelfake.Request) modelfake.Reply {
		clock.Advance(91 * time.Second)
		return firstSentences(r)
	}})
	got := w.ask(aboutBridge)
	w.holds(got)
	if got := stages(s); !slices.Equal(got, []string{"plan", "evidence"}) {
		t.Errorf("asked for %q", got)
	}
	if !got.Partial || !strings.HasPrefix(got.Text, "This answer is partial, because time ran out. These are quotes "+
		"from your sources:") || len(got.Citations) != 3 {
		t.Error(got.Text)
	}
}

func TestFourFifthsOfTheTokensEndTheSearch(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	w.options.Ordinary.Tokens = 1000
	s := w.fake(brain{evidence: func(r modelfake.Request) modelfake.Reply {
		reply := quotes(quote{1, "The old bridge was built of stone in 1850.", 10})(r)
		reply.In, reply.Out = 700, 100
		return reply
	}, answer: says("In 1850 [1].")})
	got := w.ask(aboutBridge)
	if got := stages(s); !slices.Equal(got, []string{"plan", "evidence", "answer"}) {
		t.Errorf("asked for %q", got)
	}
	if w.holds(got); got.Text != "In 1850 [1].\n\nThis answer is partial: it reached the token limit." {
		t.Error(got.Text)
	}
}
