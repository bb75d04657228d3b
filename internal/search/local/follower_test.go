package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/search"
)

// follow runs a follower until the test ends or stop is called.
func follow(t *testing.T, ix *Index, log search.Log, o FollowerOptions) (f *Follower, stop func()) {
	t.Helper()
	if o.Interval == 0 {
		o.Interval = 2 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = quiet
	}
	f = NewFollower(ix, log, o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return f, stop
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func holdsAll(ix *Index, w *memoryLog) func() bool {
	return func() bool {
		head, _ := w.Head(context.Background())
		_, missing := ix.Missing(head)
		return !missing
	}
}

func many(w *memoryLog, n int) {
	for i := range n {
		w.put(note(fmt.Sprint("d", i), everywhere[i%3], "w1", "w2", fmt.Sprint("w", i%9)))
	}
}

func TestFollowerBuildsAnIndexAndKeepsItInStep(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	many(w, 500)
	ix := open(t, t.TempDir(), Options{FS: quick()})
	var reported atomic.Uint64
	f, stop := follow(t, ix, w, FollowerOptions{BatchDocuments: 64, OnAdvance: reported.Store})
	eventually(t, "the index is built", holdsAll(ix, w))
	w.delete("d7")
	w.put(note("new", "A", "novelty"))
	f.Poll()
	eventually(t, "the news is there", func() bool { return slices.Equal(found(t, ix, "novelty"), []string{"new"}) })
	eventually(t, "the number is told", func() bool { return reported.Load() == w.head })
	eventually(t, "nothing is missing", func() bool { return f.Progress().Missing == 0 })
	stop()
	if p := f.Progress(); p.Head != w.head || p.Through != w.head || p.Percent() != 100 || p.Error != nil {
		t.Errorf("progress is %+v", p)
	}
	checkComplete(t, ix, w)
}

// A log may end exactly at the end of a page or a batch.
func TestFollowerReadsLogsOfEveryLength(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, firstPage - 1, firstPage, firstPage + 1, 3 * firstPage, 3*firstPage + 1, 400} {
		w := newMemoryLog()
		many(w, n)
		ix := open(t, t.TempDir(), Options{FS: quick()})
		var out safeBuffer
		_, stop := follow(t, ix, w, FollowerOptions{BatchDocuments: firstPage, Log: slog.New(slog.NewTextHandler(&out, nil))})
		eventually(t, "the index is built", holdsAll(ix, w))
		stop()
		checkComplete(t, ix, w)
		if out.String() != "" {
			t.Errorf("following %d changes says %s", n, out.String())
		}
	}
}

func TestFollowerPollsOnRequest(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	f, _ := follow(t, ix, w, FollowerOptions{Interval: time.Hour})
	w.put(note("d1", "A", "w1"))
	f.Poll()
	f.Poll()
	eventually(t, "the document is there", holdsAll(ix, w))
}

func TestFollowerFindsDamageInWhatWasReadBefore(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	many(w, 200)
	dir := t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	catchUp(t, ix, w)
	before := found(t, ix, "w1 w2 w3") // verified by now
	name := glob(t, dir, segmentSuffix)[0]
	flip(t, name)
	var out safeBuffer
	ix.log = slog.New(slog.NewTextHandler(&out, nil))
	_, stop := follow(t, ix, w, FollowerOptions{Interval: time.Hour, VerifyEvery: 5 * time.Millisecond})
	eventually(t, "the damaged file is gone", func() bool {
		_, err := os.Stat(name)
		return err != nil && holdsAll(ix, w)()
	})
	stop()
	checkComplete(t, ix, w)
	if after := found(t, ix, "w1 w2 w3"); !slices.Equal(before, after) {
		t.Errorf("found %v, before %v", after, before)
	}
	if !strings.Contains(out.String(), "is damaged; rebuilding it") {
		t.Errorf("the log says %s", out.String())
	}
}

// flip changes one bit in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	middle := len(data) / 2
	if _, err := f.WriteAt([]byte{data[middle] ^ 1}, int64(middle)); err != nil {
		t.Fatal(err)
	}
}

// gatedLog blocks reads of changes while it is shut. A read ends with its context, so that a failing test does not
// hang.
type gatedLog struct {
	*memoryLog
	mu   sync.Mutex
	gate chan struct{} // closed to open the log; nil while it is open
}

