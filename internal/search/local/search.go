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
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/rank"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
	"carrel/internal/search/spelling"
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
	parsed, err := ix.parse(views, q)
	if err != nil {
		return search.Result{}, err
	}
	answer, err := rank.Search(ctx, views, ix.request(q, parsed))
	if err != nil {
		return search.Result{}, err
	}
	if q.Plain || len(answer.Hits) > 0 && !answer.Weak {
		return newResult(parts, answer, parsed)
	}
	corrected, err := spelling.Correct(ctx, vocabulary{views, q.Sources}, analysis.New(q.Language), q.Text, parsed,
		answer.Unknown)
	if err != nil {
		return search.Result{}, err
	}
	if corrected == "" {
		return newResult(parts, answer, parsed)
	}
	q.Text = corrected
	reparsed, err := ix.parse(views, q)
	if err != nil {
		return search.Result{}, err
	}
	better, err := rank.Search(ctx, views, ix.request(q, reparsed))
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

// cellsFrom is the number of passages from which a search by meaning is approximate. Below it, comparing all passages
// takes less time than ranking by words.
const cellsFrom = 500_000

// request adds the embedding of the query if the index has an encoder for its language.
func (ix *Index) request(q search.Query, parsed query.Parsed) rank.Request {
	r := rank.Request{Query: q, Parsed: parsed}
	byMeaning := q.VectorWeight > 0 && !q.Plain && !parsed.Exact() && search.HasMeaning(q.Text)
	if e := ix.encoder; byMeaning && e.Covers(q.Language) {
		r.Vector, r.Model, r.LeastCosine = e.Embed([]string{q.Text})[0], e.Model, e.LeastCosine
		r.CellsFrom = ix.cellsFrom
	}
	return r
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

// parse parses a query. Single Han characters are searched besides pairs only if a passage holds one of the pairs:
// characters alone match texts that hold them in another order.
func (ix *Index) parse(views []rank.View, q search.Query) (query.Parsed, error) {
	in := ix.indexers.take()
	parsed := query.Parse(in.analyser(q.Language), q.Text)
	ix.indexers.give(in)
	var pairs []string
	for _, t := range parsed.Terms {
		if _, _, ok := analysis.Pair(t.Text); ok {
			pairs = append(pairs, t.Text)
		}
	}
	if len(pairs) == 0 {
		return parsed, nil
	}
	_, holders, err := rank.Statistics(views, q.Sources, pairs)
	if err != nil || slices.Max(holders) == 0 {
		return parsed, err
	}
	return parsed.WithCharacters(), nil
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
			ByMeaning: h.ByMeaning,
		}
	}
	return out, nil
}

func isDamage(err error) bool { return errors.Is(err, segment.ErrDamaged) }
