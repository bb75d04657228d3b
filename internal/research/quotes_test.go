package research_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

func TestWithoutAModelTheAnswerIsQuotes(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	for _, c := range []struct{ question, holds, title string }{
		{
			"Who proved that no machine can decide whether a machine ever prints a symbol?", "no machine can decide",
			"On Computable Numbers, with an Application to the Entscheidungsproblem",
		},
		{"When was the report on the EDVAC dated?", "30 June 1945", "First Draft of a Report on the EDVAC"},
		{"What is the memex?", "memex", "As We May Think"},
		{"In which year did the EDSAC run at Cambridge?", "1949", "First Draft of a Report on the EDVAC"},
	} {
		got := w.ask(c.question)
		w.holds(got)
		if got.task.State != task.StateComplete || !strings.HasPrefix(got.Text, "Quotes from your sources:") ||
			len(got.Citations) == 0 {
			t.Errorf("%s\nended %s (%s) with %s", c.question, got.task.State, got.task.ErrorDetail, got.Text)
			continue
		}
		if first := got.Citations[0]; first.Title != c.title ||
			!slices.ContainsFunc(got.Citations, func(x thread.Citation) bool {
				return strings.Contains(x.Quote, c.holds)
			}) {
			t.Errorf("%s\nis answered with %s", c.question, got.Text)
		}
		for i, c := range got.Citations {
			if c.N != i+1 {
				t.Errorf("the citation %d has the number %d", i+1, c.N)
			}
		}
		if got.shown != got.Text {
			t.Errorf("readers of the stream saw %q, and the reply is %q", got.shown, got.Text)
		}
		if got.Usage != nil || got.Partial || len(got.MemoriesUsed) > 0 || len(got.Checks) != len(got.Citations) {
			t.Errorf("%+v", got.Answer)
		}
		want := []string{"Reading the question", "Searching 2 sources", "Choosing quotes"}
		if !slices.Equal(got.steps, want) {
			t.Errorf("the steps were %q", got.steps)
		}
	}
}

func TestQuestionsBeyondTheSourcesAreNotAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	got := w.ask("How do penguins incubate their eggs in Antarctica?")
	if got.task.State != task.StateComplete || len(got.Citations) > 0 {
		t.Fatalf("ended %s with %s", got.task.State, got.Text)
	}
	for _, want := range []string{"Nothing in 2 sources matched.", "“penguins”", "Library (64 documents), Archive (0 " +
		"documents)"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is not in: %s", want, got.Text)
		}
	}
}

func TestAnAgentWithoutDocumentsSaysSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if got := w.ask("What is the memex?"); !strings.Contains(got.Text, "no documents in 2 sources yet") {
		t.Error(got.Text)
	}
	w.agent.Sources = nil
	if got := w.ask("What is the memex?"); !strings.Contains(got.Text, "no sources yet") {
		t.Error(got.Text)
	}
}

func TestPartialMatchesAreCalledClosest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put(
		source.Document{Title: "Bridges", Text: "The old bridge over the river was built of stone. It has three arches."},
	)
	w.put(source.Document{Title: "Boats", Text: "The ferry crosses every hour. The captain sells tickets."})
	got := w.ask("Which engineer built the old suspension bridge?")
	w.holds(got)
	if !strings.HasPrefix(got.Text, "Closest passages; they may not answer this:") || len(got.Citations) == 0 ||
		!strings.Contains(got.Text, "“suspension”") {
		t.Error(got.Text)
	}
}

func TestFollowUpUsesTheConversation(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	w.said("What is the memex of Vannevar Bush?", "Quotes from your sources: …", "As We May Think")
	got := w.ask("When did it appear?")
	w.holds(got)
	if !strings.Contains(got.Query, "memex") || len(got.Citations) == 0 || got.Citations[0].Title != "As We May Think" {
		t.Errorf("searched for %q and found %s", got.Query, got.Text)
	}
	for _, own := range []string{
		"Who described the EDVAC in an unfinished report?", "How does PageRank work?", "Penguins?",
	} {
		if got := w.ask(own); got.Query != "" {
			t.Errorf("%q was searched for as %q", own, got.Query)
		}
	}
	for _, more := range []string{"Who else?", "And what did they think of it?", "When was the paper published?"} {
		if got := w.ask(more); !strings.Contains(got.Query, "memex") {
			t.Errorf("%q was searched for as %q", more, got.Query)
		}
	}
}

