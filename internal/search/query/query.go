package query

import (
	"slices"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/search/analysis"
)

// Parsed is a search text made ready.
type Parsed struct {
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
	// Words are the words that the terms were made of, in order and apart from each other, for spelling. Scripts
	// without spaces have none.
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

// maxTerse is how many words beside its quotations a query of terms may have. One with more is written as prose.
const maxTerse = 8

// Parse reads the text of a query. The package comment describes the language.
func Parse(a *analysis.Analyser, text string) Parsed {
	q := Parsed{Stops: true, DOIKey: DOIKey(text)}
	parts := slices.Collect(pieces(text))
	beside := 0 // words that are not after an operator
	for i := range parts {
		p := &parts[i]
		p.tokens = slices.Collect(a.Tokens(p.text))
		// Stop words count only where the query asks for nothing else.
		q.Stops = q.Stops && (p.exclude || p.onlyStops())
		if !p.operator {
			beside += len(p.tokens)
		}
	}
	if beside > maxTerse {
		for i := range parts {
			// In a sentence marks quote a word or a name; they do not ask for it.
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

// demand adds what an operator asks for.
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

// score adds the words of a piece to those that score.
func (q *Parsed) score(p *piece, places map[string]int) {
	// Stop words that an operator asks for by themselves are meant, whatever else the query holds. Texts have none.
	stops := q.Stops || p.operator && p.field != Text && p.onlyStops()
	runes := []rune(p.text)
	for _, token := range p.tokens {
		if token.Stop && !stops {
			continue
		}
		term := termOf(token)
		place, known := places[term]
		if !known {
			place = len(q.Terms)
			places[term] = place
			q.Terms = append(q.Terms, Term{Text: term})
		}
		q.Terms[place].Count++
		q.Sequence = append(q.Sequence, place)
		q.spell(Word{
			Text: string(runes[token.Start:token.End]), Start: p.start + token.Start, End: p.start + token.End, Term: term,
		})
	}
}

// spell adds a word that can be spelled wrong. Bigrams are none, nor is what one character stands for beside others
// ("½" is 1 and 2).
func (q *Parsed) spell(w Word) {
	first, _ := utf8.DecodeRuneInString(w.Text)
	if n := len(q.Words); analysis.IsUnspaced(first) || n > 0 && w.Start < q.Words[n-1].End {
		return
	}
	q.Words = append(q.Words, w)
}

// TitleKey returns a number that titles with the same words have in common, whatever their case, accents and
// punctuation; 0 for a title without a word.
func TitleKey(a *analysis.Analyser, title string) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	empty := true
	for w := range a.Words(title) {
		empty = false
		_, _ = digest.Write(w.Folded) // a hash takes everything
		_, _ = digest.Write(separator)
	}
	if empty {
		return 0
	}
	return max(1, digest.Sum64())
}

var separator = []byte{0}
