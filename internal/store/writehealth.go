package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A write that succeeded within provenLife shows that the database accepts writes. A failed check is repeated after
// recheckPause, so that frequent probes of a failing database do not add to its load.
const (
	provenLife   = 5 * time.Second
	recheckPause = time.Second
)

// writeHealth records the outcomes of writes.
type writeHealth struct {
	// failed counts the writes that the database did not accept: not those that broke a constraint or were cancelled.
	failed atomic.Int64
	// provenAt is the time of the last successful write in Unix nanoseconds, or 0 after a failed one.
	provenAt atomic.Int64

	mu        sync.Mutex
	checkedAt time.Time
	checkErr  error
}

// record notes the outcome of a write and returns its error.
func (h *writeHealth) record(err error) error {
	switch {
	case err == nil:
		h.provenAt.Store(time.Now().UnixNano())
	case isWriteFailure(err):
		h.failed.Add(1)
		h.provenAt.Store(0)
	}
	return err
}

// CheckWrites returns an error if the database does not accept writes. It writes one small row, unless a write has
// succeeded in the last seconds.
func (db *DB) CheckWrites(ctx context.Context) error {
	h := &db.writes
	if time.Since(time.Unix(0, h.provenAt.Load())) < provenLife {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checkErr != nil && time.Since(h.checkedAt) < recheckPause {
		return h.checkErr
	}
	_, err := db.exec(ctx, `INSERT INTO write_check (id, checked_at) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at`, millis(time.Now()))
	h.checkedAt, h.checkErr = time.Now(), fail("check writes", "database", err)
	return h.checkErr
}

// isWriteFailure reports whether the database failed to write: it is locked, unreachable, read-only, damaged, or its
// disk is full. Violated constraints, cancelled requests and errors of the caller are no failures.
func isWriteFailure(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, errContended) {
		return false
	}
	switch classify(err) {
	case classUnavailable, classRetry:
		return true
	case classUnique, classForeignKey, classInvalidText:
		return false
	case classOther:
	}
	var lite sqliteError
	if errors.As(err, &lite) {
		return mayEndTransaction(err)
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && isPostgresFailure(pg.Code)
}

// isPostgresFailure reports whether an error code (PostgreSQL's manual, appendix A) means that the server can't write:
// a read-only transaction, insufficient resources, operator intervention, system errors, internal errors.
func isPostgresFailure(code string) bool {
	if code == "25006" {
		return true
	}
	for _, class := range []string{"53", "57", "58", "XX"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// Pool describes the connections of the database that read (SQLite), or read and write (PostgreSQL).
func (db *DB) Pool() sql.DBStats { return db.read.poolStats() }

func (p *postgres) poolStats() sql.DBStats { return p.pool.Stats() }
