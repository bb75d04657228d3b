// Package search finds and ranks documents.
//
// An Index is a folder of immutable segments, each of which covers a span of the documents' change log; a Follower
// keeps it in step with the log. The documents in the database are the truth. Whatever the index does not hold, for
// being new, deleted or damaged, is Missing and filled in again from the log, while searches are answered from the
// rest.
package search

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/search/query"
	"carrel/internal/search/rank"
	"carrel/internal/search/segment"
)

// Query is what is asked. A year of 0 leaves that side open; the bounds belong to the range.
type Query struct {
	Text     string
	Language string
	// Sources are those to search: none finds nothing.
	Sources  []string
	Limit    int
	FromYear int
	ToYear   int
	// Facets asks for Total, Years and Sources.
	Facets bool
	// Vector is the query's embedding by Model, nil for none.
	Vector []float32
	Model  string
}

// Hit is a document that answers the query, and which of its passages does so best.
type Hit struct {
	ID       string
	SourceID string
	Passage  int
	Score    float64
}

// YearCount is how many of the results are of one year.
type YearCount struct {
	Year  int
	Count int
}

// SourceCount is how many of the results are of one source.
type SourceCount struct {
	SourceID string
	Count    int
}

// Result is the answer to a query: see rank.Answer for what is counted.
type Result struct {
	Hits    []Hit
	Total   int
	Years   []YearCount
	Sources []SourceCount
	// UndatedExcluded is how many documents worth counting were left out because a year bound was given and they
	// have no year.
	UndatedExcluded int
	// Corrected is the query that was answered in place of a misspelt one, "" when it is the one asked.
	Corrected string
}

// Search answers a query from what the index holds at this moment. A segment that turns out to be damaged is
// dropped, and the rest answers.
func (ix *Index) Search(ctx context.Context, q Query) (Result, error) {
	for {
		s, err := ix.acquire()
		if err != nil {
			return Result{}, err
		}
		var result Result
		err = guard(func() (err error) {
			result, err = ix.search(ctx, s, q)
			return err
		})
		again := isDamage(err) && ix.dropDamaged(ctx, s)
		s.release()
		if err == nil {
			return result, nil
		}
		if !again {
			return Result{}, fmt.Errorf("search: %w", err)
		}
	}
}

// search answers a query from a snapshot, and where that finds little for being misspelt, what was likely meant.
func (ix *Index) search(ctx context.Context, s *snapshot, q Query) (Result, error) {
	parts := s.files()
	views := make([]rank.View, len(parts))
	for i, p := range parts {
		var err error
		if views[i], err = p.view(); err != nil {
			return Result{}, err
		}
	}
	parsed := ix.parse(q)
	answer, err := rank.Search(ctx, views, q.request(parsed))
	if err != nil {
		return Result{}, err
	}
	if len(answer.Hits) == 0 || answer.Weak {
		corrected, err := correct(ctx, views, q, parsed, answer.Unknown)
		if err != nil {
			return Result{}, err
		}
		if corrected != "" {
			meant := q
			meant.Text = corrected
			better, err := rank.Search(ctx, views, meant.request(ix.parse(meant)))
			if err != nil {
				return Result{}, err
			}
			// Something in place of nothing, or something good in place of something weak.
			if len(better.Hits) > 0 && (len(answer.Hits) == 0 || !better.Weak) {
				result, err := newResult(parts, better)
				result.Corrected = corrected
				return result, err
			}
		}
	}
	return newResult(parts, answer)
}

func (ix *Index) parse(q Query) query.Query {
	in := ix.indexers.take()
	defer ix.indexers.give(in)
	return query.Parse(in.analyser(q.Language), q.Text)
}

func (q Query) request(parsed query.Query) rank.Request {
	return rank.Request{
		Query: parsed, Sources: q.Sources, Limit: q.Limit, FromYear: q.FromYear, ToYear: q.ToYear, Facets: q.Facets,
		Vector: q.Vector, Model: q.Model,
	}
}

func newResult(parts []*part, answer rank.Answer) (Result, error) {
	out := Result{Total: answer.Total, UndatedExcluded: answer.UndatedExcluded}
	for _, h := range answer.Hits {
		f := parts[h.View].file
		id, err := f.ID(h.Doc)
		if err != nil {
			return Result{}, err
		}
		out.Hits = append(out.Hits, Hit{
			ID: id, SourceID: sourceOf(f.Sources(), h.Doc), Passage: int(h.Unit - f.FirstUnits()[h.Doc]), Score: h.Score,
		})
	}
	for _, y := range answer.Years {
		out.Years = append(out.Years, YearCount(y))
	}
	for _, s := range answer.Sources {
		out.Sources = append(out.Sources, SourceCount{SourceID: s.Source, Count: s.Count})
	}
	return out, nil
}

func isDamage(err error) bool { return errors.Is(err, segment.ErrDamaged) }
