// Package search finds and ranks documents.
//
// Scan is the plain answer to a search: it reads every document given and scores each one. It is slow on large
// libraries and easy to believe, which makes it the measure that an index is held to.
package search

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Document is what is searched. Year 0 means undated. Ids must differ: they decide between equal scores.
type Document struct {
	ID       string
	SourceID string
	Title    string
	Text     string
	DOI      string
	Authors  []string
	Year     int
}

// Query is what is asked. A year of 0 leaves that side open; the bounds belong to the range. Facets asks for
// Total and Years.
type Query struct {
	Text     string
	Limit    int
	FromYear int
	ToYear   int
	Facets   bool
}

// Hit is a document that answers the query. Its text is not kept: load the documents of the hits and let a
// Highlighter make their snippets.
type Hit struct {
	ID       string
	SourceID string
	Score    float64
}

// YearCount is how many of the results are of one year.
type YearCount struct {
	Year  int
	Count int
}

// Result is the answer to a query.
//
// Hits holds the best documents with at least one of the query's terms, so that a long question still finds the
// document that answers a part of it. Total counts the documents worth counting: those that hold at least half of
// the query's IDF mass or are named by it, and those listed in Hits; it is therefore never less than len(Hits).
// Years splits Total by year, ascending; undated documents are in Total alone.
type Result struct {
	Hits  []Hit
	Total int
	Years []YearCount
	// UndatedExcluded is how many documents worth counting were left out because a year bound was given and they
	// have no year.
	UndatedExcluded int
}

// Scan ranks the documents by BM25F. Averages and document frequencies are those of all documents given, so that
// a year bound changes which documents are listed and not how they score.
//
// A document whose whole title is the query comes first. A query that is the DOI of a document names that work:
// it is then the only result. An error of the iterator ends the scan and is returned.
func Scan(documents iter.Seq2[Document, error], q Query) (Result, error) {
	r := newRanker(q.Text)
	if len(r.query.words) == 0 {
		return Result{}, nil
	}
	for document, err := range documents {
		if err != nil {
			return Result{}, fmt.Errorf("read documents to search: %w", err)
		}
		r.add(&document)
	}
	return collect(r.rank(), q), nil
}

// collect applies the year bounds to the ranked matches, lists the first of them and counts those worth counting.
func collect(ranked []match, q Query) Result {
	var result Result
	years := make(map[int]int)
	for _, m := range ranked {
		if !q.holds(m.year) {
			if m.year == 0 && m.strong {
				result.UndatedExcluded++
			}
			continue
		}
		listed := len(result.Hits) < q.Limit
		if listed {
			result.Hits = append(result.Hits, Hit{ID: m.id, SourceID: m.sourceID, Score: m.score})
		}
		if q.Facets && (listed || m.strong) {
			result.Total++
			if m.year != 0 {
				years[m.year]++
			}
		}
	}
	for _, year := range slices.Sorted(maps.Keys(years)) {
		result.Years = append(result.Years, YearCount{Year: year, Count: years[year]})
	}
	return result
}

// holds reports whether a document of this year is within the bounds. An undated one is within none.
func (q Query) holds(year int) bool {
	if q.FromYear == 0 && q.ToYear == 0 {
		return true
	}
	return year != 0 && year >= q.FromYear && (q.ToYear == 0 || year <= q.ToYear)
}
