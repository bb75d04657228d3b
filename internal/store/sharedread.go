package store

import (
	"context"
	"sync"
)

// maxReadsOfRow limits the queries that read the same row at the same time. Further readers share the next one.
const maxReadsOfRow = 2

// sharedReads lets concurrent readers of the same row share a query on PostgreSQL, where rows are not cached. A reader
// shares only a query that starts after it arrived, so it sees every write that was acknowledged before.
type sharedReads struct {
	mu   sync.Mutex
	rows map[any]*rowReads
}

// rowReads are the reads of one row.
type rowReads struct {
	running int
	next    *sharedRead // for the readers that wait; nil if there are none
}

// sharedRead is a query that several readers wait for.
type sharedRead struct {
	run   func()
	done  chan struct{}
	value any
	err   error
}

// share calls load, or waits for a call that starts later for readers of the same key. Each kind of row uses its own
// key type. The result is shared: callers must not modify what it points to.
func share[T any](ctx context.Context, db *DB, key any, load func(context.Context) (T, error)) (T, error) {
	s := &db.shared
	s.mu.Lock()
	if s.rows == nil {
		s.rows = map[any]*rowReads{}
	}
	row := s.rows[key]
	if row == nil {
		row = &rowReads{}
		s.rows[key] = row
	}
	if row.running < maxReadsOfRow {
		row.running++
		s.mu.Unlock()
		defer s.ended(key, row)
		return load(ctx)
	}
	read := row.next
	if read == nil {
		read = &sharedRead{done: make(chan struct{})}
		detached := context.WithoutCancel(ctx)
		read.run = func() {
			defer s.ended(key, row)
			defer close(read.done)
			read.value, read.err = load(detached)
		}
		row.next = read
	}
	s.mu.Unlock()
	select {
	case <-read.done:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	return read.value.(T), read.err //nolint:forcetypeassert // each key type has one row type
}

// ended starts the read that others wait for, or forgets the row.
func (s *sharedReads) ended(key any, row *rowReads) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next := row.next; next != nil {
		row.next = nil
		go next.run()
		return
	}
	if row.running--; row.running == 0 {
		delete(s.rows, key)
	}
}
