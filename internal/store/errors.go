package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"carrel/internal/core"
)

// errClosed is returned for writes after Close.
var errClosed = errors.New("the store is closed")

// errContended is returned if a row kept changing between the statements of an operation.
var errContended = errors.New("the row keeps changing")

// errStatementTimeout is returned if a statement outside of a transaction took too long; see sessionLimits.
var errStatementTimeout = errors.New("the statement took too long")

// class is the meaning of a driver error.
type class int

const (
	classOther       class = iota
	classUnique            // unique constraint violated
	classForeignKey        // referenced row missing
	classInvalidText       // text that the engine cannot store
	classRetry             // conflict with another transaction; a retry may succeed
	classUnavailable       // busy or unreachable; nothing was done
	classDiskFull          // no space for the write; nothing was done
)

// sqliteError is an error of SQLite, with an extended result code. Package store/sqlite and the driver of database/sql,
// which runs migrations and backups, each have a type.
type sqliteError interface {
	error
	Code() int
}

func classify(err error) class {
	var lite sqliteError
	isLite := errors.As(err, &lite)
	if isLite && classifySQLite(lite.Code()) == classDiskFull || core.IsDiskFull(err) {
		return classDiskFull
	}
	var lost *lostError
	if errors.As(err, &lost) {
		return classUnavailable
	}
	if isLite {
		return classifySQLite(lite.Code())
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classifyPostgres(pg.Code)
	}
	var network net.Error
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &network), errors.As(err, &connect),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, errClosed), errors.Is(err, errContended), errors.Is(err, errStatementTimeout), pgconn.SafeToRetry(err):
		return classUnavailable
	}
	return classOther
}

func classifySQLite(code int) class {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return classUnique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return classForeignKey
	}
	if code == sqlite3.SQLITE_IOERR_SHMSIZE { // the file that readers and writers share could not grow
		return classDiskFull
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return classUnavailable
	case sqlite3.SQLITE_FULL: // also for ENOSPC of the operating system
		return classDiskFull
	}
	return classOther
}

// classifyPostgres maps the error codes of PostgreSQL's manual, appendix A.
func classifyPostgres(code string) class {
	switch code {
	case "23505": // unique_violation
		return classUnique
	case "23503": // foreign_key_violation
		return classForeignKey
	case "22021", "22P05": // character_not_in_repertoire, untranslatable_character
		return classInvalidText
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return classRetry
	case "53100": // disk_full
		return classDiskFull
	// too_many_connections, statement timeout, shutdown, crash, starting up, idle in transaction
	case "53300", "57014", "57P01", "57P02", "57P03", "25P03":
		return classUnavailable
	}
	if len(code) == 5 && code[:2] == "08" { // connection exceptions
		return classUnavailable
	}
	return classOther
}

// mayEndTransaction reports whether an error may have ended SQLite's whole transaction, not just the statement. A full
// disk or an I/O error may; a constraint violation or an error in the statement does not.
func mayEndTransaction(err error) bool {
	var lite sqliteError
	if !errors.As(err, &lite) {
		return false
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG,
		sqlite3.SQLITE_RANGE:
		return false
	}
	return true
}

// fail converts the error of an operation for the callers of this package. what names the resource that is not found
// if there is no row, or if the row that a new one references is missing.
func fail(operation, what string, err error) error {
	if err == nil {
		return nil
	}
	var coreErr *core.Error
	switch {
	case errors.As(err, &coreErr):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return core.NotFound(what)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !connectTimedOut(err):
		return fmt.Errorf("%s: %w", operation, err)
	}
	cause := fmt.Errorf("%s: %w", operation, err)
	switch classify(err) {
	case classForeignKey:
		return core.NotFound(what)
	case classUnique:
		return core.Conflict("conflict", "An entry with this key already exists.").Because(cause)
	case classInvalidText:
		return (&core.Error{
			Kind: core.KindInvalid, Code: "invalid_request",
			Detail: "Texts must be valid UTF-8 without NUL characters.",
		}).Because(cause)
	case classDiskFull:
		return core.DiskFull(cause)
	case classUnavailable, classRetry:
		return (&core.Error{
			Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Second,
			Detail: "The database is busy or unavailable. Try again in a moment.",
		}).Because(cause)
	default:
		return cause
	}
}

// connectTimedOut reports whether the server did not respond in time. The driver reports this as DeadlineExceeded of
// its own context, not of the caller's.
func connectTimedOut(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) && errors.Is(err, context.DeadlineExceeded)
}

// requireRow is fail for a statement that must change a row; if it changed none, the error is not_found.
func requireRow(operation, what string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return core.NotFound(what)
	}
	return fail(operation, what, err)
}
