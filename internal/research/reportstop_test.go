package research_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/agent"
	"carrel/internal/model"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// careless is reporter with a first section that needs a correction, and with sentences that only the judge decides.
func careless() brain {
	b := reporter()
	b.section = func(r modelfake.Request) modelfake.Reply {
		if sectionOf(r) == 1 {
			return modelfake.Say(fmt.Sprintf("The masonry is of stone [%d]. It was built in 1999 [%d].",
				quotesOf(r, "1860")[0], quotesOf(r, "1850")[0]))
		}
		return modelfake.Say(fmt.Sprintf("The builders came from Bergen [%d].", quotesOf(r, "Masons")[0]))
	}
	b.repair = func(r modelfake.Request) modelfake.Reply {
		return modelfake.Say(fmt.Sprintf("The masonry is of stone [%d]. It was built in 1850 [%d].",
			quotesOf(r, "1860")[0], quotesOf(r, "1850")[0]))
	}
	// Longer than a step whose end is journaled with the end of the task.
	b.disagree = slowly(10*time.Millisecond, b.disagree)
	b.judge = slowly(10*time.Millisecond, says(`{"sentences":[{"n":1,"verdict":"says","words":"of stone"},`+
		`{"n":1,"verdict":"says","words":"Masons from Bergen"}]}`))
	return b
}

// stagesOfReport are the model calls of a report by careless.
var stagesOfReport = []string{
	"plan", "outline", "evidence", "evidence", "evidence", "plan", "plan", "section", "judge", "repair", "judge",
	"section",
	"judge", "disagree", "judge",
}

func TestKillBetweenStagesOfAReportRepeatsNoPaidCall(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*fixture, *modelfake.Server) {
		w := rivals(t)
		return w, w.fake(careless())
	}
	q := thread.Question{Text: aboutBridges, Research: true}
	w, s := start(t)
	whole := w.turn(q)
	w.holds(whole)
	w.wellFormed(t, whole)
	if paid := stages(s); !slices.Equal(paid, stagesOfReport) || whole.shown != whole.Text ||
		!strings.Contains(whole.Text, "It was built in 1850 [1].") || strings.Contains(whole.Text, "1999") {
		t.Fatalf("asked for %q and answered %q; readers saw %q", paid, whole.Text, whole.shown)
	}
	for after := 1; after <= len(whole.steps); after++ {
		t.Run(fmt.Sprint("after ", after, " ", whole.steps[after-1]), func(t *testing.T) {
			t.Parallel()
			w, s := start(t)
			got := w.killed(after, q)
			w.holds(got)
			if again := stages(s); !slices.Equal(again, stagesOfReport) {
				t.Errorf("asked for %q", again)
			}
			if got.task.State != task.StateComplete || got.Text != whole.Text || got.shown != whole.Text ||
				!slices.Equal(got.steps, whole.steps) || len(got.Checks) != len(whole.Checks) {
				t.Errorf("ended %s (%s) with %q after %q; readers saw %q",
					got.task.State, got.task.ErrorDetail, got.Text, got.steps, got.shown)
			}
			if got.Usage.CostMicros != w.purse.spent || w.purse.reserved != 0 {
				t.Errorf("used %+v of %+v", got.Usage, &w.purse)
			}
		})
	}
}

// hangsAt replies like the brain to the first n calls. The call after them begins its reply and then sends nothing;
// began is closed when it does.
func hangsAt(b brain, n int) (func(modelfake.Request) modelfake.Reply, chan struct{}) {
	began, calls := make(chan struct{}), 0
	return func(r modelfake.Request) modelfake.Reply {
		reply := b.answerTo(r)
		reply.Pause = 0
		if calls++; calls <= n {
			return reply
		}
		if calls == n+1 {
			close(began)
		}
		reply.End, reply.Text = modelfake.Hangs, reply.Text[:len(reply.Text)-1]
		return reply
	}, began
}

// cancelled cancels a report at the model call after the first n.
func cancelled(t *testing.T, n int) (*fixture, *modelfake.Server, reply) {
	w := rivals(t)
	s := w.fake(brain{})
	answer, began := hangsAt(careless(), n)
	s.Answer(answer)
	e := w.start(nil)
	id := w.submit(e, thread.Question{Text: aboutBridges, Research: true})
	<-began
	for stagesOfReport[n] == "section" && sectionOf(s.Requests()[n]) == 1 && w.shown(id) == "" {
		time.Sleep(time.Millisecond) // until the first sentence is shown
	}
	if ok, err := e.Cancel(t.Context(), id); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return w, s, w.await(e, id)
}