func TestAMisspeltQuestionIsAnsweredAsItWasMeant(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	w.find = func(r search.Query) (source.Found, error) {
		r.Text = "What is the memex?"
		found, err := w.library(r)
		found.Corrected = r.Text
		return found, err
	}
	got := w.ask("What is the mmeex?")
	if w.holds(got); got.Query != "What is the memex?" || !strings.HasPrefix(got.Text, "Quotes from") {
		t.Errorf("%q: %s", got.Query, got.Text)
	}
}

func TestADocumentThatChangedIsNotQuoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	d := w.put(source.Document{Title: "Bridges", Text: "The old bridge was built of stone in 1850."})
	w.find = func(r search.Query) (source.Found, error) {
		found, err := w.library(r)
		w.docs[0].Text = "It was built of wood."
		return found, err
	}
	got := w.ask("When was the old bridge built of stone?")
	if len(got.Citations) > 0 || strings.Contains(got.Text, "1850") {
		t.Errorf("%s is quoted as it was: %s", d.ID, got.Text)
	}
}

func TestWarningsAndPagesAreSaid(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put(
		source.Document{
			Title: "Bridges", Year: 1900, Text: "The ferry crosses every hour.\fThe old bridge was built of stone in 1850.",
		},
	)
	w.find = func(r search.Query) (source.Found, error) {
		found, err := w.library(r)
		found.Warnings = []source.Warning{
			{
				SourceID: "src_a", Code: source.WarnIndexIncomplete,
				Detail: "3 of 9 documents are indexed so far; results are partial.",
			},
		}
		return found, err
	}
	got := w.ask("When was the old bridge built of stone?")
	w.holds(got)
	for _, want := range []string{"Bridges (1900), p. 2", "Not everything could be searched:\n" +
		"- Archive: 3 of 9 documents"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is not in: %s", want, got.Text)
		}
	}
	if len(got.Citations) != 1 || got.Citations[0].Page != 2 {
		t.Errorf("cited %+v", got.Citations)
	}
}

func TestASearchThatFailsFailsTheTurn(t *testing.T) {
	t.Parallel()
	w := newFixture(t).landmarks()
	w.find = func(search.Query) (source.Found, error) {
		return source.Found{}, errors.New("the disk is on fire")
	}
	got := w.ask("What is the memex?")
	if got.task.State != task.StateFailed || got.task.ErrorCode != task.CodeInternal ||
		strings.Contains(got.task.ErrorDetail, "fire") {
		t.Errorf("ended %s, %s: %s", got.task.State, got.task.ErrorCode, got.task.ErrorDetail)
	}
}

func TestQuotesInTheTextLeadNowhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.put(
		source.Document{
			Title: "![x](https://evil.test/t.png)",
			Text: "The old bridge ![pixel](https://evil.test/p.png) was built of [stone](https://evil.test/a) in 1850 [7] " +
				"<img src=//evil.test/i>.",
		},
	)
	got := w.ask("When was the old bridge built of stone?")
	if w.holds(got); len(got.Citations) != 1 {
		t.Fatalf("%+v", got.Citations)
	}
	if strings.Contains(got.Text, "evil.test") || strings.Contains(got.Text, "[7]") ||
		strings.Contains(got.Text, "<img") || got.shown != got.Text {
		t.Error(got.Text)
	}
}

func TestALongDocumentIsReadBeyondItsBestPassage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	filler := strings.Repeat("The harbour is wide and the ferry crosses it every hour of the day, in any weather. ", 60)
	w.put(
		source.Document{
			Title: "A history of the harbour",
			Text: "The harbour lighthouse is old.\n\n" + filler + "\n\nThe harbour lighthouse keeper was called Ingrid " +
				"Solheim until 1912.",
		},
	)
	w.find = func(search.Query) (source.Found, error) {
		return source.Found{
			Cards: []source.Card{{Document: w.docs[0], Snippet: search.Snippet{Start: 0, End: 1600}, Score: 1}},
		}, nil
	}
	got := w.ask("What was the name of the harbour lighthouse keeper?")
	if w.holds(got); !strings.Contains(got.Text, "Ingrid Solheim") {
		t.Error(got.Text)
	}
}
