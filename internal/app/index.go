package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"time"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/search"
)

// followEvery is how often the change log is asked for news: what another process stored can be found so soon.
const followEvery = 250 * time.Millisecond

// On PostgreSQL nodes say now and then how far their index is. On SQLite the only server holds the folder's lock,
// and says it when it changes.
const (
	sayEvery   = 10 * time.Second
	heardOf    = 3 * sayEvery
	onlyServer = "server"
)

// indexPath is where a node keeps its index. It can be deleted at any time.
func IndexPath(cfg config.Config) string { return filepath.Join(cfg.Data, "index") }

// openIndex opens the index of this node. Whoever does holds the lock of the data folder.
func (in *App) openIndex(ctx context.Context, log *slog.Logger) (*search.Index, error) {
	identity, err := in.IndexIdentity(ctx)
	if err != nil {
		return nil, err
	}
	return search.Open(IndexPath(in.Config), search.Options{Log: log, Identity: identity})
}

// identity is what an index knows its database by: something that only this one has, and that tells nothing.
func (in *App) IndexIdentity(ctx context.Context) (string, error) {
	secret, err := in.Store.Secret(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte("carrel search index\x00"), secret...))
	return hex.EncodeToString(sum[:16]), nil
}

// indexer keeps the index of a running server in step with the documents, and tells others how far it is.
type indexer struct {
	in       *App
	node     string
	shared   bool // with other nodes
	log      *slog.Logger
	index    *search.Index
	follower *search.Follower
	advance  chan uint64
}

func (in *App) newIndexer(ctx context.Context, log *slog.Logger) (*indexer, error) {
	index, err := in.openIndex(ctx, log)
	if err != nil {
		return nil, err
	}
	x := &indexer{in: in, node: onlyServer, shared: in.Config.Database != "", log: log, index: index, advance: make(chan uint64, 1)}
	if x.shared {
		x.node = core.NewID("node")
	}
	x.follower = search.NewFollower(index, in.changes(), search.FollowerOptions{Interval: followEvery, Log: log, OnAdvance: x.note})
	in.engine.index.Store(index)
	return x, nil
}

// settleTime is how long the first request may wait for the index: enough for what changed while the server was down,
// and for a small library. A longer rebuild goes on while the server answers.
const settleTime = 2 * time.Second

// settle waits a moment for the index to hold what is stored.
func (x *indexer) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	x.follower.Kick()
	err := x.in.await(ctx, func(head uint64) (uint64, error) {
		// The follower finds out whether what is there is of these documents.
		if _, missing := x.index.Missing(head); missing || x.follower.Progress().Head < head {
			return 0, nil
		}
		return head, nil
	}, func(uint64, uint64) {})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// note keeps the newest number for run, which may be busy telling an older one.
func (x *indexer) note(through uint64) {
	for {
		select {
		case x.advance <- through:
			return
		case <-x.advance:
		}
	}
}

// run follows the documents until the context ends.
func (x *indexer) run(ctx context.Context) error {
	var following sync.WaitGroup
	following.Go(func() { x.follower.Run(ctx) })
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	through := x.follower.Progress().Through
	x.say(ctx, through) // whoever waits for the index knows from here on that there is one
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case through = <-x.advance:
			x.say(ctx, through)
		case <-tick.C:
			if x.shared {
				x.say(ctx, through)
			}
		}
	}
	following.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return x.in.Store.DeleteNodeIndex(last, x.node)
}

func (x *indexer) say(ctx context.Context, through uint64) {
	if err := x.in.Store.SetNodeIndex(ctx, x.node, through); err != nil && ctx.Err() == nil {
		x.log.WarnContext(ctx, "how far the search index is could not be written down", slog.Any("error", err))
	}
}

// finish removes the words of deleted sources from the disk before the process ends, as far as there is time for it;
// the next start goes on with it.
func (x *indexer) finish(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := x.follower.Finish(ctx); err != nil {
		x.log.WarnContext(ctx, "the search index still holds words of deleted sources; the next start removes them",
			slog.Any("error", err))
	}
	return nil
}

func (x *indexer) close() error {
	x.in.engine.index.Store(nil)
	return x.index.Close()
}

// catchUp brings the index of a folder without a server to the head of the log. Its lock is the caller's.
func (in *App) CatchUpIndex(ctx context.Context, progress func(done, all uint64)) error {
	index, err := in.openIndex(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	follower := search.NewFollower(index, in.changes(), search.FollowerOptions{Interval: followEvery, Log: slog.New(slog.DiscardHandler)})
	following, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { follower.Run(following) })
	err = in.await(ctx, func(head uint64) (uint64, error) {
		p := follower.Progress()
		if p.Error != nil {
			return 0, p.Error
		}
		if _, missing := index.Missing(head); !missing && p.Head >= head { // and the follower has seen that it is of these documents
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

// awaitServers waits until the servers that run have indexed all that is stored now.
func (in *App) AwaitServers(ctx context.Context, progress func(done, all uint64)) error {
	shared := in.Config.Database != ""
	within := heardOf
	if !shared {
		within = math.MaxInt64 // the only server says it when something changes, which may be long ago
	}
	return in.await(ctx, func(uint64) (uint64, error) {
		nodes, err := in.Store.NodeIndexes(ctx, within)
		if err == nil && shared && len(nodes) == 0 {
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

// awaitFolder waits until the server of this folder has indexed all that is stored now, if it begins soon.
func (in *App) AwaitFolder(ctx context.Context, began time.Time, progress func(done, all uint64)) error {
	return in.await(ctx, func(uint64) (uint64, error) {
		spans, err := search.Covered(IndexPath(in.Config))
		switch {
		case err != nil:
			return 0, err
		case len(spans) == 0 && time.Since(began) > heardOf:
			return 0, ErrNotIndexed
		case len(spans) == 0 || spans[0].After > 0:
			return 0, nil
		}
		return spans[0].Through, nil
	}, progress)
}

// await calls reached until it has come as far as the log is now.
// It asks often at first, for most waits are short, and then less so.
func (in *App) await(ctx context.Context, reached func(head uint64) (uint64, error), progress func(done, all uint64)) error {
	head, err := in.Store.Head(ctx)
	if err != nil {
		return err
	}
	const soonest, latest = 5 * time.Millisecond, 100 * time.Millisecond
	for pause := soonest; ; pause = min(pause*5/4, latest) {
		at, err := reached(head)
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