func TestACancelledReportHoldsWhatThereIs(t *testing.T) {
	t.Parallel()
	const ending = "\n\nThis answer is partial: it was cancelled."
	// contains are texts of the reply when the call with that index is interrupted.
	contains := map[int][]string{
		0: nil, 1: nil,
		// The words of the question choose the quotes of a section that was read, but not shown to the model.
		2: {
			"## The stone\n\nThis section was not written. Quotes from your sources:\n\n> The old bridge was built of stone",
			"## What was not finished\n\n- The masons\n- The penguins",
		},
		3: {
			"## The stone\n\nThis section was not written. Quotes from your sources:\n\n> The old bridge was built of stone",
			"## The masons\n\nThis section was not written. Quotes from your sources:\n\n> Masons from Bergen",
			"## What was not finished\n\n- The penguins",
		},
		5:  {"## The masons\n\nThis section was not written.", "- The penguins: Which penguins"},
		7:  {"## The stone\n\nThe masonry is of stone [2].\n\n", "## The masons\n\nThis section was not written."},
		8:  {"The masonry is of stone [2]. It was built in 1999 [1].", "## The masons\n\nThis section was not written."},
		9:  {"The masonry is of stone [2]. It was built in 1999 [1]."},
		10: {"The masonry is of stone [2]. It was built in 1999 [1]."},
		11: {"The masonry is of stone [2]. It was built in 1850 [1].", "## The masons\n\nThis section was not written."},
		12: {"It was built in 1850 [1]", "## The masons\n\nThe builders came from Bergen [3].", "- The penguins: Which"},
		13: {"It was built in 1850 [1]", "## The masons\n\nThe builders came from Bergen [3].", "- The penguins: Which"},
		14: {"It was built in 1850 [1]", "## The masons\n\nThe builders came from Bergen [3].", "- The penguins: Which"},
	}
	for n, name := range stagesOfReport {
		t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
			t.Parallel()
			w, s, got := cancelled(t, n)
			w.holds(got)
			if got.task.State != task.StateCancelled || len(s.Requests()) != n+1 {
				t.Errorf("ended %s after %q", got.task.State, stages(s))
			}
			if got.Usage == nil || got.Usage.CostMicros != w.purse.spent || w.purse.reserved != 0 ||
				w.purse.settled != n+1 {
				t.Errorf("used %+v of %+v", got.Usage, &w.purse)
			}
			if n < 2 {
				if got.Text != "" || got.shown != "" {
					t.Errorf("it returned %q", got.Text)
				}
				return
			}
			w.wellFormed(t, got)
			if !got.Partial || !strings.HasSuffix(got.Text, ending) || got.shown != got.Text || len(got.Citations) == 0 {
				t.Errorf("it returned %q, and readers saw %q", got.Text, got.shown)
			}
			for _, want := range contains[n] {
				if !strings.Contains(got.Text, want) {
					t.Errorf("%q is not in %s", want, got.Text)
				}
			}
			for _, c := range got.Checks {
				text := string([]rune(got.Text)[c.Start:c.End])
				if strings.Contains(text, "1999") && c.State != thread.Contradicted {
					t.Errorf("%q is %s", text, c.State)
				}
			}
		})
	}
}

