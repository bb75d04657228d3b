package research_test

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

func TestResearchWithoutAModelQuotesMoreDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 12 {
		w.put(source.Document{
			Title: fmt.Sprint("Survey ", i), Year: 1900 + i,
			Text: fmt.Sprintf("The stone bridge over river %d was built by Ada Berg. Boats pass. "+
				"Ada Berg built the stone bridge in %d years.", i, i+2),
		})
	}
	for i := range 4 {
		w.put(source.Document{Title: fmt.Sprint("Ferry ", i), Text: "A ferry is not a bridge, but masons use it."})
	}
	const ask = "Who built the stone bridge?"
	ordinary := w.ask(ask)
	got := w.turn(thread.Question{Text: ask, Research: true})
	w.holds(got)
	if got.task.State != task.StateComplete || len(got.Citations) <= len(ordinary.Citations) || got.shown != got.Text ||
		!strings.HasPrefix(got.Text, "Quotes from your sources, by document:\n\n> ") ||
		len(got.Checks) != len(got.Citations) {
		t.Errorf("ended %s with %s", got.task.State, got.Text)
	}
	// Each document is named once, below its quotes.
	documents := map[string]bool{}
	last := ""
	for _, c := range got.Citations {
		if c.DocumentID != last && documents[c.DocumentID] {
			t.Errorf("%s is quoted in two places", c.Title)
		}
		last, documents[c.DocumentID] = c.DocumentID, true
	}
	if n := strings.Count(got.Text, "> — "); n != len(documents) || n < 6 || n > 8 {
		t.Errorf("%d documents are quoted, and %d named: %s", len(documents), n, got.Text)
	}
}

func TestResearchWithoutAModelIsLabelledHonestly(t *testing.T) {
	t.Parallel()
	w := rivals(t).landmarks()
	for ask, label := range map[string]string{
		"When was the old bridge built of stone?":         "Quotes from your sources, by document:",
		"Which zeppelins flew over the old stone bridge?": "Closest passages; they may not answer this:",
		"Xylophones?": "Nothing in 2 sources matched.",
	} {
		got := w.turn(thread.Question{Text: ask, Research: true})
		w.holds(got)
		if !strings.HasPrefix(got.Text, label) {
			t.Errorf("%q is answered %s", ask, got.Text)
		}
	}
	// A document that shares some words is labelled as such after the documents that answer.
	got := w.turn(thread.Question{Text: "When was the old bridge built of stone?", Research: true})
	answers, closest, found := strings.Cut(got.Text, "Closest passages; they may not answer this:")
	if !strings.Contains(answers, "in 1850. [") || !strings.Contains(answers, "in 1860. [") ||
		found && strings.Contains(closest, "of stone in 18") || strings.Contains(answers, "ferry") {
		t.Error(got.Text)
	}
}
