package quote

import (
	"carrel/internal/search/analysis"
)

// Passage is a found part of a document.
type Passage struct {
	DocumentID, SourceID string
	Title                string
	Year                 int // 0 if unknown
	Text                 string
	Start                int // code point offset in the document
	Page                 int // 0 if the document has no pages
	Heading              string
	// Score is the score of the search, on any scale; 0 if unknown.
	Score float64
}

// Outcome is how well the sources answer a question.
type Outcome uint8

// The outcomes.
const (
	Nothing  Outcome = iota // no passage is about the question
	Closest                 // the quotes are about the question, but may not answer it
	Answered                // the quotes answer the question, judging by words
)

// Quote is a verbatim part of a document.
type Quote struct {
	DocumentID, SourceID string
	Title                string
	Year                 int
	Page                 int
	Heading              string
	Text                 string
	Start, End           int // in the document, the end exclusive
}

// Answer is the answer of the sources to a question.
type Answer struct {
	Query   Query
	Outcome Outcome
	// Quotes are the best sentences, best first; none if the outcome is Nothing.
	Quotes []Quote
	// Coverage is how much of the question the best sentence and its passage hold, from 0 to 1.
	Coverage float64
	// Unmatched are the words of the question that no source holds, and Missing those that only the best passage lacks.
	Unmatched, Missing []string
	// FollowUps are questions about names in the quotes that other passages mention too.
	FollowUps []string
}

// Coverage thresholds for an answered question and for passages about it. They were measured with questions whose
// passage was removed; package xquad counts how often they are right.
const (
	answeredCoverage = 0.6
	closestCoverage  = 0.4
)

// Extractor answers questions in one language. It caches stems, so one extractor should be used for many questions. It
// is not safe for concurrent use.
type Extractor struct {
	analyser *analysis.Analyser
	rules    *rules
	words    *vocabulary
}

// New returns an extractor for questions in a language. An unknown code is read as the default language.
func New(language string) *Extractor {
	a := analysis.New(language)
	return &Extractor{analyser: a, rules: rulesOf(a.Language()), words: newVocabulary(a)}
}

// Answer chooses the sentences of the passages that answer the query. The statistics cover all searched
// passages; if they are nil, the given passages are counted.
func (e *Extractor) Answer(q Query, passages []Passage, statistics Statistics) Answer {
	answer := Answer{Query: q}
	if statistics == nil {
		statistics = Count(e.analyser, passages)
	}
	m := e.read(q, passages, statistics)
	ranked := m.rank()
	answer.Unmatched = m.unmatched()
	if len(ranked) == 0 {
		return answer
	}
	answer.Coverage = m.coverage(ranked[0])
	answer.Missing = m.missing(ranked[0])
	switch {
	case answer.Coverage >= answeredCoverage && !m.holdsOneOfTwo(ranked[0]):
		answer.Outcome = Answered
	case answer.Coverage >= closestCoverage:
		answer.Outcome = Closest
	case m.named(ranked[0], statistics), m.answersBareQuestion(ranked[0]):
		answer.Outcome = Closest
	default:
		return answer
	}
	answer.Quotes = m.quotes(m.choose(ranked))
	answer.FollowUps = e.suggest(m, answer.Quotes)
	return answer
}

// Ranked is a sentence of a passage with its score.
type Ranked struct {
	Passage    int // index of the passage
	Start, End int // in the passage's text
	Score      float64
}

// Rank returns all sentences that share a word with the query, best first.
func (e *Extractor) Rank(q Query, passages []Passage, statistics Statistics) []Ranked {
	if statistics == nil {
		statistics = Count(e.analyser, passages)
	}
	m := e.read(q, passages, statistics)
	order := m.rank()
	out := make([]Ranked, len(order))
	for i, at := range order {
		s := &m.sentences[at]
		out[i] = Ranked{Passage: s.passage, Start: s.Body, End: s.End, Score: s.score}
	}
	return out
}
