// Package indexed searches the documents of a test database with a real index, which it brings up to date before every
// search. A server indexes in the background; a test has to find a document right after storing it.
package indexed

import (
	"context"
	"math"
	"sync"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/local"
	"carrel/internal/store"
)

// Engine searches the documents of a database.
type Engine struct {
	db    *store.DB
	index *local.Index
	// updating serialises catchUp.
	updating sync.Mutex
}

// Open returns an engine with an empty index, which is closed when the test ends.
func Open(t testing.TB, db *store.DB) *Engine {
	t.Helper()
	index, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	return &Engine{db: db, index: index}
}

// Search brings the index up to date and searches it.
func (e *Engine) Search(ctx context.Context, q search.Query) (search.Result, error) {
	if err := e.catchUp(ctx); err != nil {
		return search.Result{}, err
	}
	return e.index.Search(ctx, q)
}

// Statistics brings the index up to date and counts the passages that hold each term.
func (e *Engine) Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error) {
	if err := e.catchUp(ctx); err != nil {
		return search.Statistics{}, err
	}
	return e.index.Statistics(ctx, sources, terms)
}

// catchUp applies the changes that are stored but not indexed.
func (e *Engine) catchUp(ctx context.Context) error {
	e.updating.Lock()
	defer e.updating.Unlock()
	head, err := e.db.Head(ctx)
	if err != nil {
		return err
	}
	span, missing := e.index.Missing(head)
	if !missing {
		return nil
	}
	changes, err := e.db.Changes(ctx, span.After, span.Through, math.MaxInt32)
	if err != nil {
		return err
	}
	return e.index.Apply(ctx, span, changes)
}
