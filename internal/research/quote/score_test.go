package quote

import (
	"math"
	"strings"
	"testing"
)

// firstOf returns which of the passages, one document each, holds the best sentence.
func firstOf(t *testing.T, question string, texts ...string) int {
	t.Helper()
	passages := make([]Passage, len(texts))
	for i, text := range texts {
		title, body, inTitle := strings.Cut(text, "|")
		if !inTitle {
			title, body = "", text
		}
		passages[i] = Passage{DocumentID: string(rune('a' + i)), Title: title, Text: body}
	}
	e := New("en")
	ranked := e.Rank(e.Ask(question, Talk{}, nil), passages, nil)
	if len(ranked) == 0 {
		t.Fatalf("%q finds nothing", question)
	}
	return ranked[0].Passage
}

func TestOfEqualSentencesTheBetterFittingComesFirst(t *testing.T) {
	t.Parallel()
	// The second text is always the better one; without a difference the first would come first.
	for name, test := range map[string]struct{ question, worse, better string }{
		"a date is asked for": {
			"When did the ship sink?", "The ship did sink in deep water.", "The ship did sink in 1912 there.",
		},
		"a month is a date": {
			"When did the ship sink?", "The ship did sink in deep water.", "The ship did sink in April there.",
		},
		"a number is asked for": {
			"How many ships sank?", "Ships sank for want of luck.", "Ships sank, seven of them then.",
		},
		"a name is asked for": {"Who sank the ship?", "The ship sank by a torpedo.", "The ship sank by Captain Nemo."},
		"a reason is asked for": {
			"Why did the ship sink?", "The ship did sink at dawn.", "The ship did sink because of ice.",
		},
		"the year of the question": {
			"When in 1912 did the ship sink?", "The ship sank in 1912 in water.", "The ship sank in 1912 in April.",
		},
		"the title has the word": {"When did the Titanic sink?", "Boats|They sink in 1912.", "Titanic|They sink in 1912."},
		"the sentence before":    {"Did the whale sink the ship?", "Ice came. A ship sank.", "A whale came. A ship sank."},
		"prose before code":      {"Does the ship sink?", "```\nship sink\n```", "The ship sink."},
		"related words":          {"Who defended the fort?", "The fort had a cook.", "The fort had a defense."},
		"fewer other words": {
			"Does the ship sink?", "The ship sink with many others whose names nobody knows today or ever knew.",
			"The ship sink.",
		},
		"more of the words": {"Does the big ship sink?", "The ship sink.", "The big ship sink."},
		"rarer words": {
			"Does the ship or raft sink?", "The ship did sink. A ship. One ship.", "The raft did sink. A ship. One ship.",
		},
	} {
		if got := firstOf(t, test.question, test.worse, test.better); got != 1 {
			t.Errorf("%s: %q comes before %q", name, test.worse, test.better)
		}
	}
}

func TestSentenceThatRefersBackInheritsMore(t *testing.T) {
	t.Parallel()
	e := New("en")
	scores := func(opening string) float64 {
		passages := []Passage{
			{DocumentID: "a", Text: "The whale came. " + opening + " sank a ship."}, {DocumentID: "b", Text: "Nothing."},
		}
		for _, r := range e.Rank(e.Ask("Which whale sank ships?", Talk{}, nil), passages, nil) {
			if r.Start > 0 {
				return r.Score
			}
		}
		return 0
	}
	// Both have one word besides those of the question: "they" is a stop word.
	if refersBack, other := scores("They"), scores("We"); refersBack <= other {
		t.Errorf("a pronoun scores %f, another word %f", refersBack, other)
	}
}

func coverageOf(question string, texts ...string) float64 {
	var passages []Passage
	for i, text := range append(texts, "Another thing.", "A third thing.") {
		passages = append(passages, Passage{DocumentID: string(rune('a' + i)), Text: text})
	}
	e := New("en")
	return e.Answer(e.Ask(question, Talk{}, nil), passages, nil).Coverage
}

func TestCoverageGrowsWithMatchedWords(t *testing.T) {
	t.Parallel()
	// Each text covers more of the question than the one before.
	const question = "When did the white whale sink ships?"
	texts := []string{
		"Nothing of it.",
		"A whale is here.",
		"A whale is here. Ships are there.",
		"A whale sank near ships that were white.",
		"The ships of white. Far whale sink things.",
		"Ships sink by the white whale.",
		"The white whale did sink ships in 1851.",
	}
	last := -1.0
	for _, text := range texts {
		got := coverageOf(question, text)
		if got <= last || got > 1 {
			t.Errorf("%q covers %.3f, after %.3f", text, got, last)
		}
		last = got
	}
	if last != 1 {
		t.Errorf("a full answer covers %.3f", last)
	}
}

func TestStatisticsDecideWhichWordsCount(t *testing.T) {
	t.Parallel()
	e := New("en")
	passages := []Passage{{DocumentID: "a", Text: "The committee met."}, {DocumentID: "b", Text: "Krill was eaten."}}
	for rare, want := range map[string]string{"committe": "a", "krill": "b"} {
		statistics := numbers{"committe": 60, "krill": 60}
		statistics[rare] = 1
		got := e.Rank(e.Ask("krill committee", Talk{}, statistics), passages, statistics)
		if passages[got[0].Passage].DocumentID != want {
			t.Errorf("with a rare %q the first is %+v", rare, got[0])
		}
	}
}

func TestRareTermsHaveHigherWeight(t *testing.T) {
	t.Parallel()
	statistics := numbers{"a": 0, "b": 1, "c": 50, "d": 100, "e": 1000}
	last := math.Inf(1)
	for _, term := range []string{"a", "b", "c", "d"} {
		v := idf(statistics, term)
		if v <= 0 || v >= last {
			t.Errorf("%s tells %f, after %f", term, v, last)
		}
		last = v
	}
	// Concurrent deletions can make the two disagree.
	if v := idf(statistics, "e"); v != last {
		t.Errorf("more holders than units tell %f", v)
	}
}

func TestPassagesAreCountedForStatistics(t *testing.T) {
	t.Parallel()
	s := Count(New("en").analyser, []Passage{{Text: "whales and whales"}, {Text: "a whale"}, {Text: "krill"}})
	for term, want := range map[string]int{"whale": 2, "krill": 1, "and": 0, "ship": 0} {
		if got := s.Holders(term); got != want {
			t.Errorf("%d hold %q, want %d", got, term, want)
		}
	}
	if s.Units() != 3 {
		t.Errorf("%d units", s.Units())
	}
}

func TestPassagesThatOverlapAreQuotedOnce(t *testing.T) {
	t.Parallel()
	const text = "The white whale sank. The ships sank in the deep, says the white log of the whale."
	e := New("en")
	passages := []Passage{
		{DocumentID: "a", Text: text}, {DocumentID: "a", Text: text[36:], Start: 36}, {DocumentID: "b", Text: "No."},
	}
	got := e.Answer(e.Ask("Which white whale sank ships?", Talk{}, nil), passages, nil)
	for i, quote := range got.Quotes {
		for _, other := range got.Quotes[:i] {
			if quote.Start < other.End && other.Start < quote.End {
				t.Errorf("%q and %q overlap", quote.Text, other.Text)
			}
		}
	}
	if len(got.Quotes) == 0 {
		t.Error("nothing is quoted")
	}
}
