package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/search"
)

// followInterval is how often a node polls the change log, and so how soon it indexes documents stored by another
// process.
const followInterval = 250 * time.Millisecond

// With several nodes each reports its position every reportInterval, and a node that has been silent for reportTimeout
// is taken to be gone. A single server reports only changes, because it holds the lock of the data folder while it
// runs.
const (
	reportInterval = 10 * time.Second
	reportTimeout  = 3 * reportInterval
	singleNode     = "server"
)

// Positions records how far the indexes of the nodes have followed the change log.
type Positions interface {
	SetNodeIndex(ctx context.Context, node string, through uint64) error
	DeleteNodeIndex(ctx context.Context, node string) error
	// NodeIndexes returns the positions reported within this time.
	NodeIndexes(ctx context.Context, within time.Duration) ([]search.NodeIndex, error)
}

// Folder is the index folder of a node, with the change log that the index follows.
type Folder struct {
	// Path may be deleted at any time. The process that opens the index holds the lock of the data folder.
	Path string
	// Identity names the database, as returned by search.Identity.
	Identity  string
	Changes   search.Log
	Positions Positions
	// SingleNode means that no other node indexes the same database.
	SingleNode bool
	// Encoder computes embeddings, or is nil; see Options.
	Encoder *search.Encoder
}

// Node keeps the index of a running server in step with the change log, and reports its position to other processes.
type Node struct {
	folder   Folder
	name     string
	log      *slog.Logger
	index    *Index
	follower *Follower
	advanced chan uint64
	// startHead is the head of the change log when the server started, and covered is set once the index has reached it.
	startHead atomic.Uint64
	covered   atomic.Bool
}

// OpenNode opens the index of a server. It follows the change log from Run on.
func OpenNode(f Folder, log *slog.Logger) (*Node, error) {
	index, err := Open(f.Path, Options{Log: log, Identity: f.Identity, Encoder: f.Encoder})
	if err != nil {
		return nil, err
	}
	n := &Node{folder: f, name: singleNode, log: log, index: index, advanced: make(chan uint64, 1)}
	if !f.SingleNode {
		n.name = core.NewID("node")
	}
	n.follower = NewFollower(index, f.Changes, FollowerOptions{
		Interval: followInterval, Log: log, OnAdvance: n.advance,
	})
	return n, nil
}

// Engine returns the engine.
func (n *Node) Engine() search.Engine { return n.index }

// Progress returns how far the index is.
func (n *Node) Progress() Progress { return n.follower.Progress() }

// WaitReady waits until the index holds every stored change, for the timeout at most. It is called once.
func (n *Node) WaitReady(ctx context.Context, timeout time.Duration) error {
	head, err := n.folder.Changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	n.startHead.Store(head)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n.follower.Poll()
	err = n.folder.wait(ctx, func(head uint64) (uint64, error) {
		if !n.follower.caughtUpWith(head) {
			return 0, nil
		}
		return head, nil
	}, func(uint64, uint64) {})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// CoversStart reports whether the index has held everything that the change log held at WaitReady. Later changes, and a
// later repair of the index, do not make it false again.
func (n *Node) CoversStart() bool {
	if !n.covered.Load() && n.follower.caughtUpWith(n.startHead.Load()) {
		n.covered.Store(true)
	}
	return n.covered.Load()
}

// advance passes the newest position to Run, replacing an unreported one.
func (n *Node) advance(through uint64) {
	for {
		select {
		case n.advanced <- through:
			return
		case <-n.advanced:
		}
	}
}

// Run follows the change log until the context ends.
func (n *Node) Run(ctx context.Context) error {
	var following sync.WaitGroup
	following.Go(func() { n.follower.Run(ctx) })
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	through := n.follower.Progress().Through
	n.report(ctx, through) // commands that wait for an index learn that there is one
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case through = <-n.advanced:
			n.report(ctx, through)
		case <-tick.C:
			if !n.folder.SingleNode {
				n.report(ctx, through)
			}
		}
	}
	following.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return n.folder.Positions.DeleteNodeIndex(last, n.name)
}

