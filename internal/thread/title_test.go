package thread

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTitleIsTheFirstWordsOnOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Who proposed it?":          "Who proposed it?",
		" a\n\tb\u00a0 c ":          "a b c",
		strings.Repeat("a", 199):    strings.Repeat("a", 199),
		strings.Repeat("a", 200):    strings.Repeat("a", 199) + "…",
		strings.Repeat("😀", 200):    strings.Repeat("😀", 199) + "…",
		strings.Repeat("word ", 50): strings.TrimSpace(strings.Repeat("word ", 39)) + "…",
		// A single short word would not be a useful title.
		"a " + strings.Repeat("b", 250): "a " + strings.Repeat("b", 197) + "…",
	} {
		if got := titleOf(text); got != want {
			t.Errorf("%q has the title %q, want %q", text, got, want)
		}
	}
}

// FuzzTitleOf checks that titles are one line of limited length and start like the message.
func FuzzTitleOf(f *testing.F) {
	for _, seed := range []string{
		"", "a", " \n ", strings.Repeat("é ", 100), strings.Repeat("x", 100), "a\u2028b",
		"\xff\xfe", "\u0301" + strings.Repeat("a\u0301", 60),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		title := titleOf(text)
		if n := utf8.RuneCountInString(title); n > maxTitle+1 ||
			strings.ContainsAny(title, "\n\r\t\v\f\u0085\u2028\u2029") {
			t.Errorf("%q has a title of %d characters: %q", text, n, title)
		}
		if title == "" && strings.TrimSpace(text) != "" {
			t.Errorf("%q has no title", text)
		}
		if !utf8.ValidString(text) {
			return
		}
		words := strings.Join(strings.Fields(text), " ")
		if cut, short := strings.CutSuffix(title, "…"); title != words &&
			(!short || !strings.HasPrefix(words, cut) || cut == "") {
			t.Errorf("%q has the title %q", text, title)
		}
		if titleOf(title) != title && utf8.RuneCountInString(title) <= maxTitle {
			t.Errorf("the title %q has another title", title)
		}
	})
}