func (g *gatedLog) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate = make(chan struct{})
}

func (g *gatedLog) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.gate)
	g.gate = nil
}

func (g *gatedLog) Changes(ctx context.Context, after, through uint64, limit int) ([]search.Change, error) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.memoryLog.Changes(ctx, after, through, limit)
}

// mergeAll runs all merges that are due. A merge that commits while a test deletes files would write a new manifest, or
// leave a file in the folder that is being deleted.
func mergeAll(t *testing.T, ix *Index) {
	t.Helper()
	for merged := true; merged; {
		var err error
		if merged, err = ix.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeletedIndexIsRebuiltWhileTheOldOneServes(t *testing.T) {
	t.Parallel()
	for _, remove := range []string{"", manifestName} {
		t.Run("without "+remove, func(t *testing.T) {
			t.Parallel()
			log := &gatedLog{memoryLog: newMemoryLog()}
			many(log.memoryLog, 50)
			dir := filepath.Join(t.TempDir(), "index")
			ix := open(t, dir, Options{FS: quick()})
			_, stop := follow(t, ix, log, FollowerOptions{BatchDocuments: 8})
			eventually(t, "the index is built", holdsAll(ix, log.memoryLog))
			stop()
			mergeAll(t, ix)

			log.shut()
			if err := os.RemoveAll(filepath.Join(dir, remove)); err != nil {
				t.Fatal(err)
			}
			f, stop := follow(t, ix, log, FollowerOptions{BatchDocuments: 8})
			eventually(t, "the rebuild has begun", func() bool { return ix.Status().Rebuilding })
			if got := found(t, ix, "w1"); len(got) != 50 {
				t.Errorf("found %d documents during the rebuild, want all 50", len(got))
			}
			if got := ix.Status(); got.Documents != 50 || len(got.Covered) != 0 {
				t.Errorf("stats during the rebuild are %+v", got)
			}
			eventually(t, "the progress shows the rebuild", func() bool {
				p := f.Progress()
				return p.Rebuilding && p.Missing == 50
			})
			log.open()

			eventually(t, "the new index answers", func() bool { return !ix.Status().Rebuilding })
			stop()
			checkComplete(t, ix, log.memoryLog)
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, dir, Options{FS: quick()})
			checkComplete(t, again, log.memoryLog)
		})
	}
}

func TestIndexAheadOfTheLogIsRebuilt(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	many(w, 40)
	ix := open(t, dir, Options{FS: quick()})
	catchUp(t, ix, w)
	restored := newMemoryLog()
	restored.put(note("other", "A", "w1"))
	var reported []uint64
	_, stop := follow(t, ix, restored, FollowerOptions{OnAdvance: func(n uint64) { reported = append(reported, n) }})
	eventually(t, "the index is of the restored documents", func() bool { return ix.Status().Documents == 1 })
	stop()
	checkComplete(t, ix, restored)
	if ix.Status().Rebuilding {
		t.Error("the old index answers for other documents")
	}
}

func TestFollowerNoticesARestoredDatabaseThatWasWrittenTo(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, 2 * compared} { // number of lost changes
		w, restored := newMemoryLog(), newMemoryLog()
		many(w, 40)
		many(restored, 40)
		ix := open(t, t.TempDir(), Options{FS: quick()})
		for i := range size {
			w.put(note(fmt.Sprint("lost", i), "A", "w1"))
		}
		catchUp(t, ix, w)
		for i := range size + 3 {
			restored.put(note(fmt.Sprint("fresh", i), "A", "w1"))
		}
		_, stop := follow(t, ix, restored, FollowerOptions{})
		eventually(t, "the index is of the restored documents", func() bool { return ix.Status().Documents == 40+size+3 })
		stop()
		checkComplete(t, ix, restored)
	}
}

func TestFollowerKeepsAnIndexOfItsLog(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	dir := t.TempDir()
	many(w, 40)
	ix := open(t, dir, Options{FS: quick()})
	catchUp(t, ix, w)
	w.drop("A")
	w.put(note("d7", "B", "w1"))
	w.delete("d8")
	catchUp(t, ix, w)
	for step, change := range []func(){
		func() {}, func() { w.put(note("d7", "B", "w2")) }, func() { w.delete("d10") }, func() { w.drop("B") }, func() {
			w.put(note("new", "B", "w2"))
		},
	} {
		change() // while no follower runs
		if matchesLog, err := ix.matchesLog(context.Background(), w); err != nil || !matchesLog {
			t.Errorf("step %d: taken for another log, %v", step, err)
		}
		if step > 2 {
			catchUp(t, ix, w)
		}
	}
	if matchesLog, err := ix.matchesLog(context.Background(), w); err != nil || !matchesLog {
		t.Errorf("taken for another log, %v", err)
	}
}

