package main

import (
	"cmp"
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
	// carrelLanguage is the language of documents and queries that name none.
	carrelLanguage = "en"
	// spanSize limits the number of documents of a new segment, as in a server that rebuilds its index.
	spanSize = 20_000
)

// carrelEngine is Carrel's index, filled like a server without an index: segments are built in parallel and merged
// meanwhile.
type carrelEngine struct {
	index    *local.Index
	weight   float64   // of vectors
	endpoint *endpoint // that computes the vectors, or nil
	through  uint64    // number of the last indexed change
	waiting  []search.Change
	span     int // number of documents of a new segment
}

// Default weights of the vectors of the built-in model and of an endpoint.
const (
	builtInWeight  = 0.3
	endpointWeight = 0.45
)

// openBuiltIn opens Carrel's index as servers do by default, with the vectors of the built-in model.
func openBuiltIn(dir string) (engine, error) {
	return openCarrel(dir, carrelEngine{weight: builtInWeight}, search.BuiltInEncoder)
}

// openWords opens an index without vectors.
func openWords(dir string) (engine, error) { return openCarrel(dir, carrelEngine{}, nil) }

// openEndpoint opens an index with the vectors of an endpoint.
func openEndpoint(of *endpoint) func(dir string) (engine, error) {
	return func(dir string) (engine, error) {
		return openCarrel(dir, carrelEngine{weight: endpointWeight, endpoint: of}, nil)
	}
}

func openCarrel(dir string, e carrelEngine, encoder *search.Encoder) (engine, error) {
	// The index logs only damage, which readers of the report should see.
	index, err := local.Open(dir, local.Options{
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Encoder: encoder,
	})
	if err != nil {
		return nil, err
	}
	e.index, e.span = index, spanSize
	return &e, nil
}

// expect implements expecting: a server knows how many documents its new index lacks.
func (e *carrelEngine) expect(n int) { e.span = local.EvenBatch(n, runtime.GOMAXPROCS(0), spanSize) }

func (e *carrelEngine) add(ctx context.Context, papers []paper) error {
	vectors, err := e.endpoint.vectors(ctx, papers)
	if err != nil {
		return err
	}
	e.waiting = append(e.waiting, e.changes(papers, vectors)...)
	if len(e.waiting) < e.span*runtime.GOMAXPROCS(0) {
		return nil
	}
	return e.flush(ctx)
}

// changes returns the changes that store the papers, after those that are waiting.
func (e *carrelEngine) changes(papers []paper, vectors []*search.Vectors) []search.Change {
	out := make([]search.Change, len(papers))
	for i, p := range papers {
		out[i] = search.Change{
			Seq: e.through + uint64(len(e.waiting)+i) + 1, Op: search.Put, ID: p.ID,
			Document: search.Document{
				ID: p.ID, SourceID: carrelSource, Title: p.Title, Text: p.Text, DOI: p.DOI,
				Language: cmp.Or(p.Language, carrelLanguage), Authors: p.Authors, Year: p.Year,
				Vectors: vectors[i],
			},
		}
	}
	return out
}

// flush builds a segment per processor from the waiting documents, and merges older ones meanwhile. The segments get
// about the same amount of text: in a server, a builder that is done takes the next batch and does not wait for others.
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
	for _, changes := range divide(e.waiting, runtime.GOMAXPROCS(0)) {
		span := search.Span{After: e.through, Through: e.through + uint64(len(changes))}
		do(func() error { return e.index.Apply(ctx, span, changes) })
		e.through = span.Through
	}
	work.Wait()
	e.waiting = nil
	return errors.Join(failures...)
}

// divide divides changes into at most n parts with about the same amount of text.
func divide(changes []search.Change, n int) [][]search.Change {
	size := func(c search.Change) int { return len(c.Document.Title) + len(c.Document.Text) }
	total := 0
	for _, c := range changes {
		total += size(c)
	}
	var parts [][]search.Change
	first, sum := 0, 0
	for i, c := range changes {
		sum += size(c)
		if last := i == len(changes)-1; last || sum*n >= total*(len(parts)+1) && len(parts) < n-1 {
			parts = append(parts, changes[first:i+1:i+1])
			first = i + 1
		}
	}
	return parts
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
	q := e.query(r)
	if err := e.endpoint.query(ctx, &q); err != nil {
		return nil, err
	}
	return idsOf(e.index.Search(ctx, q))
}

func (e *carrelEngine) query(r request) search.Query {
	return search.Query{
		Text: r.text, Language: cmp.Or(r.language, carrelLanguage), Sources: []string{carrelSource}, Limit: r.limit,
		FromYear: r.from, ToYear: r.to, Facets: r.counts,
		VectorWeight: e.weight,
	}
}

// idsOf returns the ids of the hits.
func idsOf(result search.Result, err error) ([]string, error) {
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
