package opensearch

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/testkit"
)

// note returns the change that stores a document in the source "a".
func note(seq uint64, id, title string) search.Change {
	return search.Change{
		Seq: seq, Op: search.Put, ID: id, Document: search.Document{ID: id, SourceID: "a", Title: title},
	}
}

// apply applies changes as the span from the number before the first to the last.
func apply(t *testing.T, e *Engine, changes ...search.Change) {
	t.Helper()
	span := search.Span{After: changes[0].Seq - 1, Through: changes[len(changes)-1].Seq}
	if err := e.Apply(t.Context(), span, changes); err != nil {
		t.Fatal(err)
	}
}

// found returns how many documents a word finds in the source "a".
func found(t *testing.T, e *Engine, word string) int {
	t.Helper()
	result, err := e.Search(t.Context(), search.Query{Text: word, Sources: []string{"a"}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return len(result.Hits)
}

func TestSearchIsUnavailableWhileTheClusterIsDown(t *testing.T) {
	t.Parallel()
	node := testkit.NewOpenSearch(t)
	e := open(t, node.URL, Options{})
	apply(t, e, note(1, "n_1", "Bridges"))
	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	service := search.NewService(nil, 0, slog.New(slog.DiscardHandler))
	service.Open(e)
	_, err := service.Search(t.Context(), search.Query{Text: "bridge", Sources: []string{"a"}, Limit: 10})
	if got := core.AsError(err); got.Code != "search_unavailable" || got.RetryAfter <= 0 {
		t.Errorf("a search returned %v", err)
	}
	second := []search.Change{note(2, "n_2", "Bridges again")}
	span := search.Span{After: 1, Through: 2}
	if err := e.Apply(t.Context(), span, second); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("Apply returned %v", err)
	}
	if missing, ok := e.Missing(2); !ok || missing != span {
		t.Errorf("%v is missing after the failure, want %v", missing, span)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	// Acknowledged changes have survived, and the others can be applied now.
	if n := found(t, e, "bridge"); n != 1 {
		t.Errorf("found %d documents after the restart, want 1", n)
	}
	apply(t, e, second...)
	if n := found(t, e, "bridge"); n != 2 {
		t.Errorf("found %d documents after the second change, want 2", n)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestCommandWaitsForAnIndexThatIsStarting(t *testing.T) {
	t.Parallel()
	o := Options{URLs: []string{testkit.OpenSearch(t)}, Identity: strings.ToLower(rand.Text())}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	// The shard is not started while no node of the cluster has the attribute.
	const required = "index.routing.allocation.require.started"
	name := e.alias() + "-1"
	err = e.client.do(t.Context(), http.MethodPut, "/"+name+"?wait_for_active_shards=0", object{
		"aliases": object{e.alias(): object{}}, "settings": object{required: "yes"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Refresh(t.Context()); !hasStatus(err, http.StatusServiceUnavailable) {
		t.Fatalf("an index that is starting: %v", err)
	}
	started := make(chan error, 1)
	go func() {
		started <- e.client.do(t.Context(), http.MethodPut, "/"+name+"/_settings", object{required: nil}, nil)
	}()
	if _, err := NewNode(NodeOptions{Engine: e}).Inspect(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-started; err != nil {
		t.Error(err)
	}
}

func TestReorderedDeliveriesAreHarmless(t *testing.T) {
	t.Parallel()
	e := open(t, testkit.OpenSearch(t), Options{})
	defer func() { _ = e.Close() }()
	// The cluster forgets the versions of documents that it has deleted at once.
	err := e.client.do(t.Context(), http.MethodPut, "/"+e.alias()+"/_settings",
		object{"index": object{"gc_deletes": "0s"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, e, note(1, "n_1", "Old"), note(2, "n_2", "Old"), note(3, "n_3", "Old"))
	apply(t, e, note(4, "n_1", "New"), search.Change{Seq: 5, Op: search.Delete, ID: "n_2"},
		search.Change{Seq: 6, Op: search.Drop, ID: "a"}, note(7, "n_4", "New"))
	// A node that has lost the leadership delivers its request late.
	var late bulk
	for i, c := range []search.Change{note(1, "n_1", "Old"), note(2, "n_2", "Old")} {
		if err := late.index(c.ID, c.Seq, e.convert([]*search.Change{&c})[0]); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := e.send(t.Context(), e.current(), &late); err != nil {
		t.Fatal(err)
	}
	if err := e.refresh(t.Context(), e.current()); err != nil {
		t.Fatal(err)
	}
	if err := e.Purge(t.Context()); err != nil { // removes what came back of deleted sources
		t.Fatal(err)
	}
	if n := found(t, e, "old"); n != 0 {
		t.Errorf("%d old documents came back", n)
	}
	if n := found(t, e, "new"); n != 1 {
		t.Errorf("found %d new documents, want 1", n)
	}
}

func TestPurgeRemovesOldTombstones(t *testing.T) {
	t.Parallel()
	e := open(t, testkit.OpenSearch(t), Options{})
	defer func() { _ = e.Close() }()
	apply(t, e, note(1, "n_1", "Old"), note(2, "n_2", "Old"), note(3, "n_3", "Old"))
	var b bulk
	past := time.Now().Add(-2 * tombstoneLife).UnixMilli()
	for id, at := range map[string]int64{"n_4": past, "n_5": time.Now().UnixMilli()} {
		if err := b.index(id, 2, tombstone{Seq: 2, At: at}); err != nil {
			t.Fatal(err)
		}
	}
	in := e.current()
	if err := errors.Join(e.send(t.Context(), in, &b), e.refresh(t.Context(), in), e.Purge(t.Context())); err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Hits struct {
			Hits []hit `json:"hits"`
		} `json:"hits"`
	}
	err := e.client.do(t.Context(), http.MethodPost, "/"+in.name+"/_search",
		object{"query": object{"exists": object{"field": "gone"}}, "_source": false}, &reply)
	if err != nil || len(reply.Hits.Hits) != 1 || reply.Hits.Hits[0].ID != "n_5" {
		t.Errorf("the tombstones are %+v, %v", reply.Hits.Hits, err)
	}
}

func TestAnotherNodeGoesOnWhereTheFirstEnded(t *testing.T) {
	t.Parallel()
	e := open(t, testkit.OpenSearch(t), Options{Shards: 3})
	apply(t, e, note(1, "n_1", "Bridges"), note(2, "n_2", "Bridges"))
	stale := reopen(t, e.options)
	apply(t, e, note(3, "n_3", "Bridges"))
	// The first node does not know of the third change yet. Its attempt fails and tells it.
	err := stale.Apply(t.Context(), search.Span{After: 2, Through: 3}, []search.Change{note(3, "n_3", "Bridges")})
	if err == nil {
		t.Error("two nodes applied the same span")
	}
	err = stale.Apply(t.Context(), search.Span{After: 2, Through: 3}, []search.Change{note(3, "n_3", "Bridges")})
	if !errors.Is(err, search.ErrCovered) {
		t.Errorf("the second attempt returned %v", err)
	}
	next := reopen(t, e.options)
	if missing, ok := next.Missing(3); ok {
		t.Errorf("%v is missing", missing)
	}
	if s := next.Status(); s.Documents != 3 || s.Sources["a"] != 3 || s.Passages != 3 || s.Bytes == 0 {
		t.Errorf("the status is %+v", s)
	}
	if n := found(t, next, "bridge"); n != 3 {
		t.Errorf("found %d documents, want 3", n)
	}
	for _, engine := range []*Engine{e, stale, next} {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSearchesGoOnDuringARebuild(t *testing.T) {
	t.Parallel()
	e := open(t, testkit.OpenSearch(t), Options{})
	defer func() { _ = e.Close() }()
	changes := []search.Change{note(1, "n_1", "Bridges"), note(2, "n_2", "Ferries")}
	apply(t, e, changes...)
	ctx, stop := context.WithCancel(t.Context())
	var searching sync.WaitGroup
	for range 2 {
		searching.Go(func() {
			for ctx.Err() == nil {
				q := search.Query{Text: "bridge", Sources: []string{"a"}, Limit: 10, Facets: true}
				result, err := e.Search(t.Context(), q)
				if err != nil || len(result.Hits) != 1 || result.Total != 1 {
					t.Errorf("a search during a rebuild returned %+v, %v", result, err)
					return
				}
			}
		})
	}
	for range 3 {
		old := e.current().name
		if err := e.Rebuild(); err != nil {
			t.Fatal(err)
		}
		if s := e.Status(); !s.Rebuilding || s.Documents != 2 {
			t.Errorf("the status during a rebuild is %+v", s)
		}
		for _, c := range changes {
			apply(t, e, c)
		}
		if s := e.Status(); s.Rebuilding || e.current().name == old {
			t.Errorf("the status after a rebuild is %+v, on %s", s, e.current().name)
		}
	}
	stop()
	searching.Wait()
	if len(e.retired) != 3 {
		t.Errorf("the retired indices are %v", e.retired)
	}
	for name := range e.retired {
		e.retired[name] = time.Now().Add(-2 * requestTimeout)
	}
	if err := errors.Join(e.Purge(t.Context()), e.Connect(t.Context())); err != nil || len(e.retired) != 0 {
		t.Errorf("the retired indices after a purge are %v, %v", e.retired, err)
	}
}

func TestAddressesAreTriedInTurn(t *testing.T) {
	t.Parallel()
	e := open(t, testkit.OpenSearch(t), Options{})
	defer func() { _ = e.Close() }()
	apply(t, e, note(1, "n_1", "Bridges"))
	o := e.options
	o.URLs = append([]string{"http://" + testkit.ReserveAddr(t)}, o.URLs...)
	other := reopen(t, o)
	defer func() { _ = other.Close() }()
	if n := found(t, other, "bridge"); n != 1 {
		t.Errorf("found %d documents, want 1", n)
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for i, o := range []Options{
		{},
		{URLs: []string{"cluster:9200"}},
		{URLs: []string{"ftp://cluster"}},
		{URLs: []string{"http://user:secret@cluster:9200"}},
		{URLs: []string{"https://cluster:9200"}, CA: []byte("no certificate")},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("options %d were accepted", i)
		}
	}
}