// failingLog fails for a while.
type failingLog struct {
	*memoryLog
	failures atomic.Int64
}

func (l *failingLog) Changes(ctx context.Context, after, through uint64, limit int) ([]search.Change, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, errors.New("database is away")
	}
	return l.memoryLog.Changes(ctx, after, through, limit)
}

func TestFollowerTriesAgain(t *testing.T) {
	t.Parallel()
	log := &failingLog{memoryLog: newMemoryLog()}
	log.failures.Store(3)
	many(log.memoryLog, 10)
	ix := open(t, t.TempDir(), Options{FS: quick()})
	f, stop := follow(t, ix, log, FollowerOptions{})
	eventually(t, "the index is built", holdsAll(ix, log.memoryLog))
	eventually(t, "the error is forgotten", func() bool { return f.Progress().Error == nil })
	stop()
	checkComplete(t, ix, log.memoryLog)
}

func TestARebuildIsLogged(t *testing.T) {
	t.Parallel()
	log := &gatedLog{memoryLog: newMemoryLog()}
	many(log.memoryLog, longRun)
	var out safeBuffer
	ix := open(t, t.TempDir(), Options{FS: quick()})
	log.shut()
	_, stop := follow(t, ix, log, FollowerOptions{
		BatchDocuments: 1000, ReportEvery: time.Millisecond, Log: slog.New(slog.NewTextHandler(&out, nil)),
	})
	eventually(t, "the start and progress are logged", func() bool { return strings.Contains(out.String(), "percent=0") })
	log.open()
	eventually(t, "the index is built", holdsAll(ix, log.memoryLog))
	eventually(t, "the end is logged", func() bool { return strings.Contains(out.String(), "has caught up") })
	stop()
	if !strings.Contains(out.String(), "missing=5000") || !strings.Contains(out.String(), "documents=5000") {
		t.Errorf("log says\n%s", out.String())
	}
}

// safeBuffer is a buffer that may be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestBigDocumentsAreReadFewAtATime(t *testing.T) {
	t.Parallel()
	p := pager{limit: firstPage}
	small, big := make([]search.Change, 64), make([]search.Change, 64)
	for i := range big {
		big[i].Document.Text = strings.Repeat("x", 1<<20)
	}
	for range 20 {
		p.adapt(small)
	}
	if p.limit != maxPage {
		t.Errorf("limit for small documents is %d, want %d", p.limit, maxPage)
	}
	for range 20 {
		p.adapt(big)
	}
	if p.limit != 1 {
		t.Errorf("limit for big documents is %d, want 1", p.limit)
	}
}

func TestBatchesOfALongRunAreEqual(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	many(w, longRun+1)
	for _, c := range []struct {
		builders, limit int
		want            []int
	}{
		{1, 4000, []int{2501, 2500}},
		{2, 4000, []int{2501, 2500}},
		{2, 2000, []int{1251, 1251, 1251, 1248}},
		{3, 9000, []int{1667, 1667, 1667}},
	} {
		f := NewFollower(nil, w, FollowerOptions{Builders: c.builders, BatchDocuments: c.limit, Log: quiet})
		batches := make(chan changeBatch, 10)
		spans := []search.Span{{Through: longRun + 1}}
		if err := f.read(t.Context(), spans, f.evenBatch(longRun+1), batches); err != nil {
			t.Fatal(err)
		}
		close(batches)
		var got []int
		for b := range batches {
			got = append(got, len(b.changes))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d builders, at most %d documents: batches of %v, want %v", c.builders, c.limit, got, c.want)
		}
	}
	f := NewFollower(nil, w, FollowerOptions{Builders: 2, BatchDocuments: 4000, Log: quiet})
	if got := f.evenBatch(longRun - 1); got != 4000 {
		t.Errorf("a short run has batches of %d documents, want 4000", got)
	}
}
