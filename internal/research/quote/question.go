package quote

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/language"
	"carrel/internal/lazyregexp"
	"carrel/internal/search/query"
)

// maxTerms limits the work for one question.
const maxTerms = 48

// Query is a parsed question.
type Query struct {
	Question string
	// Text is the search text: the question and Added.
	Text string
	// Added are words of the conversation that complete the question. They have a lower weight.
	Added []string

	// bare means that the subject of the question comes from the conversation: "When?"
	bare bool
	// known are the documents that the question refers to, if it depends on the conversation.
	known    []string
	terms    []term
	sequence []int // indexes in terms, in the order of the question
	kind     kind
	units    map[string]bool // units of the number that is asked for; empty if any will do
	form     Form
	// from and to limit the years of publication of the listed documents; 0 means no limit.
	from, to int
	// sides are the subjects of a comparison.
	sides []string
	// avoid are terms of the other side of a comparison.
	avoid []term
	// shown are quotes that must not be repeated: "Who else?"
	shown []Quote
}

// Form returns the form of the answer. A List without Words and Years is a list of all documents.
func (q Query) Form() Form { return q.form }

// Years returns the years of publication, both included, to which a list of documents is limited; 0 means no limit. The
// search should be limited to them. A question without Words then asks for all documents of these years.
func (q Query) Years() (from, to int) { return q.from, q.to }

// term is a term of the question.
type term struct {
	text string
	word string // original word
	// weight is 1 for words of the question, and less for added ones.
	weight float64
	name   bool // is capitalized, and not because it begins the sentence
	weak   bool // describes how something is asked rather than what
}

// Ask parses a question. The conversation before it may complete it; the statistics, which may be nil, decide by which
// words.
func (e *Extractor) Ask(question string, before Talk, statistics Statistics) Query {
	q := Query{Question: question, Text: question, kind: e.words.kindOf(question)}
	q.terms, q.sequence = e.termsOf(question)
	for i := range q.terms {
		q.terms[i].weight = 1
	}
	words := plainWords(question)
	e.lessenExceptions(&q, words)
	if q.sides = e.words.sides(question); q.sides != nil {
		q.form = Comparison
	} else if e.words.asksForList(words) {
		e.makeList(&q, words)
	}
	switch q.kind {
	case anything:
		q.kind = e.explanation(&q, words)
	case name:
		if e.asksWhoSomeoneIs(&q, words) {
			q.kind = definition
		}
	case number:
		for _, u := range e.words.units {
			if find(words, u.phrase) >= 0 {
				q.units = u.terms
			}
		}
	}
	if before.Question != "" && slices.ContainsFunc(words, func(w string) bool { return e.words.more[w] }) {
		q.shown = before.Quoted
		before.Titles = nil // their words would find the same again
	}
	e.complete(&q, before, statistics)
	q.Text = strings.Join(append([]string{q.Text}, spellings(words, question)...), " ")
	if slices.ContainsFunc(q.terms, func(t term) bool { return !t.weak }) {
		for i := range q.terms {
			if t := &q.terms[i]; t.weak && !t.name {
				t.weight = min(t.weight, weakWeight)
			}
		}
	}
	return q
}

// weakWeight is the weight of a slight word next to others.
const weakWeight = 0.3

// Words returns how many words of the question describe its subject, without added ones.
func (q Query) Words() int {
	n := 0
	for _, t := range q.terms {
		if t.weight == 1 {
			n++
		}
	}
	return n
}

// subjectWords returns how many words, including added ones, describe the subject of the question.
func (q *Query) subjectWords() int {
	n := 0
	for _, t := range q.terms {
		if !t.weak {
			n++
		}
	}
	return n
}

// possessive matches the s after a name, which would be a separate and very frequent word.
var possessive = lazyregexp.New(`(\pL)['’][sS]\b`)

// termsOf returns the distinct terms of a question and their sequence. Stop words, pronouns and filler words are left
// out.
func (e *Extractor) termsOf(question string) ([]term, []int) {
	if e.analyser.Language() == language.Default {
		question = possessive.ReplaceAllString(question, "$1")
	}
	parsed := query.Parse(e.analyser, unspacedFrame.Replace(question))
	if parsed.Stops {
		return nil, nil
	}
	var terms []term
	places := make(map[int]int)
	for i, t := range parsed.Terms {
		if len(terms) < maxTerms && !e.words.fillers[t.Text] {
			places[i] = len(terms)
			terms = append(terms, term{text: t.Text, word: e.analyser.Surface(t.Text), weak: e.words.weak[t.Text]})
		}
	}
	seen := make(map[string]bool)
	for _, w := range parsed.Words {
		i := slices.IndexFunc(terms, func(t term) bool { return t.text == w.Term })
		if i < 0 || seen[w.Term] {
			continue
		}
		seen[w.Term] = true
		terms[i].word = w.Text
		// A capital at the beginning is ambiguous, several are not: "NASA".
		first := []rune(w.Text)
		terms[i].name = unicode.IsUpper(first[0]) && (w.Start > 0 || len(first) > 1 && unicode.IsUpper(first[1]))
	}
	var sequence []int
	for _, i := range parsed.Sequence {
		if place, ok := places[i]; ok {
			sequence = append(sequence, place)
		}
	}
	return terms, sequence
}