func TestAReportKeepsItsCapAndItsSections(t *testing.T) {
	t.Parallel()
	// The reserved cost of a call is its MaxTokens in micros: 600 for a plan, 1200 for the outline, 2000 for quotes, 1333
	// for a section, 1500 for the judge and 1000 for disagreements. A call costs 1, and the first section 5000.
	for name, c := range map[string]struct {
		cap     int64
		asked   []string
		has     string
		partial bool
	}{
		"before the outline": {
			1000, stagesOfReport[:1], "This answer is partial, because the spending cap was reached. These are quotes", true,
		},
		"before the quotes": {
			1900, stagesOfReport[:2], "This answer is partial, because the spending cap was reached. These are quotes", true,
		},
		"before the second section": {
			6000, stagesOfReport[:8],
			"## The masons\n\nThis section was not written. Quotes from your sources:\n\n" +
				"> Masons from Bergen built the old bridge. [3]",
			true,
		},
		"never": {20_000, slices.Delete(slices.Clone(stagesOfReport), 9, 11), "## What sources disagree about", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rivals(t)
			w.options.Prices = model.Prices{Default: &model.Price{Out: 1_000_000}}
			w.purse.capped, w.purse.cap = true, c.cap
			b := careless()
			s := w.fake(b)
			s.Answer(func(r modelfake.Request) modelfake.Reply {
				reply := b.answerTo(r)
				reply.In, reply.Out = 1, 1
				if stage(r) == "section" && sectionOf(r) == 1 {
					reply = b.repair(r)
					reply.In, reply.Out = 1, 5000
				}
				return reply
			})
			got := w.turn(thread.Question{Text: aboutBridges, Research: true})
			w.holds(got)
			if got.task.State != task.StateComplete || got.Partial != c.partial || !strings.Contains(got.Text, c.has) ||
				got.shown != got.Text {
				t.Errorf("ended %s with %s; readers saw %s", got.task.State, got.Text, got.shown)
			}
			if asked := stages(s); !slices.Equal(asked, c.asked) {
				t.Errorf("asked for %q", asked)
			}
			if c.partial && !strings.Contains(got.Text, "the spending cap was reached") {
				t.Error(got.Text)
			}
			if w.purse.spent > c.cap || w.purse.reserved != 0 {
				t.Errorf("the purse is at %+v", &w.purse)
			}
		})
	}
}

func TestAReportKeepsItsTokens(t *testing.T) {
	t.Parallel()
	b := reporter()
	// A third section would exceed the budget, and no further call is made.
	b.outline = outlines(aboutStone, aboutMasons, part{"Ferries", "What crossed the river?", []string{"ferry"}})
	b.evidence = firstSentences
	w := rivals(t)
	s := w.fake(b)
	s.Answer(func(r modelfake.Request) modelfake.Reply {
		reply := b.answerTo(r)
		if stage(r) == "section" {
			reply.In, reply.Out = 300_000, 1000
		}
		return reply
	})
	got := w.turn(thread.Question{Text: aboutBridges, Research: true})
	w.holds(got)
	if asked := stages(s); asked[len(asked)-1] != "section" || strings.Count(strings.Join(asked, " "), "section") != 2 ||
		!strings.Contains(got.Text, "## Ferries\n\nThis section was not written.") || got.shown != got.Text ||
		!strings.HasSuffix(got.Text, "This answer is partial: it reached the token limit.") {
		t.Errorf("asked for %q and answered %s", stages(s), got.Text)
	}
}

func TestAReportThatRunsOutOfTimeKeepsItsSections(t *testing.T) {
	t.Parallel()
	w := rivals(t)
	clock := testkit.NewClock()
	w.clock = clock
	b := reporter()
	b.section = func(r modelfake.Request) modelfake.Reply {
		clock.Advance(11 * time.Minute)
		return quoteBack(r)
	}
	s := w.fake(b)
	got := w.turn(thread.Question{Text: aboutBridges, Research: true})
	w.holds(got)
	w.wellFormed(t, got)
	if asked := stages(s); asked[len(asked)-1] != "section" || sectionOf(s.Requests()[len(asked)-1]) != 1 {
		t.Errorf("asked for %q", asked)
	}
	if got.task.State != task.StateComplete || !got.Partial || got.shown != got.Text ||
		!strings.HasPrefix(got.Text, "## The stone\n\nThe old bridge was built of stone in 1850 [1].") ||
		!strings.Contains(got.Text, "## The masons\n\nThis section was not written. Quotes from your sources:") ||
		!strings.HasSuffix(got.Text, "This answer is partial: time ran out.") {
		t.Errorf("ended %s with %s", got.task.State, got.Text)
	}
}

