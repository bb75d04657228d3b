package store

import (
	"context"
	"fmt"
)

// Scrubbing removes the remnants of deleted rows from SQLite's files. secure_delete overwrites deleted cells and freed
// pages with zeros in the same transaction, at no measurable cost. Remnants stay in two places: in the unused part of
// pages whose cells were moved, which only VACUUM clears, and in the write-ahead log until it is truncated. VACUUM
// rewrites the whole file at about 100 MB/s while other writes wait, so it runs only after accounts were deleted, once
// for many of them.
//
// A due scrub is recorded in user_version, a field of the file that SQLite leaves to applications and that is part of
// the transaction.
const (
	markScrub   = "PRAGMA user_version = 1"
	unmarkScrub = "PRAGMA user_version = 0"
)

// requestScrub records in a transaction that a scrub is due.
func (db *DB) requestScrub(ctx context.Context, tx querier) error {
	if db.file == nil {
		return nil
	}
	_, err := tx.exec(ctx, markScrub)
	return err
}

// ScrubDue reports whether an account was deleted since the last Scrub.
func (db *DB) ScrubDue(ctx context.Context) (bool, error) {
	if db.file == nil {
		return false, nil
	}
	var due int
	err := get(ctx, db.read, "PRAGMA user_version", nil, &due)
	return due == 1, fail("read whether a scrub is due", "database", err)
}

// Scrub removes the remnants of deleted accounts from a SQLite database: from free space, from the write-ahead log, and
// from the pre-migration copies, which it deletes. It does nothing if no account was deleted since the last scrub, and
// on PostgreSQL, where vacuum does the same (docs/account.md).
func (db *DB) Scrub(ctx context.Context) error {
	due, err := db.ScrubDue(ctx)
	if err != nil || !due {
		return err
	}
	w, ok := db.write.(*batchWriter)
	if !ok {
		return nil
	}
	if err := removeAll(db.path + ".before-v*"); err != nil {
		return fmt.Errorf("remove copies from before migrations: %w", err)
	}
	// After a crash before unmarkScrub, the next Scrub starts over. The log is truncated last, because clearing the
	// mark is a write too. Readers can prevent the truncation; then the log is removed when the database is closed.
	for _, statement := range []string{"VACUUM", unmarkScrub, "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err := w.execOutsideTx(ctx, statement); err != nil {
			return fail("remove the remnants of deleted accounts", "database", err)
		}
	}
	return nil
}
