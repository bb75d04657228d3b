package analysis

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Words are compared in a form without case, accents, ligatures and invisible characters.
func TestSpellingsOfAWordAreFoldedAlike(t *testing.T) {
	t.Parallel()
	for want, spellings := range map[string][]string{
		"strasse":   {"Straße", "STRASSE", "strasse", "Stra\u00adße"},
		"aether":    {"Æther", "æther", "aether"},
		"oeuvre":    {"œuvre", "Œuvre", "oeuvre"},
		"kobenhavn": {"København", "KØBENHAVN", "kobenhavn"},
		"lodz":      {"Łódź", "łódź", "lodz", "Lo\u0301dz\u0301"},
		"dorde":     {"Đorđe", "ðorde"},
		"thor":      {"Þor", "thor"},
		"malta":     {"Malta", "MALTA"},
		"hal":       {"Ħal", "ħal"},
		"naive":     {"naïve", "nai\u0308ve", "NAÏVE"},
		"λογοσ":     {"λόγος", "ΛΌΓΟΣ", "λογοσ"},
		"елка":      {"ёлка", "Ёлка", "елка"},
		"find":      {"ﬁnd", "find", "ＦＩＮＤ"},
		"co2":       {"CO₂", "CO2", "co2"},
		"123":       {"１２３", "123"},
		"كتاب":      {"كتاب", "كِتَاب", "كـتاب"},
	} {
		for _, spelling := range spellings {
			if got := fold(spelling); got != want {
				t.Errorf("%q is folded to %q, want %q", spelling, got, want)
			}
		}
	}
	if got := fold(" ?! "); got != "" {
		t.Errorf("a text without words is folded to %q", got)
	}
}

// Vowel signs of Devanagari and the voicing of kana change the word, so they are kept.
func TestMarksThatChangeTheWordAreKept(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"किताब", "कताब"}, {"か", "が"}, {"は", "ぱ"}, {"กา", "กำ"}} {
		if fold(pair[0]) == fold(pair[1]) {
			t.Errorf("%s and %s are folded alike", pair[0], pair[1])
		}
	}
}

func TestStemsOfShortTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The libraries of Paris": "librari pari", "": "", "the of and": "", "Running, running!": "run run",
		"Bücher": "bucher", "東京": "東京",
	} {
		if got := strings.Join(Stems(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestPassageTextsAreThePartsOfTheText(t *testing.T) {
	t.Parallel()
	parts := []string{
		"A sentence of some length. ", "Größe und Maß. ", "日本語の文。", "\n\n", "\f", "# Heading\n\n", "👩\u200d👧 ", "e\u0301 ",
		"word ",
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 60).Draw(t, "parts") {
			part := rapid.SampledFrom(parts).Draw(t, "part")
			b.WriteString(strings.Repeat(part, rapid.IntRange(1, 40).Draw(t, "times")))
		}
		text := b.String()
		texts := PassageTexts(text)
		if got := strings.Join(texts, ""); got != text {
			t.Fatalf("%d passages have %d bytes of %d", len(texts), len(got), len(text))
		}
		for i, p := range Passages(text) {
			if p.Of(text) != texts[i] || p.End-p.Start != utf8.RuneCountInString(texts[i]) {
				t.Fatalf("passage %d is %q and %q", i, p.Of(text), texts[i])
			}
		}
	})
}

// Unicode Standard Annex 29: a text may be cut between graphemes only.
func TestTextsAreCutBetweenGraphemes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after rune
		want          bool
	}{
		{'a', 'b', true},
		{'a', ' ', true},
		{'\r', '\n', false},
		{'\n', '\r', true},
		{'e', '\u0301', false},
		{'👩', '\u200d', false},
		{'\u200d', '👧', false},
		{'🇩', '🇪', false},
		{'👍', '🏽', false},
		{'क', '\u094d', false},
		{'\u094d', 'ष', false},
		{'\u094d', ' ', true},
		{'\u1112', '\u1161', false},
		{'ก', '\u0e33', false},
		{'日', '本', true},
		{'한', '국', true},
	} {
		if got := BetweenCharacters(c.before, c.after); got != c.want {
			t.Errorf("%q and %q may be cut: %v", c.before, c.after, got)
		}
	}
}

func TestScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"日本": true, "ひらがな": true, "カタカナ": true, "한국": true, "ไทย": true, "ລາວ": true, "ខ្មែ": true, "မြန်": true, "ー": true,
		"abc": false, "абв": false, "أبج": false, "தமி": false, "123": false, "αβγ": false,
	} {
		for _, r := range text {
			if got := IsUnspaced(r); got != want && !strings.ContainsRune("្ែ်ြ", r) {
				t.Errorf("%q is unspaced: %v", r, got)
			}
		}
	}
	// They are searched as pairs of characters, and a single one as itself.
	for text, want := range map[string][]string{"日本語": {"日本", "本語"}, "日": {"日"}, "日本 語": {"日本", "語"}} {
		if got := terms(New("en"), text); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// An analyser caches words. The cache must not change what a word means.
func TestAnalysersGiveTheSameTermsAgain(t *testing.T) {
	t.Parallel()
	a := New("de")
	text := "Die Bücher der Bibliothek, das Buch und die Größe."
	first := slices.Collect(a.Tokens(text))
	for i := range maxKnown + 10 { // more words than are cached
		for range a.Tokens("wort" + strings.Repeat("x", i%20) + string(rune('a'+i%26)) + string(rune('0'+i%10))) {
			continue
		}
	}
	if again := slices.Collect(a.Tokens(text)); !slices.Equal(first, again) {
		t.Errorf("first %v, then %v", first, again)
	}
	long := strings.Repeat("donaudampfschiff", 50)
	if got := terms(a, long); len(got) != 1 || got[0] != long {
		t.Errorf("a word of %d letters has the terms %.60q", len(long), got)
	}
}
