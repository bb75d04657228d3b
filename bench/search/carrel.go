package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"carrel/internal/search"
	"carrel/internal/search/local"
)

const (
	// carrelSource is the source of all documents.
	carrelSource = "src"
	// carrelLanguage is the language of documents and queries.
	carrelLanguage = "en"
	// spanSize is the number of documents of a new segment, as in a server that rebuilds its index.
	spanSize = 16_000
)

// carrelEngine is Carrel's index, filled like a server without an index: segments are built in parallel and merged
// meanwhile.
type carrelEngine struct {
	index   *local.Index
	through uint64 // number of the last indexed change
	waiting []search.Change
}

func makeCarrel(dir string) (engine, error) { return openCarrel(dir) }

func openCarrel(dir string) (engine, error) {
	// The index logs only damage, which readers of the report should see.
	index, err := local.Open(dir, local.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, err
	}
	return &carrelEngine{index: index}, nil
}

func (e *carrelEngine) add(ctx context.Context, papers []paper) error {
	for _, p := range papers {
		e.waiting = append(e.waiting, search.Change{
			Seq: e.through + uint64(len(e.waiting)) + 1, Op: search.Put, ID: p.ID,
			Document: search.Document{
				ID: p.ID, SourceID: carrelSource, Title: p.Title, Text: p.Text, DOI: p.DOI,
				Language: carrelLanguage, Authors: p.Authors, Year: p.Year,
			},
		})
	}
	if len(e.waiting) < spanSize*runtime.GOMAXPROCS(0) {
		return nil
	}
	return e.flush(ctx)
}

// flush builds segments from all pending documents, one per processor, and merges older ones meanwhile.
func (e *carrelEngine) flush(ctx context.Context) error {
	var work sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	do := func(f func() error) {
		work.Go(func() {
			if err := f(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
		})
	}
	do(func() error { return e.merge(ctx) })
	for len(e.waiting) > 0 {
		n := min(len(e.waiting), spanSize)
		changes := e.waiting[:n:n]
		span := search.Span{After: e.through, Through: e.through + uint64(n)}
		do(func() error { return e.index.Apply(ctx, span, changes) })
		e.waiting, e.through = e.waiting[n:], span.Through
	}
	work.Wait()
	e.waiting = nil
	return errors.Join(failures...)
}

// merge runs until the merge policy has nothing to do.
func (e *carrelEngine) merge(ctx context.Context) error {
	for {
		if merged, err := e.index.Merge(ctx); err != nil || !merged {
			return err
		}
	}
}

func (e *carrelEngine) finish(ctx context.Context) error {
	if err := e.flush(ctx); err != nil {
		return err
	}
	return e.merge(ctx)
}

func (e *carrelEngine) search(ctx context.Context, r request) ([]string, error) {
	result, err := e.index.Search(ctx, search.Query{
		Text: r.text, Language: carrelLanguage, Sources: []string{carrelSource}, Limit: r.limit,
		FromYear: r.from, ToYear: r.to, Facets: r.counts,
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(result.Hits))
	for i, hit := range result.Hits {
		ids[i] = hit.ID
	}
	return ids, nil
}

func (e *carrelEngine) close() error { return e.index.Close() }
