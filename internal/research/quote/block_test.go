package quote

import (
	"fmt"
	"strings"
	"testing"
)

// kinds returns the blocks of a text as letters: prose, item, heading and matter, with their bodies.
func kinds(text string) string {
	runes := []rune(text)
	var out []string
	for _, b := range blocks(runes) {
		letter := map[Kind]string{Prose: "p", Item: "i", Heading: "h", Matter: "m"}[b.kind]
		out = append(out, letter+":"+strings.ReplaceAll(string(runes[b.body:b.end]), "\n", " "))
	}
	return strings.Join(out, "|")
}

func TestBlocksOfAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		" \n\t\n":                           "",
		"One line.":                         "p:One line.",
		"one\ntwo.":                         "p:one two.",
		"One.\n\nTwo.":                      "p:One.|p:Two.",
		"# Title\nText.":                    "h:Title|p:Text.",
		"### Third ###\n\nText.":            "h:Third ###|p:Text.",
		"#hashtag is no heading here.":      "p:#hashtag is no heading here.",
		"####### seven signs are too many.": "p:####### seven signs are too many.",
		"Title\n=====\n\nText.":             "h:Title|m:|p:Text.",
		"- one\n- two":                      "i:one|i:two",
		"* one\n+ two\n• three":             "i:one|i:two|i:three",
		"1. one\n2) two":                    "i:one|i:two",
		"(a) one\n(iv) two":                 "i:one|i:two",
		"[12] Smith, J. (1999).":            "i:Smith, J. (1999).",
		"-no space, no item":                "p:-no space, no item",
		"1.5 is a number, not an item.":     "p:1.5 is a number, not an item.",
		"- one\n  goes on":                  "i:one   goes on",
		"```\ncode. More.\n```\nText.":      "m:```|m:code. More.|m:```|p:Text.",
		"~~~\ncode\n~~~":                    "m:~~~|m:code|m:~~~",
		"```\nnever closed":                 "m:```|m:never closed",
		"| a | b |\n|---|---|\n| 1 | 2 |":   "m:| a | b ||m:|---|---||m:| 1 | 2 |",
		"Text.\n\n---\n\nMore.":             "p:Text.|m:|p:More.",
		"Page one\fPage two":                "p:Page one|p:Page two",
		"ABSTRACT\r\nWe show that.":         "h:ABSTRACT|p:We show that.",
		"ABSTRACT\nWe show that it holds.":  "h:ABSTRACT|p:We show that it holds.",
		"2 Related Work\nOthers did this.":  "h:2 Related Work|p:Others did this.",
		"Windows\r\nlines.\r\n\r\nMore.":    "p:Windows\r lines.|p:More.",
	} {
		if got := kinds(text); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

// Only statements are quoted: headings, code and tables are evidence at most.
func TestHeadingsAndCodeAreNoAnswers(t *testing.T) {
	t.Parallel()
	text := "# When was the lock built?\n\n```\nlock built 1850\n```\n\nThe lock was built in 1851."
	got, _ := first("en", "When was the lock built?", documents(text, "Other things.")...)
	if got != "The lock was built in 1851." {
		t.Errorf("quoted %q", got)
	}
}

func TestShortQuestionsDependOnTheConversation(t *testing.T) {
	t.Parallel()
	e := New("en")
	before := Talk{
		Question: "Who built the Antikythera mechanism?", Titles: []string{"Antikythera"}, Documents: []string{"a"},
	}
	for question, want := range map[string]bool{
		"When?":                        true,
		"And why?":                     true,
		"Where was it found?":          true,
		"What did his students think?": true,
		"When did Einstein publish his paper on relativity?": false, // the pronoun refers to a name of the question
		"How do whales navigate in deep water?":              false,
	} {
		q := e.Ask(question, before, nil)
		if q.PointsBack() != want || (len(q.Added) > 0) != want {
			t.Errorf("%q depends on the conversation: %v, added %q", question, q.PointsBack(), q.Added)
		}
		if alone := e.Ask(question, Talk{}, nil); alone.PointsBack() || len(alone.Added) > 0 {
			t.Errorf("%q as the first question: added %q", question, alone.Added)
		}
	}
}

func TestWordsOfAQuestionAreCountedWithoutAddedOnes(t *testing.T) {
	t.Parallel()
	e := New("en")
	before := Talk{Question: "What is the memex?", Titles: []string{"As We May Think"}}
	for question, want := range map[string]int{
		"": 0, "the of": 0, "memex": 1, "Where is the old bridge?": 2, "bridge bridge bridge": 1,
	} {
		if got := e.Ask(question, Talk{}, nil).Words(); got != want {
			t.Errorf("%q has %d words, want %d", question, got, want)
		}
	}
	alone, after := e.Ask("old bridge?", Talk{}, nil), e.Ask("old bridge?", before, nil)
	if alone.Words() != after.Words() {
		t.Errorf("%d words alone, %d in a conversation", alone.Words(), after.Words())
	}
}

// A question of any length costs a bounded number of terms.
func TestTermsOfAQuestionAreLimited(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "word%d ", i)
	}
	q := New("en").Ask(b.String(), Talk{}, nil)
	if len(q.terms) > maxTerms || len(q.sequence) > 500 {
		t.Errorf("%d terms, a sequence of %d", len(q.terms), len(q.sequence))
	}
}
