package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/store/sqlite"
)

// inWrite marks the context of a transaction.
type inWrite struct{}

// mustNotNest panics if a write is submitted inside another. On SQLite the write would wait for itself, on PostgreSQL
// possibly for a lock of its own caller.
func mustNotNest(ctx context.Context) {
	if ctx.Value(inWrite{}) != nil {
		panic("store: a write inside a write would deadlock")
	}
}

// recoverPanic runs fn and turns a panic into an error. On SQLite, fn runs on the goroutine shared by all writes.
func recoverPanic(ctx context.Context, tx querier, fn writeFunc) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(ctx, tx)
}

const (
	// maxBatch and maxHold limit the writes that share a commit, and so the delay of the first one.
	maxBatch = 128
	maxHold  = 10 * time.Millisecond
)

// job is a submitted write: a single statement, or the body of a transaction.
type job struct {
	ctx   context.Context
	query string
	args  args
	dest  []any
	fn    writeFunc
	bulk  bool
	// outsideTx is set for a statement that cannot run in a transaction, such as VACUUM.
	outsideTx bool

	state    atomic.Int32
	affected int64
	err      error
	tainted  bool // failed after changing rows
	done     chan struct{}
}

// The states of a job. The side that moves it out of jobQueued decides its fate.
const (
	jobQueued int32 = iota
	jobStarted
	jobAbandoned // the context of its caller has ended
)

// batchWriter is SQLite's only writer. It runs all waiting writes in one transaction with one commit, because a sync to
// disk costs the same for one write as for a hundred. Callers return only after the commit.
type batchWriter struct {
	open func() (*sqlite.Conn, error)
	wal  *walIndex

	mu      sync.Mutex
	arrived sync.Cond
	queue   []*job
	closed  bool
	ended   chan struct{}

	// The fields below are used by the writer goroutine only.
	conn    *sqlite.Conn
	log     checkpoints
	ctx     context.Context // of every transaction: a started write is not cancelled
	batch   []*job
	begun   walHeader // the state of the database when the transaction began
	changed bool      // the running job has changed rows
	hold    time.Duration

	writes, commits atomic.Int64
}

func newBatchWriter(wal *walIndex, open, checkpointing func() (*sqlite.Conn, error)) *batchWriter {
	w := &batchWriter{
		open: open, wal: wal, log: checkpoints{open: checkpointing, next: checkpointAfter},
		ended: make(chan struct{}), hold: maxHold,
		ctx: context.WithValue(context.Background(), inWrite{}, true),
	}
	w.arrived.L = &w.mu
	go w.run()
	return w
}

func (w *batchWriter) statement(ctx context.Context, query string, a args, dest []any) (int64, error) {
	j := &job{ctx: ctx, query: query, args: a, dest: dest, done: make(chan struct{})}
	err := w.submit(j)
	return j.affected, err
}

func (w *batchWriter) transaction(ctx context.Context, bulk bool, fn writeFunc) error {
	return w.submit(&job{ctx: ctx, fn: fn, bulk: bulk, done: make(chan struct{})})
}

// execOutsideTx runs a statement outside of a transaction.
func (w *batchWriter) execOutsideTx(ctx context.Context, query string) error {
	return w.submit(&job{ctx: ctx, query: query, bulk: true, outsideTx: true, done: make(chan struct{})})
}

// submit queues the job and waits for its result. If the caller's context ends while the job is still queued, the job
// is dropped; once the job has started, submit waits for its outcome.
func (w *batchWriter) submit(j *job) error {
	mustNotNest(j.ctx)
	if err := j.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, j)
	w.mu.Unlock()
	w.arrived.Signal()
	select {
	case <-j.done:
	case <-j.ctx.Done():
		if j.state.CompareAndSwap(jobQueued, jobAbandoned) {
			return j.ctx.Err()
		}
		<-j.done
	}
	return j.err
}

// run is the writer goroutine. It ends after close, when all queued jobs are done.
func (w *batchWriter) run() {
	defer close(w.ended)
	for first := w.wait(); first != nil; first = w.wait() {
		if first.outsideTx {
			w.runOutsideTx(first)
			continue
		}
		w.commitBatch(first)
		if w.conn != nil {
			w.log.committed(w.conn, w.wal.frames())
		}
	}
	w.log.wait()
	w.disconnect()
}

// wait returns the next job, or nil after close.
func (w *batchWriter) wait() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 {
		if w.closed {
			return nil
		}
		w.arrived.Wait()
	}
	return w.pop()
}

// more returns a waiting job that may join the batch, or nil.
func (w *batchWriter) more() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].bulk {
		return nil
	}
	return w.pop()
}

// pop removes the first job. The caller holds mu, and the queue is not empty.
func (w *batchWriter) pop() *job {
	j := w.queue[0]
	w.queue[0] = nil
	w.queue = w.queue[1:]
	return j
}

// runOutsideTx runs a job that cannot be part of a transaction.
func (w *batchWriter) runOutsideTx(j *job) {
	if !j.state.CompareAndSwap(jobQueued, jobStarted) {
		return
	}
	w.log.wait() // otherwise a checkpoint that truncates the log would fail
	if j.err = w.connect(); j.err == nil {
		_, j.err = w.conn.Exec(j.query)
	}
	close(j.done)
}

