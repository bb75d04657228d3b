package research_test

import (
	"strings"
	"testing"

	"carrel/internal/source"
)

func TestPhrasesAreInTheLanguageOfTheQuestion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ question, answered, nothing string }{
		{"When was the bridge over the Limmat built?", "Quotes from your sources:", "Nothing in 2 sources matched."},
		{"Wann wurde die Brücke über die Limmat gebaut?", "Zitate aus deinen Quellen:", "In 2 Quellen passt nichts dazu."},
		{
			"Quand le pont de la Limmat a-t-il été construit ?", "Citations de vos sources :",
			"Rien ne correspond dans 2 sources.",
		},
		{"¿Cuándo se construyó el puente sobre el Limmat?", "Citas de sus fuentes:", "Nada coincide en 2 fuentes."},
		// There are no Dutch phrases.
		{
			"Wanneer werd de brug over de Limmat gebouwd en door wie?", "Quotes from your sources:",
			"Nothing in 2 sources matched.",
		},
	} {
		w := newFixture(t)
		w.put(source.Document{Title: "x", Text: "Nothing stands here that could be of any use."})
		if got := w.ask(tc.question); !strings.HasPrefix(got.Text, tc.nothing) {
			t.Errorf("%q: %s", tc.question, got.Text)
		}
		w = newFixture(t)
		// A document with the words of the question answers it in any language.
		w.put(source.Document{Title: "Limmat", Text: strings.TrimLeft(strings.TrimRight(tc.question, "? "), "¿") + " 1850."})
		if got := w.ask(tc.question); !strings.HasPrefix(got.Text, tc.answered) {
			t.Errorf("%q: %s", tc.question, got.Text)
		}
	}
}