// TestAModelThatFailsWithinAReport has a model that fails at one kind of call.
func TestAModelThatFailsWithinAReport(t *testing.T) {
	t.Parallel()
	fails := func(modelfake.Request) modelfake.Reply { return modelfake.Refuse(400, "") }
	for name, c := range map[string]struct {
		change func(*brain)
		has    []string
	}{
		"outline": {
			func(b *brain) { b.outline, b.evidence = fails, firstSentences },
			// Which of the rivals comes second is up to the ranker.
			[]string{
				"Masons from Bergen built the old bridge [1]. The old bridge was built of stone in 18",
				"0 [2].\n\n## What sources disagree about",
			},
		},
		"evidence": {func(b *brain) { b.evidence = fails }, []string{
			"## The stone\n\n", "## The masons\n\n", "This answer is partial: the model failed before everything was read.",
		}},
		"every section": {
			func(b *brain) { b.section = fails },
			[]string{
				"The model did not answer; these are quotes from your sources.", "> The old bridge was built of stone in 1850. [1]",
			},
		},
		"the second section": {
			func(b *brain) {
				b.section = func(r modelfake.Request) modelfake.Reply {
					if sectionOf(r) == 2 {
						return fails(r)
					}
					return quoteBack(r)
				}
			},
			[]string{
				"## The stone\n\nThe old bridge was built of stone in 1850 [1].", "## The masons\n\nThis section was not written.",
				"## What sources disagree about", "This answer is partial: the model's answer broke off.",
			},
		},
		"verification of the second section": {
			func(b *brain) {
				b.section = func(r modelfake.Request) modelfake.Reply {
					if sectionOf(r) == 2 {
						return modelfake.Say("It was built in 1999 [3].")
					}
					return quoteBack(r)
				}
				b.repair = says("It was built in 1999 [3].")
			},
			[]string{
				"## The stone\n\nThe old bridge was built of stone in 1850 [1].",
				"## The masons\n\nThis section was not written.", "## What sources disagree about",
			},
		},
		"verification of all sections": {
			func(b *brain) {
				b.section, b.repair = says("It was built in 1999 [3]."), says("It was built in 1999 [3].")
			},
			[]string{"could not be verified against your sources", "> The old bridge was built of stone in 1850. [1]"},
		},
		"disagreements": {func(b *brain) { b.disagree = fails }, []string{"## The masons\n\nMasons from Bergen", "penguins"}},
		"judge":         {func(b *brain) { b.judge = fails }, []string{"## What sources disagree about", "penguins"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rivals(t)
			b := reporter()
			c.change(&b)
			w.fake(b)
			got := w.turn(thread.Question{Text: aboutBridges, Research: true})
			w.holds(got)
			if got.task.State != task.StateComplete || got.shown != got.Text {
				t.Errorf("ended %s; readers saw %s", got.task.State, got.shown)
			}
			for _, text := range c.has {
				if !strings.Contains(got.Text, text) {
					t.Errorf("%q is not in %s", text, got.Text)
				}
			}
		})
	}
}

func TestAReportPastItsDeadlineKeepsItsSections(t *testing.T) {
	t.Parallel()
	w := rivals(t)
	clock := testkit.NewClock()
	w.clock = clock
	s := w.fake(brain{})
	answer, began := hangsAt(careless(), 11) // the second section
	s.Answer(answer)
	e := w.start(nil)
	id := w.submit(e, thread.Question{Text: aboutBridges, Research: true})
	<-began
	clock.Advance(2 * task.DefaultDeadline)
	got := w.await(e, id)
	w.holds(got)
	if got.task.State != task.StateFailed || got.task.ErrorCode != task.CodeTimeout || !got.Partial ||
		!strings.Contains(got.Text, "The masonry is of stone [2]. It was built in 1850 [1].") ||
		!strings.HasSuffix(got.Text, "This answer is partial: time ran out.") {
		t.Errorf("ended %s (%s) with %s", got.task.State, got.task.ErrorCode, got.Text)
	}
}

// TestAReportContinuesAfterAShutdown stops the node while a section is written. The turn is not interrupted for good,
// so another node completes it.
func TestAReportContinuesAfterAShutdown(t *testing.T) {
	t.Parallel()
	w := rivals(t)
	s := w.fake(brain{})
	answer, began := hangsAt(careless(), 11)
	s.Answer(answer)
	first := w.start(nil)
	id := w.submit(first, thread.Question{Text: aboutBridges, Research: true})
	<-began
	s.Answer(careless().answerTo)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if err := first.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	got := w.await(w.start(nil), id)
	w.holds(got)
	want := append(slices.Clone(stagesOfReport[:12]), stagesOfReport[11:]...)
	if got.task.State != task.StateComplete || got.Partial || got.shown != got.Text || !slices.Equal(stages(s), want) ||
		!strings.Contains(got.Text, "## The masons\n\nThe builders came from Bergen [3].\n\n## What sources disagree about") {
		t.Errorf("ended %s with %s after %q; readers saw %s", got.task.State, got.Text, stages(s), got.shown)
	}
}

