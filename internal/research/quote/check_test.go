package quote

import (
	"slices"
	"strings"
	"testing"
)

var storedQuotes = map[int][]string{
	1: {"The tower is 330 metres tall.", "It was finished in 1889 by three hundred workers."},
	2: {"About 5.9 million people, 12 percent of all, visited it."},
	3: {},
	4: {"Critics said that it was “useless and monstrous” and five of them left Paris."},
}

func TestUnknownMarksAreTakenOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"It is tall [1].":                  "It is tall [1].",
		"It is tall [9].":                  "It is tall.",
		"It is tall. [9] And so on.":       "It is tall. And so on.",
		"It is tall [1][9][2].":            "It is tall [1][2].",
		"It is tall [1, 9; 2].":            "It is tall [1][2].",
		"It is tall [1–3] and [2-2].":      "It is tall [1][2][3] and [2].",
		"It is tall [1 - 3].":              "It is tall [1][2][3].",
		"It is tall【2】 and [1-99999].":     "It is tall[2] and [1].",
		"It is [not] a [mark], nor [1a].":  "It is [not] a [mark], nor [1a].",
		"[99999999999999999999999] is odd": " is odd",
		"Tall [9] words":                   "Tall words",
		"":                                 "",
	} {
		if got := Check(text, storedQuotes).Text; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestEachSentenceIsHeldToItsQuotes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text   string
		state  State
		reason Reason
		absent string
	}{
		{"It is a tower.", Uncited, NoReason, ""},
		{"It is 330 m tall [1].", Supported, NoReason, ""},
		{"It is 330 m tall. [1]", Supported, NoReason, ""},
		{"It is 331 m tall [1].", Unsupported, NumberAbsent, "331"},
		{"It was finished in 1889 and is 330 m tall [1].", Supported, NoReason, ""},
		{"It was finished in 1890 with 300 workers [1].", Unsupported, NumberAbsent, "1890"},
		{"It had 5,900,000 visitors [2].", Supported, NoReason, ""},
		{"It had 5.9 million visitors, 12% of all [2].", Supported, NoReason, ""},
		{"12 people came [2].", Supported, NoReason, ""},
		{"330% came [1].", Unsupported, NumberAbsent, "330%"},
		{"It had 5.9 million visitors and is 330 m tall [1][2].", Supported, NoReason, ""},
		{"It had 5.9 million visitors and is 330 m tall [1].", Unsupported, NumberAbsent, "5.9 million"},
		{"It is tall [3].", Unsupported, NoQuote, ""},
		{"It is tall [1][3].", Supported, NoReason, ""},
		{"It is tall [9].", Unsupported, NoSuchSource, ""},
		{"It is tall. [9]", Unsupported, NoSuchSource, ""},
		{"It is 330 m tall [9][1].", Supported, NoReason, ""},
		{"Two sources say that it is tall [1].", Supported, NoReason, ""},
		{"Six of them left [4].", Unsupported, NumberAbsent, "Six"},
		{"Five of them left [4].", Supported, NoReason, ""},
		{`They said that it was "useless and monstrous" [4].`, Supported, NoReason, ""},
		{
			`They said “that it was 'useless and monstrous'” [4].`, Unsupported, WordsAbsent,
			"that it was 'useless and monstrous'",
		},
		{`They said “critics said that it was” [4].`, Unsupported, WordsAbsent, "critics said that it was"},
		{"1. It is tall [1].", Supported, NoReason, ""},
		{"[1] says that it is 330 metres tall.", Supported, NoReason, ""},
		{"# 77 towers [1]", Uncited, NoReason, ""},
	} {
		checks := Check(test.text, storedQuotes)
		if len(checks.Sentences) != 1 {
			t.Errorf("%q has %d sentences", test.text, len(checks.Sentences))
			continue
		}
		got := checks.Sentences[0]
		if got.State != test.state || got.Reason != test.reason || strings.Join(got.Absent, "|") != test.absent {
			t.Errorf("%q is %d for %q (%q)", test.text, got.State, got.Reason, got.Absent)
		}
	}
}

func TestSentencesKeepTheirOwnMarks(t *testing.T) {
	t.Parallel()
	checks := Check("It is 330 m tall. [1] It had 12 percent [2]. Nobody knows why. It is 7 m wide [1, 2].", storedQuotes)
	var keys [][]int
	var texts []string
	for _, s := range checks.Sentences {
		keys = append(keys, s.Keys)
		texts = append(texts, string([]rune(checks.Text)[s.Start:s.End]))
	}
	want := []string{"It is 330 m tall. [1]", "It had 12 percent [2].", "Nobody knows why.", "It is 7 m wide [1][2]."}
	if !slices.Equal(texts, want) {
		t.Fatalf("the sentences are %q, want %q", texts, want)
	}
	for i, want := range [][]int{{1}, {2}, nil, {1, 2}} {
		if !slices.Equal(keys[i], want) {
			t.Errorf("sentence %d cites %v, want %v", i, keys[i], want)
		}
	}
	for i, s := range checks.Sentences {
		if (s.State == Unsupported) != (i == 3) {
			t.Errorf("sentence %d is %+v", i, s)
		}
	}
}

func TestNestedMarksAreTakenOutToo(t *testing.T) {
	t.Parallel()
	if got := Check("[9[9[9]]] is it", storedQuotes).Text; got != " is it" {
		t.Errorf("what is left is %q", got)
	}
	const depth = 20000
	nested := strings.Repeat("[9", depth) + strings.Repeat("]", depth)
	if got := Check(nested, storedQuotes).Text; strings.Contains(got, "[") {
		t.Errorf("what is left is %.40q", got)
	}
}

func FuzzCheckLeavesOnlyKnownMarks(f *testing.F) {
	f.Add("It is 330 m [1]. No [9][2–4] 【1】 [1,,2] “words in quotation marks here” [4]")
	f.Add("[[1]] [ 1] [1 ] [1-] [-1] 【】 [1\n]")
	f.Add("[9[1]] x[9]] [[9]1]")
	f.Fuzz(func(t *testing.T, text string) {
		checks := Check(text, storedQuotes)
		runes := []rune(checks.Text)
		at := 0
		for _, s := range checks.Sentences {
			if s.Start < at || s.End > len(runes) || s.End <= s.Start {
				t.Fatalf("%q: %+v after %d", text, s, at)
			}
			at = s.End
			for _, key := range s.Keys {
				if _, ok := storedQuotes[key]; !ok {
					t.Fatalf("%q cites %d", text, key)
				}
			}
			if s.State == Supported && len(s.Keys) == 0 {
				t.Fatalf("%q is supported by nothing", text)
			}
		}
	})
}
