package query

import (
	"slices"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/search/analysis"
)

// Parsed is the parsed text of a query.
type Parsed struct {
	// Terms are the distinct scored terms in order of first appearance, including the words of phrases and fields.
	Terms []Term
	// Sequence holds the query's terms in their order, as indexes into Terms, for proximity scores.
	Sequence []int
	// Stops is set if the query consists of stop words ("the who"), which then count like any others: every term begins
	// with analysis.StopMark.
	Stops bool
	// Require and Exclude are the clauses that a document must and must not hold.
	Require, Exclude []Clause
	// TitleKey and DOIKey are set if the query may be the whole title or the DOI of a document.
	TitleKey, DOIKey uint64
	// Words are the words of the terms, in order and without overlaps, for spelling correction. Words of scripts
	// without spaces are not included.
	Words []Word
}

// Term is a term of the query and its number of occurrences there.
type Term struct {
	Text  string
	Count int
}

// Word is a word of the query with its code point offsets, the end exclusive.
type Word struct {
	Text       string
	Start, End int
	Term       string
}

// Field is a part of a document.
type Field uint8

// The fields of a clause.
const (
	Any Field = iota
	Title
	Author
	Text
)

// Clause is a phrase of one or more terms in a field. The term "" matches any single word, even if it is not
// indexed; a phrase never begins or ends with it.
type Clause struct {
	Field Field
	Terms []string
}

// Exact reports whether the query is ranked by its words alone: it has operators, is a DOI, or consists of stop words.
// An embedding has no notion of a phrase, a field or an exclusion.
func (q *Parsed) Exact() bool {
	return q.Stops || q.DOIKey != 0 || len(q.Require) > 0 || len(q.Exclude) > 0
}

// maxTerse is the maximum number of words outside of operators in a query in which quotation marks are operators. A
// longer query is prose.
const maxTerse = 8

// Parse parses a query. The package comment describes its syntax.
func Parse(a *analysis.Analyser, text string) Parsed {
	q := Parsed{Stops: true, DOIKey: DOIKey(text)}
	parts := slices.Collect(pieces(text))
	beside := 0 // words outside of operators
	for i := range parts {
		p := &parts[i]
		p.tokens = slices.Collect(a.Tokens(p.text))
		// Stop words are only scored in a query without other words.
		q.Stops = q.Stops && (p.exclude || p.onlyStops())
		if !p.operator {
			beside += len(p.tokens)
		}
	}
	if beside > maxTerse {
		for i := range parts {
			// In prose, quotation marks quote a word or a name and require nothing.
			p := &parts[i]
			p.operator = p.operator && (p.exclude || p.field != Any)
		}
	}
	plain := true
	places := make(map[string]int)
	for i := range parts {
		p := &parts[i]
		if p.operator && len(p.tokens) > 0 {
			plain = false
			q.demand(p)
		}
		if !p.exclude {
			q.score(p, places)
		}
	}
	q.Stops = q.Stops && len(q.Terms) > 0
	if plain {
		q.TitleKey = TitleKey(a, text)
	}
	return q
}

// demand adds the clause of an operator.
func (q *Parsed) demand(p *piece) {
	clause := p.clause()
	switch {
	case len(clause.Terms) == 0:
	case p.exclude:
		q.Exclude = append(q.Exclude, clause)
	default:
		q.Require = append(q.Require, clause)
	}
}

// score adds the words of a piece to the scored terms.
func (q *Parsed) score(p *piece, places map[string]int) {
	// An operator of stop words alone means them, regardless of the other words. Texts have no indexed stop words.
	stops := q.Stops || p.operator && p.field != Text && p.onlyStops()
	runes := []rune(p.text)
	for _, token := range p.tokens {
		if token.Stop && !stops {
			continue
		}
		term := termOf(token)
		q.Sequence = append(q.Sequence, q.count(term, places))
		q.spell(Word{
			Text: string(runes[token.Start:token.End]), Start: p.start + token.Start, End: p.start + token.End, Term: term,
		})
	}
}

// spell adds a word for spelling correction. It leaves out bigrams, and the second word of a single character ("½" is 1
// and 2).
func (q *Parsed) spell(w Word) {
	first, _ := utf8.DecodeRuneInString(w.Text)
	if n := len(q.Words); analysis.IsUnspaced(first) || n > 0 && w.Start < q.Words[n-1].End {
		return
	}
	q.Words = append(q.Words, w)
}

// TitleKey returns a hash that is the same for titles that differ only in case, accents and punctuation, and 0 for a
// title without words.
func TitleKey(a *analysis.Analyser, title string) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	empty := true
	for w := range a.Words(title) {
		empty = false
		_, _ = digest.Write(w.Folded) // never fails
		_, _ = digest.Write(separator)
	}
	if empty {
		return 0
	}
	return max(1, digest.Sum64())
}

var separator = []byte{0}
