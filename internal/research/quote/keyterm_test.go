package quote

import (
	"slices"
	"testing"
)

func TestKeyTermsAreTheSubjectsOfAText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, title, text, want string
	}{
		{"en", "Travel policy", "The travel policy is new. Employees book trains.", "travel policy"},
		{"en", "notes", "We went to the harbour. It was late.", "the harbour"},
		{"de", "Notizen", "Wir sahen die Schleuse. Es war spät.", "die Schleuse"},
	} {
		if got := New(c.language).keyTerms(&Passage{Title: c.title, Text: c.text}); !slices.Contains(got, c.want) {
			t.Errorf("%q: %q, want also %q", c.text, got, c.want)
		}
	}
}

// FuzzKeyTerms analyses texts whose tokens overlap, such as those of compounds and of scripts without spaces.
func FuzzKeyTerms(f *testing.F) {
	for _, seed := range []string{
		"", "関係モデルはデータを表す。", "The state-of-the-art fake-2 loom.", "l’état-major, e.g. U.S.A.", "Wi-Fi ﬁsh ǅ 2.5",
	} {
		for _, language := range []string{"en", "de", "ja", "fr", ""} {
			f.Add(language, seed)
		}
	}
	f.Fuzz(func(_ *testing.T, language, text string) {
		New(language).keyTerms(&Passage{Title: text, Text: text})
	})
}
