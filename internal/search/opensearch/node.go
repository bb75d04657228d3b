package opensearch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/search"
)

// Leases allows one node at a time to write an index.
type Leases interface {
	// TakeLease takes or renews a lease and reports whether the owner has it.
	TakeLease(ctx context.Context, name, owner string, duration time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
}

const (
	leaseName = "search index"
	// leaseTime is how long a node that has died keeps others from indexing. The lease is renewed every leaseRenewal.
	leaseTime    = 15 * time.Second
	leaseRenewal = 5 * time.Second
	// followInterval is how often the change log is polled, and refreshInterval how often the state of the cluster is.
	followInterval  = 250 * time.Millisecond
	refreshInterval = time.Second
	// purgeInterval is how often deleted documents are erased.
	purgeInterval = 10 * time.Minute
	maxPause      = 5 * time.Second
	// startTimeout is how long a command waits for an index whose shards are starting.
	startTimeout = 30 * time.Second
)

// Batches of this size are applied at once.
const (
	batchDocuments = 1000
	batchBytes     = 8 << 20
)

// NodeOptions are the parts of a Node. All are required.
type NodeOptions struct {
	Engine  *Engine
	Changes search.Log
	Leases  Leases
	// Name is different for every process.
	Name string
	Log  *slog.Logger
}

// Node is a server or a command that shares a cluster with others. The one that has the lease applies the change log to
// the index; the others learn from the cluster how far it is, and take the lease when it ends.
//
// The lease only saves work. A node that still writes after it has lost the lease does no harm: documents have external
// versions, and a state document that another node has written is not overwritten.
type Node struct {
	o NodeOptions

	// leader is set while the node has the lease.
	leader  atomic.Bool
	started atomic.Uint64 // head of the change log at WaitReady
	covered atomic.Bool   // the index has held all changes up to started

	mu       sync.Mutex
	head     uint64
	reached  bool // the cluster has answered since the start
	complete time.Time
	err      error
}

// NewNode returns a node, which starts with Run.
func NewNode(o NodeOptions) *Node { return &Node{o: o, complete: time.Now()} }

// Leads reports whether this node applies the change log.
func (n *Node) Leads() bool { return n.leader.Load() }

// Engine returns the engine.
func (n *Node) Engine() search.Engine { return n.o.Engine }

// Progress returns how far the index is, as far as this node has heard.
func (n *Node) Progress() search.Progress {
	n.mu.Lock()
	head, complete, err := n.head, n.complete, n.err
	n.mu.Unlock()
	p := search.Progress{Head: head, Error: err}
	for _, gap := range n.o.Engine.gaps(head) {
		p.Missing += gap.Len()
	}
	if in := n.o.Engine.current(); in != nil {
		p.Through = in.state.through()
	}
	p.Rebuilding = n.o.Engine.rebuilding()
	if p.Missing > 0 || err != nil {
		p.Behind = time.Since(complete)
	}
	return p
}

// Run follows the change log while the node has the lease, until the context ends. Failures are logged and retried.
func (n *Node) Run(ctx context.Context) error {
	var renewing sync.WaitGroup
	renewing.Go(func() { n.renew(ctx) })
	pause := followInterval
	var refreshed, purged time.Time
	for ctx.Err() == nil {
		err := n.follow(ctx, &refreshed, &purged)
		if ctx.Err() != nil {
			break
		}
		n.record(err)
		if err == nil {
			pause = followInterval
		} else {
			n.o.Log.WarnContext(ctx, "the search index can't follow the change log; retrying",
				slog.Any("error", err), slog.Duration("pause", pause))
			refreshed = time.Time{}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if err != nil {
			pause = min(2*pause, maxPause)
		}
	}
	renewing.Wait()
	return nil //nolint:nilerr // failures are logged and retried
}

// renew takes and renews the lease until the context ends, and then releases it.
func (n *Node) renew(ctx context.Context) {
	for {
		asked := time.Now()
		limited, cancel := context.WithTimeout(ctx, leaseRenewal)
		held, err := n.o.Leases.TakeLease(limited, leaseName, n.o.Name, leaseTime)
		cancel()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			n.o.Log.WarnContext(ctx, "the lease of the search index could not be renewed", slog.Any("error", err))
			n.leader.Store(false)
		default:
			if held != n.leader.Swap(held) {
				n.o.Log.InfoContext(ctx, "the node that indexes documents has changed", slog.Bool("here", held))
			}
		}
		select {
		case <-ctx.Done():
			n.leader.Store(false)
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := n.o.Leases.ReleaseLease(last, leaseName, n.o.Name); err != nil {
				n.o.Log.WarnContext(last, "the lease of the search index could not be released", slog.Any("error", err))
			}
			return
		case <-time.After(min(n.nextRenewal(), leaseRenewal-min(leaseRenewal, time.Since(asked)))):
		}
	}
}

// nextRenewal returns the pause until the lease is asked for again: a lease that another node has may be released.
func (n *Node) nextRenewal() time.Duration {
	if n.Leads() {
		return leaseRenewal
	}
	return refreshInterval
}

// follow applies everything up to the head of the change log if the node has the lease, and otherwise reads how far
// the index is.
func (n *Node) follow(ctx context.Context, refreshed, purged *time.Time) error {
	head, err := n.o.Changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	n.mu.Lock()
	n.head = head
	n.mu.Unlock()
	leads := n.Leads()
	if time.Since(*refreshed) >= refreshInterval {
		// The leader refreshes too: a command may have started a rebuild.
		if leads {
			err = n.o.Engine.Connect(ctx)
		} else {
			err = n.o.Engine.Refresh(ctx)
		}
		if err != nil {
			return err
		}
		*refreshed = time.Now()
		n.mu.Lock()
		n.reached = true
		n.mu.Unlock()
	}
	if !leads || n.o.Engine.current() == nil {
		return nil
	}
	if err := n.rebuildIfForeign(ctx, head); err != nil {
		return err
	}
	if err := n.fill(ctx, head); err != nil {
		return err
	}
	if _, missing := n.o.Engine.Missing(head); !missing {
		if err := n.o.Engine.FinishRebuild(ctx); err != nil {
			return err
		}
	}
	if time.Since(*purged) >= purgeInterval {
		*purged = time.Now()
		return n.o.Engine.Purge(ctx)
	}
	return nil
}

// rebuildIfForeign rebuilds the index if it was built with another model of embeddings, or if it does not belong to the
// change log, because the database was restored.
func (n *Node) rebuildIfForeign(ctx context.Context, head uint64) error {
	in := n.o.Engine.current()
	switch {
	case in.model != n.o.Engine.model:
		n.o.Log.InfoContext(ctx, "embeddings settings have changed; rebuilding the search index; searches use the old one "+
			"until then")
	case in.state.last() > head:
		// The node that had the lease before may have applied changes that were stored after head was read.
		now, err := n.o.Changes.Head(ctx)
		if err != nil || in.state.last() <= now {
			return err
		}
		n.o.Log.WarnContext(ctx, "the search index is ahead of the change log, probably because the database was "+
			"restored; rebuilding", slog.Uint64("index", in.state.last()), slog.Uint64("documents", head))
	default:
		return nil
	}
	return n.o.Engine.Rebuild() //nolint:contextcheck // has its own time limit
}

// fill applies all missing spans up to head, in batches.
func (n *Node) fill(ctx context.Context, head uint64) error {
	limit := batchDocuments
	for n.Leads() {
		span, missing := n.o.Engine.Missing(head)
		if !missing {
			return nil
		}
		changes, err := n.o.Changes.Changes(ctx, span.After, span.Through, limit)
		if err != nil {
			return fmt.Errorf("read the change log: %w", err)
		}
		if kept := withinBytes(changes); kept < len(changes) {
			changes = changes[:kept]
			span.Through = changes[kept-1].Seq
		} else if len(changes) == limit {
			span.Through = changes[len(changes)-1].Seq
		}
		err = n.o.Engine.Apply(ctx, span, changes)
		if errors.Is(err, search.ErrCovered) { // by a node that had the lease before
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withinBytes returns how many of the changes a batch takes, one at least.
func withinBytes(changes []search.Change) int {
	size := 0
	for i := range changes {
		size += len(changes[i].Document.Title) + len(changes[i].Document.Text)
		if size > batchBytes && i > 0 {
			return i
		}
	}
	return len(changes)
}

// record stores the outcome of an attempt.
func (n *Node) record(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
	if err != nil {
		return
	}
	if _, missing := n.o.Engine.Missing(n.head); !missing && n.reached {
		n.complete = time.Now()
	}
}

// WaitReady waits until the index holds every stored change, for the timeout at most. It is called once.
func (n *Node) WaitReady(ctx context.Context, timeout time.Duration) error {
	head, err := n.o.Changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	n.started.Store(head)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = n.wait(ctx, func(uint64, uint64) {})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// CoversStart reports whether the index has held everything that the change log held at WaitReady.
func (n *Node) CoversStart() bool {
	if !n.covered.Load() && n.holds(n.started.Load()) {
		n.covered.Store(true)
	}
	return n.covered.Load()
}

// holds reports whether the cluster has answered, and the index holds everything up to head.
func (n *Node) holds(head uint64) bool {
	n.mu.Lock()
	known := n.reached && n.head >= head
	n.mu.Unlock()
	_, missing := n.o.Engine.Missing(head)
	return known && !missing && !n.o.Engine.rebuilding()
}

// wait returns when the index holds all changes stored by now and no rebuild is under way.
func (n *Node) wait(ctx context.Context, progress func(done, all uint64)) error {
	head, err := n.o.Changes.Head(ctx)
	if err != nil {
		return err
	}
	for !n.holds(head) {
		p := n.Progress()
		progress(min(head, p.Head-min(p.Head, p.Missing)), head)
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the search index: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	progress(head, head)
	return nil
}

// refresh reads how far the index is, for a command. While the shards of the index are starting, because
// another node has just created it or because the cluster has just started, the cluster replies with status 503.
func (n *Node) refresh(ctx context.Context) error {
	for began := time.Now(); ; {
		err := n.o.Engine.Refresh(ctx)
		if !hasStatus(err, http.StatusServiceUnavailable) || time.Since(began) > startTimeout {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followInterval):
		}
	}
}

// CatchUp returns when the index holds all changes stored by now. The node with the lease applies them: a server, or
// this node if there is none. It fails if the cluster does not answer.
func (n *Node) CatchUp(ctx context.Context, progress func(done, all uint64)) error {
	if err := n.refresh(ctx); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = n.Run(running) // returns nil
	}()
	err := n.wait(ctx, progress)
	stop()
	<-done
	return err
}

// Inspect reads what the index holds, and fails if the cluster does not answer.
func (n *Node) Inspect(ctx context.Context) (search.Status, error) {
	if err := n.refresh(ctx); err != nil {
		return search.Status{}, err
	}
	return n.o.Engine.Status(), nil //nolint:contextcheck // has its own time limit
}

// Rebuild starts a rebuild, which the node with the lease continues. Without an index there is nothing to rebuild.
func (n *Node) Rebuild(ctx context.Context) error {
	if err := n.refresh(ctx); err != nil || n.o.Engine.current() == nil {
		return err
	}
	return n.o.Engine.Rebuild() //nolint:contextcheck // has its own time limit
}

// Finish does nothing: deleted documents are erased while the server runs, and by the next leader.
func (n *Node) Finish(context.Context, time.Duration) {}

// Close closes the engine.
func (n *Node) Close() error { return n.o.Engine.Close() }
