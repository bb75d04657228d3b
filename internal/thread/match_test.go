package thread

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSnippetIsTheTextAroundTheFirstWord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 20) + "the Würfel\n is here " + strings.Repeat("after ", 60)
	for _, c := range []struct{ text, words, want string }{
		{"Who proposed it?", "proposed", "Who proposed it?"},
		{"a\n\tb", "none", "a b"},
		{
			long, "none WÜRFEL",
			"…before before before before before the Würfel is here " + strings.Repeat("after ", 17) + "aft…",
		},
	} {
		if got := snippetOf(c.text, strings.Fields(c.words)); got != c.want {
			t.Errorf("the snippet for %q is %q, want %q", c.words, got, c.want)
		}
	}
}

// FuzzSnippetOf checks that snippets are one short line.
func FuzzSnippetOf(f *testing.F) {
	f.Add("Who proposed the relational model?", "model")
	f.Add("İstanbul \xff", "i\u0307")
	f.Add(strings.Repeat("x", 500), "x x")
	f.Fuzz(func(t *testing.T, text, words string) {
		snippet := snippetOf(text, strings.Fields(words))
		if n := utf8.RuneCountInString(snippet); n > snippetBefore+snippetAfter+2 || strings.ContainsAny(snippet, "\n\r") {
			t.Errorf("%q has a snippet of %d characters: %q", text, n, snippet)
		}
	})
}