func (n *Node) report(ctx context.Context, through uint64) {
	if err := n.folder.Positions.SetNodeIndex(ctx, n.name, through); err != nil && ctx.Err() == nil {
		n.log.WarnContext(ctx, "report the position of the search index", slog.Any("error", err))
	}
}

// Finish erases the words of deleted sources from the disk, within the timeout, after Run has returned. The next start
// completes it.
func (n *Node) Finish(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := n.follower.Finish(ctx); err != nil {
		n.log.WarnContext(ctx, "the search index still holds words of deleted sources; the next start removes them",
			slog.Any("error", err))
	}
}

// Close closes the index.
func (n *Node) Close() error { return n.index.Close() }

// ErrNotIndexed is returned by a wait that cannot succeed because no server indexes the documents.
var ErrNotIndexed = errors.New("the documents are stored, but no running server has indexed them")

// CatchUp brings the index to the head of the change log, without a server. The caller holds the lock of the data
// folder.
func (f Folder) CatchUp(ctx context.Context, progress func(done, all uint64)) error {
	quiet := slog.New(slog.DiscardHandler)
	index, err := Open(f.Path, Options{Log: quiet, Identity: f.Identity, Encoder: f.Encoder})
	if err != nil {
		return err
	}
	follower := NewFollower(index, f.Changes, FollowerOptions{Interval: followInterval, Log: quiet})
	following, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { follower.Run(following) })
	err = f.wait(ctx, func(head uint64) (uint64, error) {
		p := follower.Progress()
		if p.Error != nil {
			return 0, p.Error
		}
		if follower.caughtUpWith(head) {
			return head, nil
		}
		return min(head-1, head-min(head, p.Missing)), nil
	}, progress)
	stop()
	running.Wait()
	if err == nil {
		err = index.Purge(ctx)
	}
	return errors.Join(err, index.Close())
}

// WaitForNodes waits until every running server has indexed all changes stored by now.
func (f Folder) WaitForNodes(ctx context.Context, progress func(done, all uint64)) error {
	within := reportTimeout
	if f.SingleNode {
		within = math.MaxInt64 // a single server reports only changes, and the last may be long ago
	}
	return f.wait(ctx, func(uint64) (uint64, error) {
		nodes, err := f.Positions.NodeIndexes(ctx, within)
		if err == nil && !f.SingleNode && len(nodes) == 0 {
			err = ErrNotIndexed
		}
		least := uint64(0)
		for i, n := range nodes {
			if i == 0 || n.Through < least {
				least = n.Through
			}
		}
		return least, err
	}, progress)
}

// WaitForRebuild waits until the server of this folder has indexed all changes stored by now. If the server has not
// begun within reportTimeout of the given time, it returns ErrNotIndexed.
func (f Folder) WaitForRebuild(ctx context.Context, began time.Time, progress func(done, all uint64)) error {
	return f.wait(ctx, func(uint64) (uint64, error) {
		spans, err := Covered(f.Path)
		switch {
		case err != nil:
			return 0, err
		case len(spans) == 0 && time.Since(began) > reportTimeout:
			return 0, ErrNotIndexed
		case len(spans) == 0 || spans[0].After > 0:
			return 0, nil
		}
		return spans[0].Through, nil
	}, progress)
}

// wait polls position until it reaches the present head of the change log. Most waits are short, so the polling
// interval grows from 5 ms to 100 ms.
func (f Folder) wait(
	ctx context.Context, position func(head uint64) (uint64, error), progress func(done, all uint64),
) error {
	head, err := f.Changes.Head(ctx)
	if err != nil {
		return err
	}
	const shortest, longest = 5 * time.Millisecond, 100 * time.Millisecond
	for pause := shortest; ; pause = min(pause*5/4, longest) {
		at, err := position(head)
		if err != nil {
			return err
		}
		progress(min(at, head), head)
		if at >= head {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the search index: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}
