package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/agent"
	"carrel/internal/core"
)

// notebook is a database with a table of notes.
type notebook struct {
	*DB
	t    *testing.T
	w    *batchWriter
	path string
}

func newNotebook(t *testing.T) *notebook {
	t.Helper()
	path := filepath.Join(t.TempDir(), "carrel.db")
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	n := &notebook{DB: db, t: t, w: db.write.(*batchWriter), path: path}
	n.must(n.put("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, n INTEGER) STRICT"))
	n.setHold(time.Hour) // a slow machine must not split the batches of a test
	return n
}

// setHold sets the maximum duration of a batch, on the writer goroutine.
func (n *notebook) setHold(hold time.Duration) {
	n.t.Helper()
	n.must(n.inTx(n.t.Context(), func(context.Context, querier) error {
		n.w.hold = hold
		return nil
	}))
}

func (n *notebook) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *notebook) put(query string, a ...any) error {
	_, err := n.exec(n.t.Context(), query, a...)
	return err
}

const insertNote = "INSERT INTO note (id, n) VALUES ($1, 1)"

// noteIn inserts a note inside a transaction.
func noteIn(ctx context.Context, tx querier, id string) error {
	_, err := tx.exec(ctx, insertNote, id)
	return err
}

func (n *notebook) ids() string {
	n.t.Helper()
	var id string
	var ids []string
	n.must(n.read.each(n.t.Context(), "SELECT id FROM note ORDER BY id", nil, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	}))
	return strings.Join(ids, " ")
}

func (n *notebook) wantIDs(want string) {
	n.t.Helper()
	if got := n.ids(); got != want {
		n.t.Errorf("stored %q, want %q", got, want)
	}
}

// hold blocks the writer until the returned function is called, which then waits for the blocking write.
func (n *notebook) hold() (release func()) {
	n.t.Helper()
	started, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- n.inBulkTx(context.Background(), func(context.Context, querier) error {
			close(started)
			<-gate
			return nil
		})
	}()
	<-started
	return func() {
		n.t.Helper()
		close(gate)
		n.must(<-done)
	}
}

// waiting returns once that many jobs are queued.
func (n *notebook) waiting(count int) {
	n.t.Helper()
	for range 100_000 {
		n.w.mu.Lock()
		queued := len(n.w.queue)
		n.w.mu.Unlock()
		if queued == count {
			return
		}
		time.Sleep(time.Millisecond)
	}
	n.t.Fatalf("never were %d writes waiting", count)
}

// queue submits the writes one after the other while the writer is blocked, releases it, and returns their errors and
// the number of commits.
func (n *notebook) queue(writes ...func() error) (errs []error, commits int64) {
	n.t.Helper()
	release := n.hold()
	before := n.Stats().Commits
	errs = make([]error, len(writes))
	var wg sync.WaitGroup
	for i, write := range writes {
		wg.Go(func() { errs[i] = write() })
		n.waiting(i + 1)
	}
	release()
	wg.Wait()
	return errs, n.Stats().Commits - before - 1
}

func TestConcurrentWritesShareCommits(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	const writers, rounds = 32, 30
	write := func(i, k int) {
		var err error
		if id := fmt.Sprintf("%d/%d", i, k); k%2 == 0 {
			err = n.put(insertNote, id)
		} else {
			err = n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
				return errors.Join(noteIn(ctx, tx, id), noteIn(ctx, tx, id+"+"))
			})
		}
		if err != nil {
			t.Error(err)
		}
	}
	before := n.Stats()
	release := n.hold()
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { write(i, 0) })
	}
	n.waiting(writers)
	release()
	wg.Wait()
	// The write that held the others has a commit of its own.
	if commits := n.Stats().Commits - before.Commits; commits != 2 {
		t.Errorf("%d commits for %d waiting writes, want 2", commits, writers)
	}
	for i := range writers {
		wg.Go(func() {
			for k := 1; k < rounds; k++ {
				write(i, k)
			}
		})
	}
	wg.Wait()
	if writes := n.Stats().Writes - before.Writes; writes != writers*rounds+1 {
		t.Errorf("%d writes, want %d", writes, writers*rounds+1)
	}
	n.must(n.Close())
	again, err := Open(t.Context(), Options{Path: n.path})
	n.must(err)
	defer func() { n.must(again.Close()) }()
	rows, err := again.Count(t.Context(), "note")
	if err != nil || rows != writers*rounds*3/2 {
		t.Errorf("%d rows after reopening (%v), want %d", rows, err, writers*rounds*3/2)
	}
}

