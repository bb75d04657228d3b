package local

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"carrel/internal/processor"
	"carrel/internal/search"
)

// FollowerOptions configure a Follower. The zero value is usable.
type FollowerOptions struct {
	// Interval is how often the change log is polled; default one second. Kick polls at once.
	Interval time.Duration
	// ReportEvery is how often the progress of a long run is logged; default five seconds.
	ReportEvery time.Duration
	// VerifyEvery is how often all files are checked for damage; default one day.
	VerifyEvery time.Duration
	// OnAdvance is called with the number up to which the index holds everything, when that number changes. It can go
	// down when the index is rebuilt. Calls are not concurrent.
	OnAdvance func(through uint64)
	// BatchDocuments and BatchBytes limit the size of one segment during a rebuild.
	BatchDocuments int
	BatchBytes     int
	// Builders is how many segments are built concurrently; default one per core.
	Builders int
	// Log receives messages about rebuilds; default slog.Default().
	Log *slog.Logger
}

// Batches of this size take a second or two to build, which is how long searches wait for the first results of a
// rebuild, and keep the memory of a rebuild far below the memory of the server.
const (
	batchDocuments = 12_000
	batchBytes     = 16 << 20
)

// maxPause is the longest pause between retries.
const maxPause = time.Minute

func (o FollowerOptions) withDefaults() FollowerOptions {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.ReportEvery <= 0 {
		o.ReportEvery = 5 * time.Second
	}
	if o.VerifyEvery <= 0 {
		o.VerifyEvery = 24 * time.Hour
	}
	if o.BatchDocuments <= 0 {
		o.BatchDocuments = batchDocuments
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = batchBytes
	}
	if o.Builders <= 0 {
		o.Builders = processor.Slots()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.OnAdvance == nil {
		o.OnAdvance = func(uint64) {}
	}
	return o
}

// Follower keeps an index in step with the change log. It applies every missing span, whether new, lost or never built,
// merges segments in the background and checks files for damage.
type Follower struct {
	index      *Index
	changes    search.Log
	o          FollowerOptions
	polls      chan struct{}
	merges     chan struct{} // wakes the merge loop
	reported   uint64        // last value passed to OnAdvance
	logChecked bool          // the index has been compared with the log

	mu       sync.Mutex
	progress Progress
	// completeAt is the last time at which the index held every change, or the time of the start.
	completeAt time.Time
}

// NewFollower returns a follower for the index, which starts with Run.
func NewFollower(index *Index, changes search.Log, o FollowerOptions) *Follower {
	return &Follower{
		index: index, changes: changes, o: o.withDefaults(), completeAt: time.Now(),
		polls: make(chan struct{}, 1), merges: make(chan struct{}, 1),
	}
}

// Poll makes the follower poll the change log at once. It never blocks.
func (f *Follower) Poll() { signal(f.polls) }

// signal wakes the receiver of the channel.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// Run follows the change log until the context ends. Failures are logged and retried.
func (f *Follower) Run(ctx context.Context) {
	var background sync.WaitGroup
	signal(f.merges) // an earlier process may have left parts to merge
	background.Go(func() { f.merge(ctx) })
	background.Go(func() { f.verify(ctx) })
	defer background.Wait()
	pause := f.o.Interval
	for ctx.Err() == nil {
		err := f.follow(ctx)
		f.setError(err)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause = f.o.Interval
			f.wait(ctx, pause, f.polls)
		default:
			f.o.Log.Warn("search index cannot follow the change log; retrying", "error", err, "pause", pause)
			f.wait(ctx, pause, nil)
			pause = min(2*pause, maxPause)
		}
	}
}

// Finish catches up with the change log and erases the words of deleted sources from the disk, after Run has returned.
// If the log is far ahead, that is left to the next start.
func (f *Follower) Finish(ctx context.Context) error {
	head, err := f.changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	if gaps := f.index.gaps(head); len(gaps) > 0 && totalLen(gaps) < longRun {
		if err := f.follow(ctx); err != nil {
			return err
		}
	}
	return f.index.Purge(ctx)
}

// wait returns after the pause, or earlier when wake receives or the context ends.
func (f *Follower) wait(ctx context.Context, pause time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// follow applies everything up to the present head of the log.
func (f *Follower) follow(ctx context.Context) error {
	head, err := f.changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	if err := f.resetIfForeign(ctx, head); err != nil {
		return err
	}
	gaps := f.index.gaps(head)
	if len(gaps) > 0 {
		if err := f.fill(ctx, head, gaps); err != nil {
			return err
		}
	}
	if _, missing := f.index.Missing(head); !missing {
		f.index.endRebuild()
	}
	f.reportAdvance()
	if len(gaps) > 0 {
		return f.mergeSmallParts(ctx)
	}
	f.observe(head, nil)
	return nil
}

// caughtUpWith reports whether the index holds everything up to head. The follower must have seen that head itself,
// because it compares the index with the log when it first polls.
func (f *Follower) caughtUpWith(head uint64) bool {
	_, missing := f.index.Missing(head)
	return !missing && f.Progress().Head >= head
}

// resetIfForeign empties the index if it was deleted from the disk, or if it does not belong to this log because the
// database was restored.
func (f *Follower) resetIfForeign(ctx context.Context, head uint64) error {
	_, last := f.index.coveredThrough()
	switch {
	case f.index.checkPresent() != nil:
		f.o.Log.Warn("search index was deleted and is rebuilt; searches use the old one until then", "path", f.index.dir)
		return f.index.restart(true)
	case f.index.lacksVectors():
		f.o.Log.Info("embeddings settings have changed; rebuilding the search index; searches use the old one until then",
			"path", f.index.dir)
		return f.index.restart(true)
	case last > head:
		f.o.Log.Warn("search index is ahead of the change log, probably because the database was restored; rebuilding",
			"index", last, "documents", head)
		return f.index.Rebuild()
	case f.logChecked:
		return nil
	}
	matchesLog, err := f.index.matchesLog(ctx, f.changes)
	if err != nil {
		return fmt.Errorf("compare the index with the change log: %w", err)
	}
	f.logChecked = true
	if !matchesLog {
		f.o.Log.Warn("search index does not match the change log, probably because the database was restored; rebuilding")
		return f.index.Rebuild()
	}
	return nil
}

// mergeSmallParts merges the many small parts that following produces.
func (f *Follower) mergeSmallParts(ctx context.Context) error {
	for {
		merged, err := f.index.mergeSmall(ctx)
		if err != nil || !merged {
			return err
		}
	}
}

// merge runs the merges that are due, each time a span has been applied.
func (f *Follower) merge(ctx context.Context) {
	pause := f.o.Interval
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.merges:
		}
		merged, err := f.index.Merge(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.o.Log.Warn("search index cannot merge; retrying", "error", err, "pause", pause)
			f.wait(ctx, pause, nil)
			pause = min(2*pause, maxPause)
			signal(f.merges)
		case merged:
			pause = f.o.Interval
			signal(f.merges) // there may be more to merge
		}
	}
}

// verify checks all files periodically. Pages are verified when they are first used, but a disk can fail later, and
// searches would return wrong results until the next start.
func (f *Follower) verify(ctx context.Context) {
	ticker := time.NewTicker(f.o.VerifyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if f.index.verify(ctx) {
				f.Poll()
			}
		}
	}
}

// reportAdvance calls OnAdvance if the position has changed.
func (f *Follower) reportAdvance() {
	if whole, _ := f.index.coveredThrough(); whole != f.reported {
		f.reported = whole
		f.o.OnAdvance(whole)
	}
}
