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
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"carrel/internal/core"
)

// errClosed is what writers get once the store is being closed.
var errClosed = errors.New("the store is closed")

// errContended is a row that came and went between every look at it.
var errContended = errors.New("the row keeps changing")

// class is what an engine's error means to us.
type class int

const (
	classOther  class = iota
	classUnique       // a row with that key is there already
	classParent       // the row that it refers to is not there
	classText         // a text that the engine can't hold
	classRetry        // a clash with another transaction; the same again may succeed
	classAway         // busy or unreachable; nothing was done
)

// classify reads the error of either engine.
func classify(err error) class {
	var lost *lostError
	if errors.As(err, &lost) {
		return classAway
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
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
		errors.Is(err, errClosed), errors.Is(err, errContended), pgconn.SafeToRetry(err):
		return classAway
	}
	return classOther
}

func classifySQLite(code int) class {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return classUnique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return classParent
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return classAway
	}
	return classOther
}

// classifyPostgres knows the codes of appendix A of PostgreSQL's manual.
func classifyPostgres(code string) class {
	switch code {
	case "23505": // unique_violation
		return classUnique
	case "23503": // foreign_key_violation
		return classParent
	case "22021", "22P05": // character_not_in_repertoire, untranslatable_character
		return classText
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return classRetry
	case "53300", "57P01", "57P02", "57P03", "25P03": // too_many_connections, shutdown, crash, starting up, idle in transaction
		return classAway
	}
	if len(code) == 5 && code[:2] == "08" { // connection exceptions
		return classAway
	}
	return classOther
}

// spoils reports whether an error may have ended SQLite's whole transaction, not only the statement. Constraint
// violations and mistakes in a statement do not; a full disk, an input/output error and the like may.
func spoils(err error) bool {
	var lite *sqlite.Error
	if !errors.As(err, &lite) {
		return false
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
		return false
	}
	return true
}

// fail turns the error of an operation into what the callers of this package get. what names the thing that is
// missing when there is no row, or when the row that a new one refers to has gone.
func fail(operation, what string, err error) error {
	if err == nil {
		return nil
	}
	var told *core.Error
	switch {
	case errors.As(err, &told):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return core.NotFound(what)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !connectTimedOut(err):
		return fmt.Errorf("%s: %w", operation, err)
	}
	cause := fmt.Errorf("%s: %w", operation, err)
	switch classify(err) {
	case classParent:
		return core.NotFound(what)
	case classUnique:
		return core.Conflict("conflict", "There is one with the same key already.").Because(cause)
	case classText:
		return (&core.Error{
			Kind: core.KindInvalid, Code: "invalid_request",
			Detail: "Texts must be valid UTF-8 without NUL characters.",
		}).Because(cause)
	case classAway, classRetry:
		return (&core.Error{
			Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Second,
			Detail: "The database is busy or away. Try again in a moment.",
		}).Because(cause)
	default:
		return cause
	}
}

// connectTimedOut reports whether the server did not answer in time. The driver says so with the error of a context of
// its own, which is not the caller's.
func connectTimedOut(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) && errors.Is(err, context.DeadlineExceeded)
}

// changed is fail for a statement that must have changed a row: none is not_found.
func changed(operation, what string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return core.NotFound(what)
	}
	return fail(operation, what, err)
}
