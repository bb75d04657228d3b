package quote

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
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
}

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
	e.complete(&q, before, statistics)
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
var possessive = regexp.MustCompile(`(\pL)['’][sS]\b`)

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

// kind is the kind of answer that a question asks for.
type kind uint8

const (
	anything kind = iota
	number
	date
	name
	cause
)

// kindOf determines by its words what a question asks for.
func (v *vocabulary) kindOf(question string) kind {
	folded := foldWords(v.analyser, question)
	for _, asking := range v.questions {
		for _, phrase := range asking.phrases {
			if strings.Contains(folded, phrase) {
				return asking.kind
			}
		}
	}
	for _, asking := range unspacedQuestions {
		for _, phrase := range asking.phrases {
			if strings.Contains(question, phrase) {
				return asking.kind
			}
		}
	}
	return anything
}

// foldWords returns the words of a text in folded form, with a space before, between and after them. Characters of
// scripts without spaces are left out.
func foldWords(a *analysis.Analyser, text string) string {
	var folded strings.Builder
	folded.WriteByte(' ')
	for w := range a.Words(text) {
		if !w.Unspaced {
			folded.Write(w.Folded)
			folded.WriteByte(' ')
		}
	}
	return folded.String()
}

// hasKind reports whether the tokens of a sentence include something of the kind that is not a word of the question, as
// reported by asked.
func (v *vocabulary) hasKind(wanted kind, text []rune, tokens []analysis.Token, asked func(string) bool) bool {
	if wanted == anything {
		return false
	}
	for i, token := range tokens {
		first := text[token.Start]
		var found bool
		switch wanted {
		case name:
			// The first word of a sentence is always capitalized.
			found = i > 0 && !token.Stop && unicode.IsUpper(first)
		case number:
			found = unicode.IsDigit(first) || v.kinds[token.Term] == number
		case date:
			found = token.End-token.Start == 4 && (first == '1' || first == '2') || v.kinds[token.Term] == date
		default:
			found = v.kinds[token.Term] == wanted
		}
		if found && !asked(token.Term) {
			return true
		}
	}
	return false
}
