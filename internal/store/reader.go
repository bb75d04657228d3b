package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"carrel/internal/store/sqlite"
)

// reader is a closable querier outside of transactions.
type reader interface {
	querier
	poolStats() sql.DBStats
	close() error
}

// errReaderClosed is returned for queries after Close, which are mistakes of the program. Writes may still arrive then.
var errReaderClosed = errors.New("the database is closed")

// sqliteReader reads through a pool of read-only connections.
type sqliteReader struct {
	open func() (*sqlite.Conn, error)
	// slots has an element for each connection that is in use.
	slots chan struct{}

	mu     sync.Mutex
	idle   []*sqlite.Conn
	closed bool
	waits  int64
	waited time.Duration
}

func newSQLiteReader(connections int, open func() (*sqlite.Conn, error)) *sqliteReader {
	return &sqliteReader{open: open, slots: make(chan struct{}, connections)}
}

// each runs the query to its end even if the context ends meanwhile: queries take well under a millisecond.
func (r *sqliteReader) each(ctx context.Context, query string, a args, dest []any, row func() error) error {
	c, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer r.release(c)
	_, err = c.Query(query, a, dest, row)
	return err
}

// acquire returns a connection, the one that was used last if one is idle.
func (r *sqliteReader) acquire(ctx context.Context) (*sqlite.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r.slots <- struct{}{}:
	default:
		if err := r.wait(ctx); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		<-r.slots
		return nil, errReaderClosed
	}
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return c, nil
	}
	c, err := r.open()
	if err != nil {
		<-r.slots
	}
	return c, err
}

// wait takes a slot as soon as one is free.
func (r *sqliteReader) wait(ctx context.Context) error {
	start := time.Now()
	defer func() {
		r.mu.Lock()
		r.waits++
		r.waited += time.Since(start)
		r.mu.Unlock()
	}()
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release returns a connection to the pool.
func (r *sqliteReader) release(c *sqlite.Conn) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.idle = append(r.idle, c)
	}
	r.mu.Unlock()
	if closed {
		_ = c.Close() // nothing was written
	}
	<-r.slots
}

// exec always fails: the connections of the reader are read-only.
func (r *sqliteReader) exec(context.Context, string, ...any) (int64, error) {
	return 0, errors.New("write on a read-only connection")
}

func (r *sqliteReader) poolStats() sql.DBStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	inUse := len(r.slots)
	return sql.DBStats{
		MaxOpenConnections: cap(r.slots), OpenConnections: inUse + len(r.idle), InUse: inUse, Idle: len(r.idle),
		WaitCount: r.waits, WaitDuration: r.waited,
	}
}

// close closes the idle connections now and the others when their queries end.
func (r *sqliteReader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.Close())
	}
	r.idle = nil
	return errors.Join(errs...)
}
