package main

import (
	"context"
	"crypto/rand"
	"strings"

	"carrel/internal/search"
	"carrel/internal/search/opensearch"
)

// openSearchEngine is Carrel's search on an OpenSearch cluster. Every collection gets an index of its own, which stays
// in the cluster.
type openSearchEngine struct {
	carrelEngine

	remote *opensearch.Engine
}

// openOpenSearch opens a new index in a cluster, with the vectors of the built-in model if weight is not 0.
func openOpenSearch(url string, weight float64, encoder *search.Encoder) func(dir string) (engine, error) {
	return func(string) (engine, error) {
		remote, err := opensearch.New(opensearch.Options{
			URLs: []string{url}, Identity: "bench-" + strings.ToLower(rand.Text()), Shards: 1, Encoder: encoder,
		})
		if err != nil {
			return nil, err
		}
		e := &openSearchEngine{remote: remote}
		e.weight = weight
		return e, remote.Connect(context.Background())
	}
}

func (e *openSearchEngine) add(ctx context.Context, papers []paper) error {
	changes := e.changes(papers, make([]*search.Vectors, len(papers)))
	span := search.Span{After: e.through, Through: e.through + uint64(len(changes))}
	e.through = span.Through
	return e.remote.Apply(ctx, span, changes)
}

func (e *openSearchEngine) finish(context.Context) error { return nil }

func (e *openSearchEngine) search(ctx context.Context, r request) ([]string, error) {
	return idsOf(e.remote.Search(ctx, e.query(r)))
}

func (e *openSearchEngine) close() error { return e.remote.Close() }
