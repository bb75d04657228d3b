package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"carrel/internal/search"
)

// Rebuild makes the whole log missing. Changes are applied to a new index from now on, which replaces the present one
// when it holds as much.
func (e *Engine) Rebuild() error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	e.apply.Lock()
	defer e.apply.Unlock()
	if err := e.connect(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	serving, building := e.serving, e.building
	e.mu.Unlock()
	if building != nil {
		if err := e.client.do(ctx, http.MethodDelete, "/"+building.name, nil, nil); err != nil {
			return fmt.Errorf("delete an unfinished search index: %w", err)
		}
	}
	target := uint64(1)
	if serving != nil {
		target = max(target, serving.state.last())
	}
	next, err := e.create(ctx, e.nextAlias(), state{Target: target})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.building = next
	return nil
}

// FinishRebuild makes searches use the rebuilt index, if there is one. The caller has applied the whole log.
func (e *Engine) FinishRebuild(ctx context.Context) error {
	e.apply.Lock()
	defer e.apply.Unlock()
	e.mu.Lock()
	rebuilt := e.building != nil
	e.mu.Unlock()
	if !rebuilt {
		return nil
	}
	return e.swap(ctx)
}

// swap makes the alias of searches name the rebuilt index. The old index is deleted later, because searches may still
// be reading it.
func (e *Engine) swap(ctx context.Context) error {
	e.mu.Lock()
	serving, building := e.serving, e.building
	e.mu.Unlock()
	actions := []object{
		{"add": object{"index": building.name, "alias": e.alias()}},
		{"remove": object{"index": building.name, "alias": e.nextAlias()}},
	}
	if serving != nil {
		actions = append(actions, object{"remove": object{"index": serving.name, "alias": e.alias()}})
	}
	if err := e.client.do(ctx, http.MethodPost, "/_aliases", object{"actions": actions}, nil); err != nil {
		return fmt.Errorf("replace the search index: %w", err)
	}
	return e.connect(ctx)
}

// deleteRetired deletes indices without an alias, which no search reads any more.
func (e *Engine) deleteRetired(ctx context.Context) error {
	for name, since := range e.retired {
		if time.Since(since) < requestTimeout {
			continue
		}
		err := e.client.do(ctx, http.MethodDelete, "/"+name, nil, nil)
		if err != nil && !hasStatus(err, http.StatusNotFound) {
			return fmt.Errorf("delete an old search index: %w", err)
		}
		delete(e.retired, name)
	}
	return nil
}

// tombstoneLife is how long a tombstone is kept at least: longer than a request of a node that has lost the leadership
// can be on its way.
const tombstoneLife = time.Hour

// Purge deletes replaced indices and tombstones that are not needed any more, and erases the documents of deleted
// sources from the files of the cluster.
func (e *Engine) Purge(ctx context.Context) error {
	e.apply.Lock()
	defer e.apply.Unlock()
	if e.isClosed() {
		return search.ErrClosed
	}
	in := e.current()
	if in == nil {
		return errNotConnected
	}
	if err := e.deleteRetired(ctx); err != nil {
		return err
	}
	err := e.deleteAll(ctx, in, object{"bool": object{"filter": []object{
		// Less than: the deletion takes the next version, which the next change of the document must not have.
		{"range": object{"gone": object{"lt": in.state.through()}}},
		{"range": object{"at": object{"lt": time.Now().Add(-tombstoneLife).UnixMilli()}}},
	}}})
	if err != nil {
		return fmt.Errorf("remove tombstones from the search index: %w", err)
	}
	if !in.state.Purge {
		return nil
	}
	next := in.state.clone()
	for source, d := range in.state.Drops {
		if err := e.drop(ctx, in, source, d.Seq); err != nil {
			return err
		}
		if d.Seq < next.through() && time.Since(time.UnixMilli(d.At)) > tombstoneLife {
			delete(next.Drops, source)
		}
	}
	path := "/" + in.name + "/_forcemerge?only_expunge_deletes=true"
	if err := e.client.do(ctx, http.MethodPost, path, nil, nil); err != nil {
		return fmt.Errorf("erase deleted documents from the search index: %w", err)
	}
	next.Purge = len(next.Drops) > 0
	return e.commit(ctx, in, next)
}
