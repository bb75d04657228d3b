package quote

import (
	"carrel/internal/search/analysis"
)

// Passage is a part of a document that a search found.
type Passage struct {
	DocumentID, SourceID string
	Title                string
	Year                 int // 0 when it is not known
	Text                 string
	Start                int // code points of the document before the passage
	Page                 int // 0 when the document has no pages
	Heading              string
	// Score is what the search thought of the passage, on any scale; 0 when it did not say.
	Score float64
}

// Outcome is how far the sources answer a question.
type Outcome uint8

// The outcomes.
const (
	Nothing  Outcome = iota // no passage is about what is asked
	Closest                 // the quotes are about it, but may not answer
	Answered                // the quotes answer, as far as words can tell
)

// Quote is a part of a document, word for word.
type Quote struct {
	DocumentID, SourceID string
	Title                string
	Year                 int
	Page                 int
	Heading              string
	Text                 string
	Start, End           int // in the document, the end exclusive
}

// Answer is what the sources say to a question.
type Answer struct {
	Query   Query
	Outcome Outcome
	// Quotes are the best sentences, best first. There are none when the outcome is Nothing.
	Quotes []Quote
	// Coverage tells from 0 to 1 how much of the question the best sentence and its passage hold.
	Coverage float64
	// Unmatched are the words of the question that no source holds, and Missing those that the best passage does not.
	Unmatched, Missing []string
	// FollowUps are questions about what the quotes mention and the sources say more of.
	FollowUps []string
}

// Coverage from which on a question counts as answered, or the passages as being about it. Held against questions
// whose passage was taken away; the package xquad counts how often they are right.
const (
	answeredCoverage = 0.6
	closestCoverage  = 0.4
)

// Extractor answers questions in one language. It remembers the words it has read, so use one for many questions, in
// one goroutine at a time.
type Extractor struct {
	analyser *analysis.Analyser
	rules    *rules
	words    *vocabulary
}

// New returns an extractor for questions in a language, an ISO 639-1 code. One that is not known is read as English.
func New(language string) *Extractor {
	a := analysis.New(language)
	return &Extractor{analyser: a, rules: rulesOf(a.Language()), words: newVocabulary(a)}
}

// Answer chooses the sentences of the passages that answer the query. The statistics are those of everything that was
// searched; nil makes do with the passages.
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
	case answer.Coverage >= answeredCoverage && !m.halved(ranked[0]):
		answer.Outcome = Answered
	case answer.Coverage >= closestCoverage:
		answer.Outcome = Closest
	case m.named(ranked[0], statistics), m.tells(ranked[0]):
		answer.Outcome = Closest
	default:
		return answer
	}
	answer.Quotes = m.quotes(m.choose(ranked))
	answer.FollowUps = e.suggest(m, answer.Quotes)
	return answer
}

// Ranked is a sentence of a passage and what it is worth as an answer.
type Ranked struct {
	Passage    int // its place among the passages
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
