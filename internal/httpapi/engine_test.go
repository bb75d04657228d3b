package httpapi_test

import (
	"context"
	"sync"

	"carrel/internal/search"
	"carrel/internal/testkit/indexed"
)

// engine searches an index that is always up to date, with overrides for tests.
type engine struct {
	*indexed.Engine
	// indexed maps the id of a source to the number of documents that an index would hold.
	indexed sync.Map
	// overrides maps the text of a query to a func(*search.Result).
	overrides sync.Map
}

func (e *engine) Search(ctx context.Context, q search.Query) (search.Result, error) {
	out, err := e.Engine.Search(ctx, q)
	if override, ok := e.overrides.Load(q.Text); ok {
		override.(func(*search.Result))(&out)
	}
	return out, err
}

func (e *engine) Indexed(sourceID string) (int, bool) {
	n, known := e.indexed.Load(sourceID)
	if !known {
		return 0, false
	}
	return n.(int), true
}
