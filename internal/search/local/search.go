// Package local is the search engine in the data folder of a node.
//
// An Index is a folder of immutable segments, each of which covers a span of the change log. A Follower applies new
// changes, merges segments and looks for damage. Anything the index lacks, because it is new, was deleted or is
// damaged, is Missing and read again from the log, while searches use the rest.
package local

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/search"
	"carrel/internal/search/local/rank"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
)

// Search returns the documents that match a query.
func (ix *Index) Search(ctx context.Context, q search.Query) (search.Result, error) {
	var result search.Result
	err := ix.read(ctx, func(s *snapshot) (err error) {
		result, err = ix.search(ctx, s, q)
		return err
	})
	if err != nil {
		return search.Result{}, fmt.Errorf("search: %w", err)
	}
	return result, nil
}

// read calls f with the snapshot that searches read. If f finds a damaged segment, the segment is dropped from the
// index and f runs again on the rest.
func (ix *Index) read(ctx context.Context, f func(*snapshot) error) error {
	for {
		s, err := ix.acquire()
		if err != nil {
			return err
		}
		err = catchFaults(func() error { return f(s) })
		again := isDamage(err) && ix.dropDamaged(ctx, s)
		s.release()
		if !again {
			return err
		}
	}
}

// search ranks the documents of a snapshot. If the query finds nothing or only weak matches because of unknown words,
// it tries again with their spelling corrected.
func (ix *Index) search(ctx context.Context, s *snapshot, q search.Query) (search.Result, error) {
	parts := s.files()
	views, err := viewsOf(parts)
	if err != nil {
		return search.Result{}, err
	}
	parsed := ix.parse(q)
	answer, err := rank.Search(ctx, views, rank.Request{Query: q, Parsed: parsed})
	if err != nil {
		return search.Result{}, err
	}
	if len(answer.Hits) > 0 && !answer.Weak {
		return newResult(parts, answer, parsed)
	}
	corrected, err := newSpeller(views, q).correct(ctx, q.Text, parsed, answer.Unknown)
	if err != nil {
		return search.Result{}, err
	}
	if corrected == "" {
		return newResult(parts, answer, parsed)
	}
	q.Text = corrected
	reparsed := ix.parse(q)
	better, err := rank.Search(ctx, views, rank.Request{Query: q, Parsed: reparsed})
	if err != nil {
		return search.Result{}, err
	}
	// The correction counts only if it turns nothing into something, or weak matches into good ones.
	if len(better.Hits) == 0 || len(answer.Hits) > 0 && better.Weak {
		return newResult(parts, answer, parsed)
	}
	result, err := newResult(parts, better, reparsed)
	result.Corrected = corrected
	return result, err
}

func viewsOf(parts []*part) ([]rank.View, error) {
	views := make([]rank.View, len(parts))
	for i, p := range parts {
		var err error
		if views[i], err = p.view(); err != nil {
			return nil, err
		}
	}
	return views, nil
}

func (ix *Index) parse(q search.Query) query.Parsed {
	in := ix.indexers.take()
	defer ix.indexers.give(in)
	return query.Parse(in.analyser(q.Language), q.Text)
}

// newResult resolves the documents of an answer to their ids.
func newResult(parts []*part, answer rank.Answer, parsed query.Parsed) (search.Result, error) {
	out := search.Result{Hits: make([]search.Hit, len(answer.Hits)), Facets: answer.Facets, Parsed: parsed}
	for i, h := range answer.Hits {
		f := parts[h.View].file
		id, err := f.ID(h.Doc)
		if err != nil {
			return search.Result{}, err
		}
		out.Hits[i] = search.Hit{
			ID: id, SourceID: sourceOf(f.Sources(), h.Doc), Passage: int(h.Unit - f.FirstUnits()[h.Doc]), Score: h.Score,
		}
	}
	return out, nil
}

func isDamage(err error) bool { return errors.Is(err, segment.ErrDamaged) }
