// Package indexed ranks the documents of a test's database by a real index, which it brings up to date before each
// search. A server does that in the background; a test wants to find what it has just stored.
package indexed

import (
	"context"
	"math"
	"sync"
	"testing"

	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/store"
)

// Ranker searches what a database holds.
type Ranker struct {
	db    *store.DB
	index *search.Index
	// filling lets one catch up after the other.
	filling sync.Mutex
}

// Open returns a ranker with an empty index, which is closed when the test ends.
func Open(t testing.TB, db *store.DB) *Ranker {
	t.Helper()
	index, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	return &Ranker{db: db, index: index}
}

// Rank returns the hits, and the counts where they are asked for.
func (r *Ranker) Rank(ctx context.Context, q source.Query) (source.Ranking, error) {
	if err := r.catchUp(ctx); err != nil {
		return source.Ranking{}, err
	}
	found, err := r.index.Search(ctx, search.Query{
		Text: q.Text, Language: q.Language, Sources: q.Sources, Limit: q.Limit, FromYear: q.FromYear, ToYear: q.ToYear, Facets: q.Counts,
	})
	out := source.Ranking{Total: found.Total, UndatedExcluded: found.UndatedExcluded}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, source.Hit{DocumentID: h.ID, Score: h.Score})
	}
	for _, y := range found.Years {
		out.Years = append(out.Years, source.YearCount(y))
	}
	return out, err
}

// Statistics returns how many passages there are and how many hold each term.
func (r *Ranker) Statistics(ctx context.Context, sources, terms []string) (int, []int, error) {
	if err := r.catchUp(ctx); err != nil {
		return 0, nil, err
	}
	return r.index.Statistics(ctx, sources, terms)
}

// catchUp indexes what is stored and not indexed yet.
func (r *Ranker) catchUp(ctx context.Context) error {
	r.filling.Lock()
	defer r.filling.Unlock()
	head, err := r.db.Head(ctx)
	if err != nil {
		return err
	}
	span, missing := r.index.Missing(head)
	if !missing {
		return nil
	}
	changes, err := r.db.Changes(ctx, span.After, span.Through, math.MaxInt32)
	if err != nil {
		return err
	}
	return r.index.Fill(ctx, span, changes)
}