func TestFailedWriteDoesNotAffectItsBatch(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.must(n.put(insertNote, "taken"))
	refused := errors.New("refused")
	errs, commits := n.queue(
		func() error { return n.put(insertNote, "a") },
		func() error {
			return n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
				n.must(noteIn(ctx, tx, "lost by refusal"))
				return refused
			})
		},
		func() error {
			return n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
				n.must(noteIn(ctx, tx, "lost by panic"))
				panic("in a write")
			})
		},
		func() error {
			return n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
				n.must(noteIn(ctx, tx, "lost by a clash"))
				return noteIn(ctx, tx, "taken")
			})
		},
		func() error { return n.put(insertNote, "taken") },
		func() error {
			return n.inTx(t.Context(), func(ctx context.Context, tx querier) error { return noteIn(ctx, tx, "b") })
		},
	)
	if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] == nil ||
		!strings.Contains(errs[2].Error(), "panic in a write: in a write") ||
		classify(errs[3]) != classUnique || classify(errs[4]) != classUnique || errs[5] != nil {
		t.Errorf("errors: %v", errs)
	}
	// Each tainted job ends its batch; a job that failed at its first statement does not.
	if commits != 4 {
		t.Errorf("%d commits, want 4", commits)
	}
	n.wantIDs("a b taken")
}

func TestFullDiskFailsOnlyItsBatch(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.must(n.put("CREATE TABLE big (b BLOB) STRICT"))
	n.must(n.put("PRAGMA max_page_count = 100"))
	errs, _ := n.queue(
		func() error { return n.put(insertNote, "a") },
		func() error { return n.put("INSERT INTO big VALUES (zeroblob(1000000))") },
		func() error { return n.put(insertNote, "b") },
	)
	if err := fail("write", "note", errs[0]); !core.IsKind(err, core.KindUnavailable) {
		t.Errorf("the write before it: %v, want unavailable", err)
	}
	if errs[1] == nil || errs[2] != nil {
		t.Errorf("errors: %v", errs)
	}
	n.wantIDs("b")
}

func TestRerunWritesAreStoredOnce(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.must(n.put(insertNote, "tally"))
	runs := 0
	add := func() error {
		return n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			runs++
			_, err := tx.exec(ctx, "UPDATE note SET n = n + 1 WHERE id = 'tally'")
			return err
		})
	}
	spoiler := func() error {
		return n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			n.must(noteIn(ctx, tx, "x"))
			return errors.New("refused")
		})
	}
	var returned int
	errs, _ := n.queue(add, add, func() error {
		err := n.execReturning(t.Context(), "UPDATE note SET n = n + 1 WHERE id = 'tally' RETURNING n", nil,
			[]any{&returned})
		return err
	}, func() error { return n.put(insertNote, "tally") }, spoiler, add)
	if errs[0] != nil || errs[1] != nil || errs[2] != nil || classify(errs[3]) != classUnique || errs[4] == nil ||
		errs[5] != nil {
		t.Errorf("errors: %v", errs)
	}
	if runs != 5 {
		t.Errorf("the two before the spoiler and the one after it ran %d times, want 5", runs)
	}
	if returned != 4 {
		t.Errorf("the statement returned %d, want 4", returned)
	}
	var total int
	n.must(get(t.Context(), n.read, "SELECT n FROM note", nil, &total))
	if total != 5 {
		t.Errorf("stored %d, want 5", total)
	}
}

func TestWriteWithAScanErrorIsRolledBack(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	var number int
	err := n.execReturning(t.Context(), insertNote+" RETURNING id", args{"not a number"}, []any{&number})
	if err == nil {
		t.Error("a text was read as a number")
	}
	n.wantIDs("")
}

func TestQueuedWriteIsDroppedWithItsContext(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	release := n.hold()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := n.exec(ctx, insertNote, "dropped")
		left <- err
	}()
	n.waiting(1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) { // while the writer is still blocked
		t.Errorf("got %v, want that the context was cancelled", err)
	}
	release()
	n.must(n.put(insertNote, "after"))
	n.wantIDs("after")
}

func TestStartedWriteIsCompleted(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := n.inTx(ctx, func(ctx context.Context, tx querier) error {
		cancel()
		return errors.Join(noteIn(ctx, tx, "carried"), noteIn(ctx, tx, "through"))
	})
	if err != nil {
		t.Error(err)
	}
	n.wantIDs("carried through")
}

