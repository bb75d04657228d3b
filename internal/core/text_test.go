package core

import (
	"strings"
	"testing"
)

func TestTextsAreCountedInCodePoints(t *testing.T) {
	t.Parallel()
	rule := TextRule{Min: 1, Max: 4}
	for text, ok := range map[string]bool{
		"a": true, "abcd": true, "abcde": false, "😀😀😀😀": true, "😀😀😀😀😀": false, "e\u0301e\u0301": true,
		"": false, " \n\u00a0": false, "a\x00": false, "a\xff": false,
	} {
		if got := rule.Check(text); (got == "") != ok {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := (TextRule{Max: 3}).Check(""); got != "" {
		t.Errorf("an empty optional text: %q", got)
	}
	if got := (TextRule{Max: 3}).Check("abcd"); !strings.Contains(got, "at most 3") {
		t.Errorf("the detail does not name the limit: %q", got)
	}
}

func TestFoldMakesSpellingsComparable(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"I prefer  primary\tsources", "i prefer primary sources"},
		{"ﬁle", "file"},
		{"Caf\u00e9", "Cafe\u0301"},
		{"  spaced\u00a0out ", "spaced out"},
		{"ＡＢＣ", "abc"},
	} {
		if a, b := Fold(pair[0]), Fold(pair[1]); a != b {
			t.Errorf("%q folds to %q and %q to %q", pair[0], a, pair[1], b)
		}
	}
	if Fold("cafe") == Fold("café") {
		t.Error("Fold must keep accents")
	}
}

func TestEditDistanceCountsInsertionsDeletionsAndReplacements(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"show", "shwo"}: 2, {"kitten", "sitting"}: 3, {"flag", "flags"}: 1, {"abc", "abc"}: 0,
	} {
		if a, b := EditDistance(pair[0], pair[1]), EditDistance(pair[1], pair[0]); a != want || b != want {
			t.Errorf("%q: %d and %d, want %d", pair, a, b, want)
		}
	}
}
