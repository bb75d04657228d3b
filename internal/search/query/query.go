package query

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/search/analysis"
)

// Query is a search text made ready.
type Query struct {
	// Terms are distinct and in order of first appearance. They are what scores; words of phrases and fields are
	// among them.
	Terms []Term
	// Sequence holds the query's terms in their order, as places in Terms: what is near in the query should be near
	// in an answer.
	Sequence []int
	// Stops says that the query is of stop words alone ("the who"), which then count like any others: every term
	// begins with analysis.StopMark.
	Stops bool
	// Require and Exclude are what an answer must hold and must not hold.
	Require, Exclude []Clause
	// TitleKey and DOIKey are set when the query may be the whole title or the DOI of a document, else 0.
	TitleKey, DOIKey uint64
	// Words are the words that the terms were made of, for spelling. Scripts without spaces have none.
	Words []Word
}

// Term is a term of the query and how often the query holds it.
type Term struct {
	Text  string
	Count int
}

// Word is a word as it stands in the query's text: code point offsets, the end exclusive.
type Word struct {
	Text       string
	Start, End int
	Term       string
}

// Field is a part of a document.
type Field uint8

// The fields that a clause can be about.
const (
	Any Field = iota
	Title
	Author
	Text
)

// Clause is a phrase of one or more terms in a field. The term "" stands for any one word, or one that is not
// indexed, between others: a phrase never begins or ends with it.
type Clause struct {
	Field Field
	Terms []string
}

// Parse reads the text of a query. The package comment describes the language.
func Parse(a *analysis.Analyser, text string) Query {
	parts := slices.Collect(pieces(text))
	// Stop words count only where the query asks for nothing else.
	q := Query{Stops: true, DOIKey: DOIKey(text)}
	for i := range parts {
		p := &parts[i]
		p.tokens = slices.Collect(a.Tokens(p.text))
		q.Stops = q.Stops && (p.exclude || p.allStops())
	}
	places := make(map[string]int)
	for _, p := range parts {
		clause := p.phrase()
		switch {
		case p.exclude && len(clause.Terms) > 0:
			q.Exclude = append(q.Exclude, clause)
		case p.clause && len(clause.Terms) > 0:
			q.Require = append(q.Require, clause)
		}
		if !p.exclude {
			q.score(p, places)
		}
	}
	q.Stops = q.Stops && len(q.Terms) > 0
	if len(q.Require) == 0 && len(q.Exclude) == 0 {
		q.TitleKey = TitleKey(a, text)
	}
	return q
}

// score adds the words of a piece to those that score.
func (q *Query) score(p piece, places map[string]int) {
	// A phrase of stop words was asked for in so many words; it scores beside others too.
	stops := q.Stops || p.clause && p.allStops()
	runes := []rune(p.text)
	for _, token := range p.tokens {
		if token.Stop && !stops {
			continue
		}
		term := termOf(token)
		place, ok := places[term]
		if !ok {
			place = len(q.Terms)
			places[term] = place
			q.Terms = append(q.Terms, Term{Text: term})
		}
		q.Terms[place].Count++
		q.Sequence = append(q.Sequence, place)
		if !analysis.IsUnspaced(runes[token.Start]) {
			q.Words = append(q.Words, Word{
				Text: string(runes[token.Start:token.End]), Start: p.start + token.Start, End: p.start + token.End, Term: term,
			})
		}
	}
}

// TitleKey returns a number that titles with the same words have in common, whatever their case, accents and
// punctuation; 0 for a title without a word.
func TitleKey(a *analysis.Analyser, title string) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	empty := true
	for w := range a.Words(title) {
		empty = false
		digest.Write(w.Folded)
		digest.Write(separator)
	}
	if empty {
		return 0
	}
	return max(1, digest.Sum64())
}

var separator = []byte{0}
