package quote

import (
	"carrel/internal/language"
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

// Form is the layout of an answer.
type Form uint8

// The forms.
const (
	Quotes     Form = iota // the best sentences
	List                   // documents, each with a sentence about the subject: "Which papers are about …?"
	Comparison             // quotes about two subjects, one after the other: "Compare … and …"
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
	// Subject is the side of a comparison that the quote belongs to. Quotes of one side are consecutive.
	Subject string
}

// Answer is the answer of the sources to a question.
type Answer struct {
	Query   Query
	Outcome Outcome
	Form    Form
	// Quotes are the best sentences, best first; none if the outcome is Nothing.
	Quotes []Quote
	// Coverage is how much of the question the best sentence and its passage hold, from 0 to 1.
	Coverage float64
	// Confidence grows with the probability that the quotes answer the question. Values of one extractor can be compared
	// with each other only.
	Confidence float64
	// Unmatched are the words of the question that no source holds, and Missing those that only the best passage lacks.
	Unmatched, Missing []string
	// FollowUps are questions about names in the quotes that other passages mention too.
	FollowUps []string
}

// Extractor answers questions in one language. It caches stems, so one extractor should be used for many questions. It
// is not safe for concurrent use.
type Extractor struct {
	analyser *analysis.Analyser
	rules    *rules
	words    *vocabulary
	ranker   Ranker
	// capitalizesNouns means that a capital does not indicate a name.
	capitalizesNouns bool
}

// New returns an extractor for questions in a language. An unknown code is read as the default language.
func New(code string) *Extractor {
	a := analysis.New(code)
	return &Extractor{
		analyser: a, rules: rulesOf(a.Language()), words: newVocabulary(a),
		capitalizesNouns: language.Lookup(a.Language()).CapitalizesNouns,
	}
}

// Ranked returns the extractor with a ranker that orders the candidate sentences; nil orders them by words. It shares
// the caches of the extractor, so the two must not be used concurrently.
func (e *Extractor) Ranked(r Ranker) *Extractor {
	ranked := *e
	ranked.ranker = r
	return &ranked
}

// Answer chooses the sentences of the passages that answer the query. The statistics cover all searched
// passages; if they are nil, the given passages are counted.
func (e *Extractor) Answer(q Query, passages []Passage, statistics Statistics) Answer {
	if statistics == nil {
		statistics = Count(e.analyser, passages)
	}
	if q.form == Comparison {
		return e.compare(q, passages, statistics)
	}
	answer := Answer{Query: q, Form: q.form}
	m := e.read(q, passages, statistics)
	if q.form == List && len(q.terms) == 0 && (q.from != 0 || q.to != 0) {
		if answer.Quotes = m.listAll(); len(answer.Quotes) > 0 {
			answer.Outcome, answer.Coverage = Answered, 1
		}
		return answer
	}
	ranked := e.rank(m)
	answer.Unmatched = m.unmatched()
	if q.form == List {
		answer.Quotes, answer.Outcome, answer.Coverage = m.list(ranked)
		return answer
	}
	if len(ranked) == 0 {
		return answer
	}
	answer.Coverage = m.coverage(ranked[0])
	answer.Confidence = m.confidence(ranked[0], answer.Coverage)
	answer.Missing = m.missing(ranked[0])
	answer.Outcome = e.outcome(m, ranked[0], answer.Confidence, statistics)
	if answer.Outcome == Nothing {
		return answer
	}
	answer.Quotes = m.quotes(m.choose(ranked))
	answer.FollowUps = e.suggest(m, answer.Quotes)
	return answer
}

// outcome judges the best sentence.
func (e *Extractor) outcome(m *material, best int, confidence float64, statistics Statistics) Outcome {
	limits := thresholdsOf(e.analyser.Language(), m.query.Question)
	if m.logits != nil {
		limits = rankedThresholds
	}
	switch {
	case m.query.bare && m.query.shown != nil: // "Who else?" shares no words with its answer
		return Closest
	case confidence >= limits.answered && !m.holdsOneOfTwo(best) && m.holdsKind(best) && !m.lacksWords():
		return Answered
	case confidence >= limits.closest:
		return Closest
	case m.named(best, statistics), m.answersBareQuestion(best), m.ofSubject(best), m.opens(best):
		return Closest
	}
	return Nothing
}

// Ranked is a sentence of a passage with its score.
type Ranked struct {
	Passage    int // index of the passage
	Start, End int // in the passage's text
	Score      float64
}

// Rank returns all sentences that share a word with the query or that the ranker was given, best first.
func (e *Extractor) Rank(q Query, passages []Passage, statistics Statistics) []Ranked {
	if statistics == nil {
		statistics = Count(e.analyser, passages)
	}
	m := e.read(q, passages, statistics)
	order := e.rank(m)
	out := make([]Ranked, len(order))
	for i, at := range order {
		s := &m.sentences[at]
		out[i] = Ranked{Passage: s.passage, Start: s.Body, End: s.End, Score: s.score}
	}
	return out
}
