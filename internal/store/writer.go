package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// inWrite marks the context inside a transaction.
type inWrite struct{}

// mustNotNest panics when a write is asked for inside another. On SQLite it would wait for itself, on PostgreSQL it
// could wait for a lock that its own caller holds.
func mustNotNest(ctx context.Context) {
	if ctx.Value(inWrite{}) != nil {
		panic("store: a write inside a write would wait for itself")
	}
}

// guard runs fn and turns a panic into an error: on SQLite it runs on the goroutine that writes for everybody.
func guard(ctx context.Context, tx querier, fn writeFunc) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(ctx, tx)
}

const (
	// maxBatch and maxHold bound the writes that share a commit, so that the first does not wait long for the last.
	maxBatch = 128
	maxHold  = 10 * time.Millisecond
)

// job is one write on its way: a single statement, or the body of a transaction.
type job struct {
	ctx   context.Context
	query string
	args  args
	dest  []any
	fn    writeFunc
	bulk  bool
	// alone says that the statement runs outside of a transaction, as VACUUM has to.
	alone bool

	state    atomic.Int32
	affected int64
	err      error
	tainted  bool // failed after it changed something
	done     chan struct{}
}

// The states of a job. Whoever takes it out of queued decides what becomes of it.
const (
	jobQueued int32 = iota
	jobStarted
	jobLeft // its caller has gone
)

// batchWriter is SQLite's only writer. It takes whatever writes are waiting, runs them in one transaction and commits
// once: a sync to disk costs the same for one write as for a hundred. Nobody is answered before the commit.
type batchWriter struct {
	owner *sql.DB // has at most one connection

	mu      sync.Mutex
	arrived sync.Cond
	queue   []*job
	closed  bool
	ended   chan struct{}

	// What follows belongs to the goroutine alone.
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	ctx        context.Context // of every statement: a write that has started is carried through
	batch      []*job
	changed    bool // the job that runs has changed something
	hold       time.Duration

	writes, commits atomic.Int64
}

func newBatchWriter(owner *sql.DB) *batchWriter {
	w := &batchWriter{
		owner: owner, ended: make(chan struct{}), hold: maxHold,
		ctx: context.WithValue(context.Background(), inWrite{}, true),
	}
	w.arrived.L = &w.mu
	go w.run()
	return w
}

func (w *batchWriter) one(ctx context.Context, query string, a args, dest []any) (int64, error) {
	j := &job{ctx: ctx, query: query, args: a, dest: dest, done: make(chan struct{})}
	err := w.submit(j)
	return j.affected, err
}

func (w *batchWriter) all(ctx context.Context, bulk bool, fn writeFunc) error {
	return w.submit(&job{ctx: ctx, fn: fn, bulk: bulk, done: make(chan struct{})})
}

// plain runs a statement outside of a transaction.
func (w *batchWriter) plain(ctx context.Context, query string) error {
	return w.submit(&job{ctx: ctx, query: query, bulk: true, alone: true, done: make(chan struct{})})
}

// submit hands the job in and waits for its end. A caller whose context ends while the job still waits leaves with
// the context's error and the job is dropped; once it has started its outcome is waited for.
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
		if j.state.CompareAndSwap(jobQueued, jobLeft) {
			return j.ctx.Err()
		}
		<-j.done
	}
	return j.err
}

// run is the writing goroutine. It ends when the writer is closed and all that was handed in is done.
func (w *batchWriter) run() {
	defer close(w.ended)
	for first := w.wait(); first != nil; first = w.wait() {
		if first.alone {
			w.runAlone(first)
			continue
		}
		w.commitBatch(first)
	}
	w.disconnect()
}

// wait returns the next job, or nil when there will be no more.
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

// more returns a job that is waiting already and may share the batch, or nil.
func (w *batchWriter) more() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].bulk {
		return nil
	}
	return w.pop()
}

// pop takes the first job. The caller holds mu and knows that there is one.
func (w *batchWriter) pop() *job {
	j := w.queue[0]
	w.queue[0] = nil
	w.queue = w.queue[1:]
	return j
}

// runAlone runs the statement of a job that can't be in a transaction.
func (w *batchWriter) runAlone(j *job) {
	if !j.state.CompareAndSwap(jobQueued, jobStarted) {
		return
	}
	if j.err = w.connect(); j.err == nil {
		_, j.err = w.conn.ExecContext(w.ctx, j.query)
	}
	close(j.done)
}

