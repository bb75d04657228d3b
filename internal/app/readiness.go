package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
)

// readiness decides whether a load balancer should send requests to this node.
type readiness struct {
	in *App
	// index is nil until the index is open.
	index atomic.Pointer[searchNode]
}

// check returns an error that says why the node is not ready: the database can't be read, it does not accept writes, or
// the index does not hold what the change log held at the start. A search index that all nodes share is left out: a
// load balancer would take all of them away, although everything but searches works.
func (r *readiness) check(ctx context.Context) error {
	if err := r.in.Store.Ping(ctx); err != nil {
		return notReady("The database can't be read.", err)
	}
	if err := r.in.Store.CheckWrites(ctx); core.IsDiskFull(err) {
		return notReady("The disk of the database is full, so that it does not accept writes.", err)
	} else if err != nil {
		return notReady("The database does not accept writes.", err)
	}
	if r.in.Config.ReadyWhileIndexing {
		return nil
	}
	opened := r.index.Load()
	if opened == nil {
		return notReady("The search index is not open yet.", nil)
	}
	index := *opened
	if !r.in.Config.Search.OpenSearch() && !index.CoversStart() {
		return notReady(fmt.Sprintf("The search index is being built: %.0f %% is done.", index.Progress().Percent()), nil)
	}
	return nil
}

// toleratedLag is how long a shared search index may lack stored changes before it is a notice.
const toleratedLag = 30 * time.Second

// notice says what does not work although the node is ready; "" if all does.
func (r *readiness) notice() string {
	opened := r.index.Load()
	if opened == nil {
		return ""
	}
	index := *opened
	if !r.in.Config.Search.OpenSearch() {
		return localNotice(index.Progress())
	}
	switch p := index.Progress(); {
	case p.Error != nil:
		return fmt.Sprintf("The search service is not available or can't be written, since %v. Searches may fail; "+
			"other requests work.", p.Behind.Round(time.Second))
	case !index.CoversStart():
		return fmt.Sprintf("The search index is being built: %.0f %% is done. Searches are incomplete.", p.Percent())
	case p.Behind > toleratedLag:
		return fmt.Sprintf("The search index lacks %d changes of documents, since %v. Searches are incomplete.",
			p.Missing, p.Behind.Round(time.Second))
	}
	return ""
}

// localNotice is notice for the index in the data folder. Other nodes have an index of their own, but may be no better:
// the node stays ready.
func localNotice(p search.Progress) string {
	if p.Error == nil {
		return ""
	}
	reason := "can't be written"
	if core.IsDiskFull(p.Error) {
		reason = "can't be written, because the disk of the data folder is full"
	}
	return fmt.Sprintf("The search index of this node %s, since %v. Searches miss new documents; other requests work.",
		reason, p.Behind.Round(time.Second))
}

// notReadyPause is the Retry-After of a node that is not ready.
const notReadyPause = 2 * time.Second

func notReady(reason string, cause error) error {
	e := &core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", Detail: "The service is not ready. " + reason,
		RetryAfter: notReadyPause,
	}
	if cause != nil {
		return e.Because(cause)
	}
	return e
}
