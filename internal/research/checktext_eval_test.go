package research_test

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/research"
	quotepkg "carrel/internal/research/quote"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// labelledSentence is a sentence of the evaluation set of package check, with the paragraph that it was written from.
type labelledSentence struct {
	Language, Class, Sentence, Quote, Context, Title string
	Label                                            bool
	Year                                             int
}

// evaluationSet reads all labelled sentences.
func evaluationSet(t testing.TB) []labelledSentence {
	t.Helper()
	var out []labelledSentence
	for _, name := range []string{"development", "heldout"} {
		file, err := os.ReadFile("check/testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(file)) {
			var s labelledSentence
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
	}
	return out
}

// englishOnly returns the English sentences of a set, and their paragraphs as documents.
func englishOnly(set []labelledSentence) (sentences []labelledSentence, docs []source.Document) {
	seen := map[string]bool{}
	for _, s := range set {
		if s.Language != "en" {
			continue
		}
		sentences = append(sentences, s)
		text := s.Context
		if !strings.Contains(text, s.Quote) {
			text = s.Quote + "\n\n" + s.Context
		}
		if !seen[text] {
			seen[text] = true
			docs = append(docs, source.Document{ExternalID: strconv.Itoa(len(docs)), Title: s.Title, Year: s.Year, Text: text})
		}
	}
	return sentences, docs
}

// sameQuote reports whether one quote contains the other.
func sameQuote(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }

// The evidence of the evaluation set is not given here: it has to be found among the paragraphs of all sentences.
func TestTextCheckFindsTheEvidenceOfTheEvaluationSet(t *testing.T) {
	t.Parallel()
	w := newTextFixture(t)
	if os.Getenv("CHECK_RANKED") != "" { // takes minutes of processor time
		w.ranker = quotepkg.Builtin
	}
	sentences, docs := englishOnly(evaluationSet(t))
	w.put(w.source, docs...)
	total, backed, refuted := map[bool]int{}, map[bool]int{}, map[bool]int{}
	related, found, first := 0, 0, 0
	for _, s := range sentences {
		got := w.check(research.Draft{Text: s.Sentence}).Sentences[0]
		total[s.Label]++
		right := func(e research.Evidence) bool { return sameQuote(e.Quote, s.Quote) }
		if s.Class != "unrelated" {
			related++
		}
		if slices.ContainsFunc(got.Evidence, right) {
			found++
		}
		if len(got.Evidence) > 0 && right(got.Evidence[0]) {
			first++
		}
		wrong := got.Refuted()
		switch {
		case got.State == thread.Quoted || got.State == thread.Supported:
			backed[s.Label]++
			wrong = !s.Label
		case got.Refuted():
			refuted[s.Label]++
			wrong = s.Label
		}
		if wrong {
			t.Logf("%s: %s, %v: %s (%s)", s.Class, got.State, s.Label, s.Sentence, got.Detail)
		}
	}
	leastFirst := 0.97
	if w.ranker != nil {
		leastFirst = 0.98
	}
	t.Logf("of %d sentences, the labelled quote is shown for %d and the first for %d", related, found, first)
	if share := float64(first) / float64(related); share < leastFirst {
		t.Errorf("the labelled quote is the first for %.3f, want %.2f", share, leastFirst)
	}
	for _, m := range []struct {
		name        string
		part, whole int
		low, high   float64
	}{
		{"true sentences quoted or supported", backed[true], total[true], 0.5, 1},
		{"true sentences contradicted or unsupported", refuted[true], total[true], 0, 0.03},
		{"false sentences contradicted or unsupported", refuted[false], total[false], 0.5, 1},
		{"false sentences quoted or supported", backed[false], total[false], 0, 0.02},
	} {
		share := float64(m.part) / float64(m.whole)
		t.Logf("%s: %d of %d, %.3f", m.name, m.part, m.whole, share)
		if share < m.low || share > m.high || m.whole < 300 {
			t.Errorf("%s: %.3f, want %.2f to %.2f", m.name, share, m.low, m.high)
		}
	}
}