// commitBatch runs the job and the waiting jobs in one transaction.
func (w *batchWriter) commitBatch(first *job) {
	w.mu.Lock()
	waiting := len(w.queue)
	w.mu.Unlock()
	if err := w.begin(); err != nil {
		// The jobs that were already queued have waited for the file just as long.
		w.reject(first, err)
		for range waiting {
			w.reject(w.wait(), err)
		}
		return
	}
	started := time.Now()
	outcome := intact
	for j := first; j != nil; j = w.more() {
		if !j.state.CompareAndSwap(jobQueued, jobStarted) {
			continue
		}
		w.batch = append(w.batch, j)
		outcome = w.runJob(j)
		if outcome != intact || j.bulk || len(w.batch) == maxBatch || time.Since(started) > w.hold {
			break
		}
	}
	for outcome == tainted {
		outcome = w.rerunBatch()
	}
	w.end(outcome == lost)
}

// outcome is the effect of a job on the transaction that it shares.
type outcome int

const (
	intact  outcome = iota // succeeded, or failed before changing anything
	tainted                // failed after changing rows, which must be undone
	lost                   // SQLite may have ended the transaction
)

// runJob runs one job of a batch. Jobs have no savepoints: those cost as much as the writes themselves, and jobs that
// fail after changing rows are rare.
func (w *batchWriter) runJob(j *job) outcome {
	if j.err = j.ctx.Err(); j.err != nil {
		return intact
	}
	w.changed = false
	switch {
	case j.fn != nil:
		j.err = recoverPanic(w.ctx, w, j.fn)
	case j.dest != nil:
		j.err = get(w.ctx, w, j.query, j.args, j.dest...)
	default:
		j.affected, j.err = w.exec(w.ctx, j.query, j.args...)
	}
	switch {
	case j.err == nil:
		return intact
	case mayEndTransaction(j.err):
		return lost
	case w.changed:
		j.tainted = true
		return tainted
	}
	return intact
}

// rerunBatch rolls the transaction back and runs its jobs again, without the tainted ones. No caller has received a
// result yet, so the retry is invisible.
func (w *batchWriter) rerunBatch() outcome {
	if w.control("ROLLBACK") != nil || w.control("BEGIN IMMEDIATE") != nil {
		return lost
	}
	for _, j := range w.batch {
		if j.tainted {
			continue
		}
		if outcome := w.runJob(j); outcome != intact {
			return outcome
		}
	}
	return intact
}

// end commits, or rolls back a lost transaction, and completes all jobs of the batch.
func (w *batchWriter) end(lost bool) {
	err := w.lostBy()
	if !lost {
		err = w.wal.commit(w.begun, w.conn.Watched(), func() error { return w.control("COMMIT") })
	}
	if err != nil {
		// The state of the connection is unknown; the next batch opens a new one.
		_ = w.control("ROLLBACK")
		w.disconnect()
	} else {
		w.commits.Add(1)
	}
	for i, j := range w.batch {
		if err != nil && j.err == nil {
			j.err = &lostError{err}
		}
		w.writes.Add(1)
		close(j.done)
		w.batch[i] = nil
	}
	w.batch = w.batch[:0]
}

// lostBy returns the error of the write that may have ended the transaction, the last one of the batch.
func (w *batchWriter) lostBy() error {
	for _, j := range slices.Backward(w.batch) {
		if j.err != nil && mayEndTransaction(j.err) {
			return fmt.Errorf("another write in the same transaction failed: %w", j.err)
		}
	}
	return errors.New("another write in the same transaction failed")
}

// lostError is the error of valid writes whose batch was rolled back.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the transaction was lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// reject completes a job that never ran.
func (w *batchWriter) reject(j *job, err error) {
	if j.state.CompareAndSwap(jobQueued, jobStarted) {
		j.err = err
		close(j.done)
	}
}

// begin starts the transaction, waiting up to the busy timeout for other processes.
func (w *batchWriter) begin() error {
	if err := w.connect(); err != nil {
		return err
	}
	err := w.control("BEGIN IMMEDIATE")
	if err != nil && classify(err) != classUnavailable {
		w.disconnect()
	}
	if err == nil {
		w.begun = w.wal.begun()
		_ = w.conn.Watched()
	}
	return err
}

// connect opens the connection if there is none.
func (w *batchWriter) connect() (err error) {
	if w.conn == nil {
		if w.conn, err = w.open(); err == nil {
			w.conn.Watch(writtenTables)
		}
	}
	return err
}

// disconnect discards the connection; the next batch opens a new one.
func (w *batchWriter) disconnect() {
	if w.conn != nil {
		_ = w.conn.Close() // every transaction has ended or is given up
		w.conn = nil
	}
}

func (w *batchWriter) control(statement string) error {
	_, err := w.conn.Exec(statement)
	return err
}

func (w *batchWriter) exec(_ context.Context, query string, a ...any) (int64, error) {
	n, err := w.conn.Exec(query, a...)
	w.changed = w.changed || n > 0
	return n, err
}

func (w *batchWriter) each(_ context.Context, query string, a args, dest []any, row func() error) error {
	seen, err := w.conn.Query(query, a, dest, row)
	w.changed = w.changed || seen > 0 && !strings.HasPrefix(strings.TrimLeft(query, "\n\t "), "SELECT")
	return err
}

func (w *batchWriter) stats() Stats {
	return Stats{Writes: w.writes.Load(), Commits: w.commits.Load()}
}

// close completes all queued jobs and stops the goroutine.
func (w *batchWriter) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.arrived.Signal()
	<-w.ended
	return nil
}
