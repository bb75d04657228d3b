// Package search is the vocabulary of document search and the interface of its engines.
//
// A Query goes to an Engine, which returns a Result: ranked hits, counts by year and source, and a corrected query
// where the original was misspelt. A Highlighter then cuts snippets from the documents. Service adds query embeddings,
// and fails as unavailable while no engine is open.
//
// Documents live in the database, and an engine holds a copy derived from their change log (Log): Missing returns a
// span of the log that the engine does not hold yet, and Apply adds it. The engines are search/local, an index in the
// data folder, and search/opensearch, a cluster that all nodes share. Package searchtest is their acceptance suite.
package search

import (
	"cmp"

	"carrel/internal/search/query"
)

// Query is a search request. A year of 0 leaves that side of the range open; both bounds are inclusive.
type Query struct {
	Text string
	// Language is the ISO 639-1 code by which Text is analysed; English if it is empty or unknown.
	Language string
	// Sources are the ids of the sources to search. An engine searches no others, so none finds nothing.
	Sources          []string
	Limit            int
	FromYear, ToYear int
	// Facets requests Total, Years and Sources, which cost a second pass over the matches.
	Facets bool
	// Plain searches for the exact words of Text, without an embedding and without correcting the spelling.
	Plain bool
	// Vector is the embedding of Text by Model, or nil. An engine with an Encoder computes it itself.
	Vector []float32
	Model  string
	// VectorWeight is the weight of embeddings in the ranking, from 0, words alone, to 1.
	VectorWeight float64
}

// Bounded reports whether the query limits the years.
func (q Query) Bounded() bool { return q.FromYear != 0 || q.ToYear != 0 }

// Covers reports whether a document of this year, 0 for undated, is within the bounds.
func (q Query) Covers(year int) bool {
	return !q.Bounded() || year != 0 && year >= q.FromYear && year <= cmp.Or(q.ToYear, year)
}

// Hit is a matching document and its best passage, as an index into analysis.Passages of its text.
type Hit struct {
	ID       string
	SourceID string
	Passage  int
	Score    float64
	// ByMeaning is set if the document holds no word of the query and was found by its embedding alone.
	ByMeaning bool
}

// YearCount is the number of counted documents of one year.
type YearCount struct{ Year, Count int }

// SourceCount is the number of counted documents in one source.
type SourceCount struct {
	SourceID string
	Count    int
}

// Facets count the documents that match a query. Without Query.Facets only UndatedExcluded is set.
type Facets struct {
	// Total is the number of documents that hold at least half of the query's IDF weight, and of those in the hits; it
	// is never less than the number of hits.
	Total int
	// Years splits Total by year, ascending, without undated documents.
	Years []YearCount
	// Sources splits Total by source.
	Sources []SourceCount
	// UndatedExcluded counts the documents that matched but were left out because the query is bounded and they have
	// no year.
	UndatedExcluded int
}

// Result is the answer to a query.
type Result struct {
	// Hits are the best documents with at least one term of the query, so that a long question still finds a document
	// that answers part of it.
	Hits []Hit
	Facets
	// Corrected is the text that was searched instead of a misspelt one, "" if there was no correction.
	Corrected string
	// Parsed is the query that was searched, for NewHighlighter.
	Parsed query.Parsed
	// EmbeddingFailed is set when the query should have had an embedding but was ranked by words alone.
	EmbeddingFailed bool
	// WordsOnly is set if documents that hold no word of the query may be missing, because the engine does not find
	// documents by their embeddings alone.
	WordsOnly bool
}

// Statistics hold the frequencies of terms in the searched sources.
type Statistics struct {
	// Passages is the number of passages.
	Passages int
	// Holders is the number of passages that hold each term.
	Holders map[string]int
}
