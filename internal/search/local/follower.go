package local

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"carrel/internal/search"
)

// FollowerOptions are how a Follower works. The zero value is fit for use.
type FollowerOptions struct {
	// Interval is how often the log is asked for news; a second unless set. Kick asks at once.
	Interval time.Duration
	// ReportEvery is how often the log is told of a rebuild's progress; five seconds unless set.
	ReportEvery time.Duration
	// VerifyEvery is how often all files are read from end to end for damage; a day unless set.
	VerifyEvery time.Duration
	// OnAdvance is told how far the index holds everything, when that changed: less than before when the index had to
	// be begun anew. It is called from one goroutine at a time.
	OnAdvance func(through uint64)
	// BatchDocuments and BatchBytes are how much one segment is built of in a rebuild.
	BatchDocuments int
	BatchBytes     int
	// Builders is how many segments are built at once; one for each core unless set.
	Builders int
	// Log is told of rebuilds; slog.Default() unless set.
	Log *slog.Logger
}

// Batches of this size take a second or two to build, which is how long searches wait for the first results of a
// rebuild, and keep a rebuild's memory far below that of the server.
const (
	batchDocuments = 16 << 10
	batchBytes     = 16 << 20
)

// maxPause is how long the follower waits between attempts that fail.
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
		o.Builders = runtime.GOMAXPROCS(0)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.OnAdvance == nil {
		o.OnAdvance = func(uint64) {}
	}
	return o
}

// Follower keeps an index in step with the change log: it fills in what is missing, whether new, lost or never
// built, and merges in the background.
type Follower struct {
	index   *Index
	changes search.Log
	o       FollowerOptions
	kicks   chan struct{}
	merges  chan struct{} // says that there may be something to merge
	told    uint64        // what OnAdvance knows
	agreed  bool          // the index was compared with the log

	mu       sync.Mutex
	progress Progress
}

// NewFollower returns a follower for the index. It does nothing before Run.
func NewFollower(index *Index, changes search.Log, o FollowerOptions) *Follower {
	return &Follower{
		index: index, changes: changes, o: o.withDefaults(),
		kicks: make(chan struct{}, 1), merges: make(chan struct{}, 1),
	}
}

// Kick says that the log has grown: the follower looks at once. It never blocks.
func (f *Follower) Kick() { signal(f.kicks) }

// signal makes sure that the channel's receiver wakes up once more.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will, and has not begun to look yet
	}
}

// Run follows the log until the context ends, and returns then. What fails is logged and tried again.
func (f *Follower) Run(ctx context.Context) {
	var background sync.WaitGroup
	signal(f.merges) // an earlier process may have left something
	background.Go(func() { f.merge(ctx) })
	background.Go(func() { f.verify(ctx) })
	defer background.Wait()
	pause := f.o.Interval
	for ctx.Err() == nil {
		err := f.follow(ctx)
		f.failed(err)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause = f.o.Interval
			f.wait(ctx, pause, f.kicks)
		default:
			f.o.Log.Warn("search index cannot follow the documents; trying again", "error", err, "pause", pause)
			f.wait(ctx, pause, nil)
			pause = min(2*pause, maxPause)
		}
	}
}

// Finish brings the index up to the log and removes the words of deleted sources from the disk, before the process
// ends. Run has returned by then. A log that is far ahead is left to the next start.
func (f *Follower) Finish(ctx context.Context) error {
	head, err := f.changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	if gaps := f.index.gaps(head); len(gaps) > 0 && numbers(gaps) < bigPass {
		if err := f.follow(ctx); err != nil {
			return err
		}
	}
	return f.index.Purge(ctx)
}

// wait returns after a while, or earlier when there is news or the context ends.
func (f *Follower) wait(ctx context.Context, pause time.Duration, news <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-news:
	case <-timer.C:
	}
}

// follow brings the index up to the log's present head.
func (f *Follower) follow(ctx context.Context) error {
	head, err := f.changes.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the change log's head: %w", err)
	}
	if err := f.beginAnew(ctx, head); err != nil {
		return err
	}
	gaps := f.index.gaps(head)
	if len(gaps) > 0 {
		if err := f.fill(ctx, head, gaps); err != nil {
			return err
		}
	}
	if _, missing := f.index.Missing(head); !missing {
		f.index.caughtUp()
	}
	f.tell()
	if len(gaps) > 0 {
		return f.mergeTrickle(ctx)
	}
	f.observe(head, nil)
	return nil
}

// caughtUpWith reports whether the index holds everything up to head. The follower must have seen that head itself,
// because only then has it checked that the index belongs to this log.
func (f *Follower) caughtUpWith(head uint64) bool {
	_, missing := f.index.Missing(head)
	return !missing && f.Progress().Head >= head
}

// beginAnew empties the index when it is gone from the disk, or of another log than this: the database was restored.
func (f *Follower) beginAnew(ctx context.Context, head uint64) error {
	_, last := f.index.reach()
	switch {
	case f.index.vanished() != nil:
		f.o.Log.Warn("search index was removed and is built anew; searches use the old one meanwhile", "path", f.index.dir)
		return f.index.restart(true)
	case last > head:
		f.o.Log.Warn("search index is ahead of the documents, which must have been restored, and is built anew",
			"index", last, "documents", head)
		return f.index.Rebuild()
	case f.agreed:
		return nil
	}
	agrees, err := f.index.agrees(ctx, f.changes)
	if err != nil {
		return fmt.Errorf("compare the index with the change log: %w", err)
	}
	f.agreed = true
	if !agrees {
		f.o.Log.Warn("search index is of other documents, which must have been restored and changed, and is built anew")
		return f.index.Rebuild()
	}
	return nil
}

// mergeTrickle merges the small parts that following makes many of.
func (f *Follower) mergeTrickle(ctx context.Context) error {
	for {
		merged, err := f.index.mergeSmall(ctx)
		if err != nil || !merged {
			return err
		}
	}
}

// merge merges whatever is worth it, whenever something was filled in.
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
			f.o.Log.Warn("search index cannot merge; trying again", "error", err, "pause", pause)
			f.wait(ctx, pause, nil)
			pause = min(2*pause, maxPause)
			signal(f.merges)
		case merged:
			pause = f.o.Interval
			signal(f.merges) // there may be more
		}
	}
}

// verify looks for damage now and then. What is used is checked before its first use, but a disk can go bad after that,
// and searches would be wrong until the next start.
func (f *Follower) verify(ctx context.Context) {
	ticker := time.NewTicker(f.o.VerifyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if f.index.verify(ctx) {
				f.Kick()
			}
		}
	}
}

// tell says how far the index is, if that is news.
func (f *Follower) tell() {
	if whole, _ := f.index.reach(); whole != f.told {
		f.told = whole
		f.o.OnAdvance(whole)
	}
}