func TestActionsOfACancelledReportAreKept(t *testing.T) {
	t.Parallel()
	w := rivals(t)
	w.sender = everyone
	s := w.fake(brain{})
	answer, began := hangsAt(careless(), 11)
	s.Answer(answer)
	e := w.start(nil)
	id := w.submit(e, thread.Question{Text: "Remember that I like tea. " + aboutBridges, Research: true})
	<-began
	if ok, err := e.Cancel(t.Context(), id); !ok || err != nil {
		t.Fatal(ok, err)
	}
	got := w.await(e, id)
	w.holds(got)
	w.wellFormed(t, got)
	if got.task.State != task.StateCancelled || len(got.Actions) != 1 || len(w.memories) != 1 || got.shown != got.Text ||
		!strings.HasPrefix(got.Text, "Remembered: “I like tea”\n\n## The stone\n\nThe masonry is of stone [2].") {
		t.Errorf("ended %s with %s; readers saw %s", got.task.State, got.Text, got.shown)
	}
}

func TestASectionWithoutEnoughQuotesIsSearchedAgain(t *testing.T) {
	t.Parallel()
	w := rivals(t)
	for i := range 20 { // more than a section reads at once
		w.put(source.Document{Title: fmt.Sprint("Penguins ", i), Text: "Which penguins live at the bridge is not known."})
	}
	w.put(source.Document{Title: "Zoo", Text: "Emperors waddle there. A keeper feeds them."})
	b := reporter()
	b.plan = func(r modelfake.Request) modelfake.Reply {
		if len(passagesOf(r, "part")) > 0 && strings.Contains(r.Last(), aboutPenguin.Question) {
			return plans("emperors waddle")(r)
		}
		return plans()(r)
	}
	b.evidence = helpful(map[string]string{
		aboutStone.Question: "of stone", aboutMasons.Question: "Masons", aboutPenguin.Question: "Emperors",
	})
	s := w.fake(b)
	got := w.turn(thread.Question{Text: aboutBridges, Research: true})
	w.holds(got)
	if !strings.Contains(got.Text, "## The penguins\n\nEmperors waddle there [4].") || got.shown != got.Text {
		t.Errorf("answered %s after %q", got.Text, stages(s))
	}
	if !slices.Contains(got.steps, "Section 3 of 3: The penguins: searching for missing information") {
		t.Errorf("the steps are %q", got.steps)
	}
}

func TestPolicyAppliesToEverySection(t *testing.T) {
	t.Parallel()
	for policy, want := range map[agent.Policy]string{
		agent.PolicyMarked: "The masonry is of stone [2]. It was built in 1999 [1]. Bridges need much care in winter.",
		agent.PolicyStrict: "The masonry is of stone [2].",
		agent.PolicyOpen:   "The masonry is of stone [2]. It was built in 1999 [1]. Bridges need much care in winter.",
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := rivals(t)
			w.agent.Settings.Policy = policy
			b := careless()
			section := b.section
			b.section = func(r modelfake.Request) modelfake.Reply {
				reply := section(r)
				if sectionOf(r) == 1 {
					reply.Text = append(reply.Text, " Bridges need much care in winter.")
				}
				return reply
			}
			b.repair = says("The masonry is of stone [2]. It was built in 1999 [1]. Bridges need much care in winter.")
			s := w.fake(b)
			got := w.turn(thread.Question{Text: aboutBridges, Research: true})
			w.holds(got)
			w.wellFormed(t, got)
			if !strings.HasPrefix(got.Text, "## The stone\n\n"+want+"\n\n## The masons\n\n") || got.shown != got.Text ||
				slices.Contains(stages(s), "repair") == (policy == agent.PolicyOpen) {
				t.Errorf("answered %s after %q", got.Text, stages(s))
			}
		})
	}
}
