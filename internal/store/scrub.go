package store

import (
	"context"
	"fmt"
)

// Scrubbing removes what deleted rows leave in the files of SQLite. secure_delete overwrites deleted cells and freed
// pages with zeros in the same transaction, for no measurable cost. Remnants stay in two places: in the unused part
// of pages whose cells were moved to a neighbour, which only a VACUUM clears, and in the write-ahead log until it is
// truncated. A VACUUM writes the whole file, some 100 MB a second, while other writes wait, so that it is done after
// the deletion of accounts alone, and once for many of them.
//
// That one is due is noted in user_version, which is a field of the file that SQLite leaves to applications and that is
// part of the transaction.
const (
	markScrub   = "PRAGMA user_version = 1"
	unmarkScrub = "PRAGMA user_version = 0"
)

// requestScrub notes in a transaction that the next Scrub has something to do.
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
	return due == 1, fail("read whether remnants are due to be removed", "database", err)
}

// Scrub removes the remnants of deleted accounts from the files of a SQLite database: from free space, from the
// write-ahead log, and with the copies that were made before migrations, which hold the accounts as they were. It
// does nothing when no account was deleted since the last time, and on PostgreSQL, whose own vacuum does this
// (docs/account.md).
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
	// A crash before the mark is gone has the next Scrub begin again. The mark is a write, so that the log is truncated
	// after it; readers can keep that from happening, and then the log goes when the database is closed.
	for _, statement := range []string{"VACUUM", unmarkScrub, "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err := w.plain(ctx, statement); err != nil {
			return fail("remove the remnants of deleted accounts", "database", err)
		}
	}
	return nil
}
