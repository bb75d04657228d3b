package research_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/testkit/modelfake"
	"carrel/internal/thread"
)

// rivers is a library whose documents answer the same question differently.
func rivers(t testing.TB) (w *fixture, north, south, archived source.Document) {
	w = newFixture(t)
	text := func(place, stone string) string {
		return "The bridge at " + place + " was built of " + stone + " by masons. Trains cross it every day."
	}
	north = w.put(source.Document{Title: "North", Text: text("Northam", "granite"), Year: 1990})
	south = w.put(source.Document{Title: "South", Text: text("Southam", "limestone"), Year: 1991})
	archived = w.put(source.Document{Title: "Archive", Text: text("Eastham", "slate"), Year: 1992, SourceID: "src_a"})
	for i := range 60 {
		w.put(source.Document{Title: fmt.Sprint("Other ", i), Text: text(fmt.Sprint("Place ", i), "brick")})
	}
	return w, north, south, archived
}

func citedTitles(r reply) []string {
	var out []string
	for _, c := range r.Citations {
		if !slices.Contains(out, c.Title) {
			out = append(out, c.Title)
		}
	}
	slices.Sort(out)
	return out
}

const aboutStones = "Of what was the bridge built by masons?"

func TestTurnUsesOnlyTheDocumentsOfItsScope(t *testing.T) {
	t.Parallel()
	for _, withModel := range []bool{false, true} {
		for _, isResearch := range []bool{false, true} {
			w, north, south, _ := rivers(t)
			if withModel {
				w.fake(brain{plan: plans("bridge masons", "stone"), outline: outlines(aboutStone, aboutMasons)})
			}
			got := w.turn(thread.Question{
				Text: aboutStones, Research: isResearch, Scope: thread.Scope{DocumentIDs: []string{north.ID, south.ID}},
			})
			w.holds(got)
			for _, title := range citedTitles(got) {
				if title != "North" && title != "South" {
					t.Errorf("model %v, research %v: cites %s", withModel, isResearch, title)
				}
			}
			if got.task.State != task.StateComplete || len(got.Citations) == 0 || len(w.searches) > 0 {
				t.Errorf("model %v, research %v: %s, %d searches: %s", withModel, isResearch, got.task.State, len(w.searches),
					got.Text)
			}
		}
	}
}

func TestTurnSearchesOnlyTheSourcesOfItsScope(t *testing.T) {
	t.Parallel()
	for _, withModel := range []bool{false, true} {
		w, _, _, archived := rivers(t)
		var shown []string
		if withModel {
			w.fake(brain{plan: func(r modelfake.Request) modelfake.Reply {
				shown = append(shown, r.System+r.Messages[len(r.Messages)-1].Text)
				return plans("bridge masons")(r)
			}})
		}
		got := w.turn(thread.Question{Text: aboutStones, Scope: thread.Scope{SourceIDs: []string{archived.SourceID}}})
		if titles := citedTitles(got); !slices.Equal(titles, []string{"Archive"}) {
			t.Errorf("model %v: cites %q", withModel, titles)
		}
		for _, q := range w.searches {
			if !slices.Equal(q.Sources, []string{archived.SourceID}) {
				t.Errorf("searched %q", q.Sources)
			}
		}
		if slices.ContainsFunc(shown, func(s string) bool { return strings.Contains(s, "Library") }) {
			t.Errorf("the model was shown another source: %s", shown)
		}
	}
}

func TestDocumentsOutsideOfTheSourcesOfAScopeAreLeftOut(t *testing.T) {
	t.Parallel()
	w, north, _, archived := rivers(t)
	got := w.turn(thread.Question{Text: aboutStones, Scope: thread.Scope{
		SourceIDs: []string{archived.SourceID}, DocumentIDs: []string{north.ID, archived.ID},
	}})
	if titles := citedTitles(got); !slices.Equal(titles, []string{"Archive"}) {
		t.Errorf("cites %q", titles)
	}
}

func TestScopeWhoseDocumentsWereDeletedFindsNothing(t *testing.T) {
	t.Parallel()
	for _, scope := range []thread.Scope{{DocumentIDs: []string{"doc_gone"}}, {SourceIDs: []string{"src_gone"}}} {
		w, _, _, _ := rivers(t)
		got := w.turn(thread.Question{Text: aboutStones, Scope: scope})
		if len(got.Citations) > 0 || len(w.searches) > 0 || got.task.State != task.StateComplete {
			t.Errorf("%+v: %s %s", scope, got.task.State, got.Text)
		}
	}
}

// The whole of a long document in scope is read, not only what surrounds its best passage.
func TestAnswerFromTheEndOfALongDocument(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	long := "The masons of the bridge are listed below.\n\n" +
		strings.Repeat("A paragraph on the weather of the valley in spring and autumn.\n\n", 4000) +
		"The lighthouse keeper was called Agnes Moor."
	d := w.put(source.Document{Title: "Chronicle", Text: long})
	w.put(source.Document{Title: "Another", Text: "The lighthouse keeper was called John Reed."})
	got := w.turn(thread.Question{
		Text: "What was the lighthouse keeper called?", Scope: thread.Scope{DocumentIDs: []string{d.ID}},
	})
	w.holds(got)
	if !strings.Contains(got.Text, "Agnes Moor") || strings.Contains(got.Text, "John Reed") {
		t.Errorf("answered %s", got.Text)
	}
}

func TestFollowUpDoesNotLeaveItsScope(t *testing.T) {
	t.Parallel()
	w, north, south, _ := rivers(t)
	w.cited("Of what was the bridge at Northam built?", "Of granite [1].", north, "was built of granite")
	got := w.turn(thread.Question{Text: "Who built it?", Scope: thread.Scope{DocumentIDs: []string{south.ID}}})
	if titles := citedTitles(got); slices.Contains(titles, "North") {
		t.Errorf("cites %q: %s", titles, got.Text)
	}
}
