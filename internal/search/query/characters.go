package query

import (
	"slices"

	"carrel/internal/search/analysis"
)

// WithCharacters adds the single Han characters of the query's pairs as terms, because documents are indexed by both.
// Pairs of Han characters are removed from the sequence: they overlap, and so keep the order of the characters already.
func (q Parsed) WithCharacters() Parsed {
	hasPair := func(t Term) bool {
		_, _, ok := analysis.Pair(t.Text)
		return ok
	}
	if !slices.ContainsFunc(q.Terms, hasPair) {
		return q
	}
	q.Terms = slices.Clone(q.Terms)
	places := make(map[string]int, len(q.Terms))
	for i, t := range q.Terms {
		places[t.Text] = i
	}
	var sequence []int
	before := "" // the second character of the previous pair
	for _, i := range q.Sequence {
		text := q.Terms[i].Text
		first, second, ok := analysis.Pair(text)
		if ok && first != before && analysis.IsHan(first) {
			q.count(first, places)
		}
		if ok && analysis.IsHan(second) {
			q.count(second, places)
		}
		if !isHanPair(text) {
			sequence = append(sequence, i)
		}
		before = second
	}
	q.Sequence = sequence
	return q
}

// isHanPair reports whether a term is a pair of Han characters.
func isHanPair(term string) bool {
	first, second, ok := analysis.Pair(term)
	return ok && analysis.IsHan(first) && analysis.IsHan(second)
}

// count adds an occurrence of a term and returns its index in Terms.
func (q *Parsed) count(term string, places map[string]int) int {
	place, known := places[term]
	if !known {
		place = len(q.Terms)
		places[term] = place
		q.Terms = append(q.Terms, Term{Text: term})
	}
	q.Terms[place].Count++
	return place
}