func TestNestedWritePanics(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	for name, inner := range map[string]func(context.Context) error{
		"one": func(ctx context.Context) error { _, err := n.exec(ctx, insertNote, "inner"); return err },
		"all": func(ctx context.Context) error {
			return n.inTx(ctx, func(context.Context, querier) error { return nil })
		},
	} {
		err := n.inTx(t.Context(), func(ctx context.Context, _ querier) error { return inner(ctx) })
		if err == nil || !strings.Contains(err.Error(), "a write inside a write") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	n.must(n.put(insertNote, "after"))
	n.wantIDs("after")
}

func TestBulkWritesDoNotShareACommit(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	put := func(id string, bulk bool) func() error {
		return func() error {
			return n.write.transaction(t.Context(), bulk,
				func(ctx context.Context, tx querier) error { return noteIn(ctx, tx, id) })
		}
	}
	errs, commits := n.queue(put("a", false), put("b", false), put("bulk", true), put("c", false), put("d", false))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if commits != 3 {
		t.Errorf("%d commits, want 3: before, bulk, after", commits)
	}
	n.wantIDs("a b bulk c d")
}

func TestBatchIsLimitedByTime(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.setHold(maxHold)
	slow := func() error {
		return n.inTx(t.Context(), func(context.Context, querier) error {
			time.Sleep(maxHold + time.Millisecond)
			return nil
		})
	}
	if _, commits := n.queue(slow, slow, slow); commits != 3 {
		t.Errorf("%d commits, want 3", commits)
	}
}

func TestFileLockedByAnotherProcessIsUnavailable(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.must(n.put("PRAGMA busy_timeout = 20"))
	other, err := sql.Open("sqlite", sqliteDSN(n.path, "_txlock=immediate"))
	n.must(err)
	defer func() { n.must(other.Close()) }()
	tx, err := other.Begin()
	n.must(err)
	err = n.SetPlan(t.Context(), "usr_none", core.PlanNone)
	if !core.IsKind(err, core.KindUnavailable) || core.AsError(err).RetryAfter != time.Second {
		t.Errorf("got %v, want unavailable", err)
	}
	if _, err := n.Agents(t.Context(), "usr_none", nil, agent.Position{}, 1); err != nil {
		t.Errorf("reading meanwhile: %v", err)
	}
	n.must(tx.Rollback())
	n.must(n.put(insertNote, "after"))
	n.wantIDs("after")
}

func TestAllWritesWaitingForABusyFileFailTogether(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.must(n.put("PRAGMA busy_timeout = 20"))
	other, err := sql.Open("sqlite", sqliteDSN(n.path, "_txlock=immediate"))
	n.must(err)
	defer func() { n.must(other.Close()) }()
	tx, err := other.Begin()
	n.must(err)
	jobs := make([]*job, 5)
	for i := range jobs {
		jobs[i] = &job{ctx: t.Context(), query: insertNote, args: args{strconv.Itoa(i)}, done: make(chan struct{})}
	}
	before := n.Stats().Statements
	n.w.mu.Lock() // the writer finds all of them when it starts
	n.w.queue = append(n.w.queue, jobs...)
	n.w.mu.Unlock()
	n.w.arrived.Signal()
	for i, j := range jobs {
		<-j.done
		if classify(j.err) != classUnavailable {
			t.Errorf("write %d returned %v, want unavailable", i, j.err)
		}
	}
	if attempts := n.Stats().Statements - before; attempts != 1 {
		t.Errorf("%d attempts to lock the file, want one for all writes", attempts)
	}
	n.must(tx.Rollback())
	n.must(n.put(insertNote, "after"))
	n.wantIDs("after")
}

func TestCloseCompletesQueuedWrites(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	release := n.hold()
	const callers = 10
	errs := make(chan error, callers)
	for i := range callers {
		go func() { errs <- n.put(insertNote, strconv.Itoa(i)) }()
	}
	n.waiting(callers)
	closed := make(chan error)
	go func() { closed <- n.Close() }()
	release()
	n.must(<-closed)
	for range callers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := n.SetPlan(t.Context(), "usr_none", core.PlanNone); !core.IsKind(err, core.KindUnavailable) {
		t.Errorf("after closing: %v, want unavailable", err)
	}
}

func TestWriterSyncsEachCommitAndBoundsTheLog(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	for setting, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "secure_delete": "1",
		"wal_autocheckpoint": "0", "cache_size": "-8000",
	} {
		var got string
		n.must(n.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			return get(ctx, tx, "PRAGMA "+setting, nil, &got)
		}))
		if got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
	n.must(n.put("CREATE TABLE big (b BLOB) STRICT"))
	for range 40 {
		n.must(n.put("INSERT INTO big VALUES (zeroblob(1000000))"))
	}
	log, err := os.Stat(n.path + "-wal")
	n.must(err)
	if log.Size() > 20<<20 {
		t.Errorf("the log has %d bytes after writing 40 MB", log.Size())
	}
}