// commitBatch runs the job, and those that are waiting by then, in one transaction.
func (w *batchWriter) commitBatch(first *job) {
	w.mu.Lock()
	waiting := len(w.queue)
	w.mu.Unlock()
	if err := w.begin(); err != nil {
		// Those who were there have waited just as long for the file as the first.
		w.answer(first, err)
		for range waiting {
			w.answer(w.wait(), err)
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
		outcome = w.runAgain()
	}
	w.end(outcome == lost)
}

// outcome is the state in which a job leaves the transaction that it shares.
type outcome int

const (
	intact  outcome = iota // it succeeded, or failed before it changed anything
	tainted                // it failed half way: what it changed must go
	lost                   // SQLite may have ended the transaction
)

// runJob runs one job of a batch. Jobs have no savepoints to go back to: those cost as much as the writes themselves,
// and a job that fails after it changed something is rare.
func (w *batchWriter) runJob(j *job) outcome {
	if j.err = j.ctx.Err(); j.err != nil {
		return intact
	}
	w.changed = false
	switch {
	case j.fn != nil:
		j.err = guard(w.ctx, w, j.fn)
	case j.dest != nil:
		j.err = get(w.ctx, w, j.query, j.args, j.dest...)
	default:
		j.affected, j.err = w.exec(w.ctx, j.query, j.args...)
	}
	switch {
	case j.err == nil:
		return intact
	case spoils(j.err):
		return lost
	case w.changed:
		j.tainted = true
		return tainted
	}
	return intact
}

// runAgain undoes the whole transaction and runs it anew, without the jobs that failed half way. None of the others
// was answered yet, so nobody can tell.
func (w *batchWriter) runAgain() outcome {
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

// end commits or, when the transaction is lost, makes sure of it, and answers everybody in the batch.
func (w *batchWriter) end(lost bool) {
	err := errors.New("a write that shared the transaction failed and took it along")
	if !lost {
		err = w.control("COMMIT")
	}
	if err != nil {
		// A new connection leaves no doubt about the state of the old one.
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

// lostError is what the writes get that were in order but went down with their batch.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the transaction was lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// answer ends a job that never ran.
func (w *batchWriter) answer(j *job, err error) {
	if j.state.CompareAndSwap(jobQueued, jobStarted) {
		j.err = err
		close(j.done)
	}
}

// begin connects where needed and starts the transaction, waiting for other processes up to the busy timeout.
func (w *batchWriter) begin() error {
	if err := w.connect(); err != nil {
		return err
	}
	err := w.control("BEGIN IMMEDIATE")
	if err != nil && classify(err) != classAway {
		w.disconnect()
	}
	return err
}

// connect takes the connection unless there is one.
func (w *batchWriter) connect() error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.owner.Conn(w.ctx)
	if err != nil {
		return err
	}
	w.conn, w.statements = conn, map[string]*sql.Stmt{}
	return nil
}

// disconnect gives the connection up for good; the next batch makes another.
func (w *batchWriter) disconnect() {
	for _, s := range w.statements {
		_ = s.Close()
	}
	if w.conn != nil {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = w.conn.Close()
	}
	w.conn, w.statements = nil, nil
}

func (w *batchWriter) control(statement string) error {
	_, err := w.execute(w.ctx, statement, nil)
	return err
}

func (w *batchWriter) prepared(query string) (*sql.Stmt, error) {
	if s := w.statements[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(w.ctx, positional(query))
	if err == nil {
		w.statements[query] = s
	}
	return s, err
}

func (w *batchWriter) exec(ctx context.Context, query string, a ...any) (int64, error) {
	n, err := w.execute(ctx, query, a)
	w.changed = w.changed || n > 0
	return n, err
}

func (w *batchWriter) execute(ctx context.Context, query string, a args) (int64, error) {
	s, err := w.prepared(query)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(ctx, a...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (w *batchWriter) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	s, err := w.prepared(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, a...)
	if err != nil {
		return err
	}
	seen, err := walk(rows, dest, row)
	w.changed = w.changed || seen > 0 && !strings.HasPrefix(strings.TrimLeft(query, "\n\t "), "SELECT")
	return err
}

func (w *batchWriter) stats() Stats {
	return Stats{Writes: w.writes.Load(), Commits: w.commits.Load()}
}

// close lets the goroutine finish what was handed in and waits for it.
func (w *batchWriter) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.arrived.Signal()
	<-w.ended
	return w.owner.Close()
}
