package research_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/testkit/modelfake"
)

// longThread adds exchanges whose answers exceed the budget together.
func longThread(w *fixture, n int) {
	for i := range n {
		w.said(fmt.Sprintf("Question number %d of the user", i), fmt.Sprintf("Answer number %d. %s[1]",
			i, strings.Repeat("It is long. ", 60)), fmt.Sprintf("Title %d", i))
	}
}

func TestOlderExchangesAreSummarizedWithinABudget(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	longThread(w, 30)
	s := w.fake(brain{summary: says("They spoke about thirty things."), answer: says("In 1850 [1].")})
	first := w.say(aboutBridge)
	if got := stages(s); got[0] != "summary" || slices.Index(got[1:], "summary") >= 0 {
		t.Fatalf("asked for %q", got)
	}
	if first.Summary == nil || first.Summary.Text != "They spoke about thirty things." ||
		first.Summary.First != "Question number 0 of the user" {
		t.Fatalf("the summary is %+v", first.Summary)
	}
	for _, r := range s.Requests()[1:] {
		if stage(r) == "evidence" {
			continue
		}
		text := r.Last()
		for _, want := range []string{
			"First question of the user: Question number 0 of the user", "They spoke about thirty things.", "Title 0; Title 1;",
			"Question number 29 of the user", "Answer number 29. It is long.", "Documents cited in A",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not contain %q: %s", stage(r), want, text)
			}
		}
		if strings.Contains(text, "Answer number 3.") || len(text) > 20_000 {
			t.Errorf("the %s has %d bytes: %s", stage(r), len(text), text)
		}
	}
	// The next turns continue with the stored summary.
	before := len(s.Requests())
	if next := w.say("When was it built?"); next.Summary != nil {
		t.Errorf("another summary %+v", next.Summary)
	}
	for _, r := range s.Requests()[before:] {
		if stage(r) == "summary" || stage(r) == "plan" &&
			(!strings.Contains(r.Last(), "They spoke about thirty things.") || strings.Contains(r.Last(), "Answer number 3.")) {
			t.Errorf("the %s is %s", stage(r), r.Last())
		}
	}
	// A later summary includes the earlier one.
	longThread(w, 20)
	before = len(s.Requests())
	again := w.say("When was it built?")
	if again.Summary == nil || again.Summary.First != "Question number 0 of the user" ||
		!slices.Contains(again.Summary.Titles, "Title 1") {
		t.Errorf("the later summary is %+v", again.Summary)
	}
	if r := s.Requests()[before]; stage(r) != "summary" || !strings.Contains(r.Last(), "They spoke about thirty things.") {
		t.Errorf("the %s is %s", stage(r), r.Last())
	}
}

func TestAShortThreadIsShownWhole(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	longThread(w, 3)
	s := w.fake(brain{answer: says("In 1850 [1].")})
	w.say(aboutBridge)
	if slices.Contains(stages(s), "summary") ||
		strings.Count(s.Requests()[0].Last(), strings.TrimSpace(strings.Repeat("It is long. ", 60))) != 3 {
		t.Errorf("asked for %q: %s", stages(s), s.Requests()[0].Last())
	}
}

func TestAFailedSummaryLeavesTheQuestionsAndTitles(t *testing.T) {
	t.Parallel()
	w := bridges(t)
	longThread(w, 30)
	s := w.fake(brain{
		summary: func(modelfake.Request) modelfake.Reply { return modelfake.Refuse(400, "") },
		answer:  says("In 1850 [1]."),
	})
	got := w.say(aboutBridge)
	plan := s.Requests()[1].Last()
	if got.Summary != nil || !strings.Contains(plan, "Question number 2 of") ||
		strings.Contains(plan, "Answer number 2.") || !strings.Contains(plan, "Title 2") {
		t.Errorf("%+v after %s", got.Summary, plan)
	}
}
