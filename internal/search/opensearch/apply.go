package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"carrel/internal/search"
)

// tombstone replaces a deleted document. The cluster itself forgets the version of a deleted document after a minute,
// so that an older version that arrives later would come back. Purge removes tombstones that are not needed.
type tombstone struct {
	Seq uint64 `json:"gone"`
	At  int64  `json:"at"`
}

// Apply adds the changes of a missing span; see search.Engine. If it fails, the cluster may hold some of the changes.
// The span is still missing then, and applying it again completes it.
func (e *Engine) Apply(ctx context.Context, span search.Span, changes []search.Change) error {
	if span.Through <= span.After {
		return errEmptySpan
	}
	for i := range changes {
		if !span.Contains(changes[i].Seq) {
			return fmt.Errorf("apply changes to the search index: %d is not in (%d, %d]",
				changes[i].Seq, span.After, span.Through)
		}
	}
	latest, drops := latest(changes)
	converted := e.convert(latest)
	e.apply.Lock()
	defer e.apply.Unlock()
	if e.isClosed() {
		return search.ErrClosed
	}
	if e.current() == nil {
		if err := e.connect(ctx); err != nil {
			return err
		}
	}
	in := e.current()
	if in == nil {
		return errNotConnected
	}
	if in.state.covers(span) {
		return search.ErrCovered
	}
	next := in.state.clone()
	for source, seq := range drops {
		if seq > next.Drops[source].Seq {
			next.Drops[source] = dropped{Seq: seq, At: time.Now().UnixMilli()}
		}
		next.Purge = true
	}
	if err := e.write(ctx, in, &next, latest, converted, drops); err != nil {
		return fmt.Errorf("apply changes to the search index: %w", err)
	}
	next.add(span)
	return e.commit(ctx, in, next)
}

// convert returns the indexed form of the documents, in the order of the changes.
func (e *Engine) convert(changes []*search.Change) []document {
	in := e.indexers.take()
	defer e.indexers.give(in)
	out := make([]document, len(changes))
	for i, c := range changes {
		if c.Op == search.Put {
			out[i] = in.convert(c)
		}
	}
	return out
}

// write sends the changes to the cluster and makes them searchable.
func (e *Engine) write(
	ctx context.Context, in *index, s *state, changes []*search.Change, converted []document, drops map[string]uint64,
) error {
	var b bulk
	now := time.Now().UnixMilli()
	for i, c := range changes {
		var err error
		switch {
		case c.Op == search.Delete:
			err = b.index(c.ID, c.Seq, tombstone{Seq: c.Seq, At: now})
		case c.Seq > s.Drops[c.Document.SourceID].Seq:
			err = b.index(c.ID, c.Seq, converted[i])
		}
		if err != nil {
			return err
		}
	}
	if err := e.send(ctx, in, &b); err != nil {
		return err
	}
	if err := e.refresh(ctx, in); err != nil {
		return err
	}
	for source, seq := range drops {
		if err := e.drop(ctx, in, source, seq); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes the documents of a source that were put before the source was deleted.
func (e *Engine) drop(ctx context.Context, in *index, source string, seq uint64) error {
	return e.deleteAll(ctx, in, object{"bool": object{"filter": []object{
		{"term": object{"src": source}}, {"range": object{"seq": object{"lt": seq}}},
	}}})
}

// deleteBatch is how many documents are deleted at once.
const deleteBatch = 1000

// deleteAll deletes the documents that match a query, unless they change at the same time.
func (e *Engine) deleteAll(ctx context.Context, in *index, match object) error {
	for {
		var reply struct {
			Hits struct {
				Hits []struct {
					ID string `json:"_id"`
					revision
				} `json:"hits"`
			} `json:"hits"`
		}
		err := e.client.do(ctx, http.MethodPost, "/"+in.name+"/_search?allow_partial_search_results=false", object{
			"size": deleteBatch, "query": match, "_source": false, "track_total_hits": false,
			"seq_no_primary_term": true, "sort": []string{"_doc"},
		}, &reply)
		if err != nil || len(reply.Hits.Hits) == 0 {
			return err
		}
		var b bulk
		for _, h := range reply.Hits.Hits {
			err := b.add(object{"delete": object{"_id": h.ID, "if_seq_no": h.Number, "if_primary_term": h.Term}}, nil)
			if err != nil {
				return err
			}
		}
		if err := e.send(ctx, in, &b); err != nil {
			return err
		}
		if err := e.refresh(ctx, in); err != nil {
			return err
		}
	}
}

// send sends a bulk request. A version conflict means that the cluster holds a newer version, which is right.
func (e *Engine) send(ctx context.Context, in *index, b *bulk) error {
	b.cut()
	for _, part := range b.parts {
		var reply struct {
			Errors bool `json:"errors"`
			Items  []map[string]struct {
				Status int         `json:"status"`
				Error  errorDetail `json:"error"`
			} `json:"items"`
		}
		path := "/" + in.name + "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
		if err := e.client.send(ctx, http.MethodPost, path, "application/x-ndjson", part, &reply); err != nil {
			return err
		}
		if !reply.Errors {
			continue
		}
		for _, item := range reply.Items {
			for _, outcome := range item {
				switch outcome.Status {
				case http.StatusOK, http.StatusCreated, http.StatusConflict, http.StatusNotFound:
				default:
					return outcome.Error.of(outcome.Status)
				}
			}
		}
	}
	return nil
}

// refresh makes everything that was written searchable.
func (e *Engine) refresh(ctx context.Context, in *index) error {
	return e.client.do(ctx, http.MethodPost, "/"+in.name+"/_refresh", nil, nil)
}

// commit writes the state of an index. If another node has written it in the meantime, its state is read, so that the
// caller can try again.
func (e *Engine) commit(ctx context.Context, in *index, next state) error {
	at, err := e.client.writeState(ctx, in.name, next, in.at)
	if isConflict(err) {
		if again := e.connect(ctx); again != nil {
			return again
		}
		return fmt.Errorf("another node is writing the search index: %w", err)
	}
	if err != nil {
		return err
	}
	written := &index{name: in.name, model: in.model, state: next, at: at}
	e.mu.Lock()
	rebuilt := e.building != nil
	if rebuilt {
		e.building = written
	} else {
		e.serving = written
	}
	e.mu.Unlock()
	if rebuilt && next.through() >= next.Target {
		return e.swap(ctx)
	}
	return nil
}
