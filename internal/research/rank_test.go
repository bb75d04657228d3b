package research_test

import (
	"strings"
	"sync"
	"testing"

	"carrel/internal/builtin"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/testkit/modelfake"
)

// readOrder returns the first words of the passages in the order in which the model reads them, if a search finds the
// documents in the given order.
func readOrder(t *testing.T, question string, docs ...source.Document) []string {
	t.Helper()
	w := newFixture(t)
	var found source.Found
	for i, d := range docs {
		d = w.put(d)
		found.Cards = append(found.Cards, source.Card{
			Document: d, Score: float64(len(docs) - i), Snippet: search.Snippet{End: len([]rune(d.Text))},
		})
	}
	w.find = func(search.Query) (source.Found, error) { return found, nil }
	var mu sync.Mutex
	var words []string
	w.fake(brain{evidence: func(r modelfake.Request) modelfake.Reply {
		mu.Lock()
		defer mu.Unlock()
		if words == nil {
			for _, p := range passagesOf(r, "passage") {
				first, _, _ := strings.Cut(p.text, " ")
				words = append(words, first)
			}
		}
		return firstSentences(r)
	}})
	w.ask(question)
	return words
}

var towers = []source.Document{
	{Title: "Rust", Text: "Iron rusts in damp air. Paint protects it for some years."},
	{Title: "Visitors", Text: "Many visitors of the city climb the tower. They wait for hours in summer."},
	{Title: "Construction", Text: "The foundations were laid in 1887. The iron tower was completed on 31 March 1889."},
}

func TestModelReadsTheLikeliestPassagesFirst(t *testing.T) {
	t.Parallel()
	if !builtin.Fast() {
		t.Skip("the ranker is too slow without vector instructions")
	}
	got := readOrder(t, "When was the iron tower finished?", towers...)
	if len(got) != len(towers) || got[0] != "The" {
		t.Errorf("the model reads %q", got)
	}
}

func TestPassagesInOtherLanguagesKeepTheOrderOfTheSearch(t *testing.T) {
	t.Parallel()
	got := readOrder(t, "Wann wurde der eiserne Turm in der Stadt fertig gebaut?", towers...)
	if len(got) != len(towers) || got[0] != "Iron" || got[2] != "The" {
		t.Errorf("the model reads %q", got)
	}
}
