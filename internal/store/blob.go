package store

import (
	"context"
	"slices"
	"time"

	"carrel/internal/blob"
	"carrel/internal/core"
	"carrel/internal/source"
)

var _ blob.Store = (*DB)(nil)

// blob.used_at is the time of an import that has stored no document yet, 0 for a file that a document referred to, and
// the negative time of a claim.

// UseBlob records that an import needs a file. It returns false if the file is claimed for deletion.
func (db *DB) UseBlob(ctx context.Context, hash string, size int64, now time.Time) (bool, error) {
	n, err := db.exec(ctx, `
		INSERT INTO blob (hash, size, used_at) VALUES ($1, $2, $3)
		ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at WHERE blob.used_at >= 0`, hash, size, millis(now))
	return n == 1, fail("record an original file", "original", err)
}

// unusedBlob is the condition of a file b that can be claimed: not needed since $1, or claimed before -$2.
const unusedBlob = `(b.used_at >= 0 AND b.used_at < $1 OR b.used_at < 0 AND b.used_at > $2)
	AND NOT EXISTS (SELECT 1 FROM document d WHERE d.original = b.hash)
	AND NOT EXISTS (SELECT 1 FROM bin_document d WHERE d.original = b.hash)`

// ClaimBlobs claims unused files. The rows are locked before the documents are looked up, so that a document stored
// meanwhile is seen.
func (db *DB) ClaimBlobs(
	ctx context.Context, before, expired, now time.Time, n int,
) (claimed []string, err error) {
	found, err := readIDs(ctx, db.read, `SELECT b.hash FROM blob b WHERE `+unusedBlob+` LIMIT $3 + 0`,
		args{millis(before), -millis(expired), n})
	if err != nil || len(found) == 0 {
		return nil, fail("list unused files", "original", err)
	}
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		locked, err := readIDs(ctx, tx, `SELECT hash FROM blob WHERE hash IN `+db.dialect.in("$1")+
			` ORDER BY hash`+db.dialect.lock, args{encodeList(found)})
		if err != nil {
			return err
		}
		claimed, err = readIDs(ctx, tx, `UPDATE blob AS b SET used_at = $3 WHERE `+unusedBlob+` AND hash IN `+
			db.dialect.in("$4")+` RETURNING hash`,
			args{millis(before), -millis(expired), -millis(now), encodeList(locked)})
		return err
	})
	if err != nil {
		return nil, fail("claim unused files", "original", err)
	}
	return claimed, nil
}

// DropBlob removes the record of a deleted file.
func (db *DB) DropBlob(ctx context.Context, hash string) error {
	_, err := db.exec(ctx, `DELETE FROM blob WHERE hash = $1 AND used_at < 0`, hash)
	return fail("drop an original file", "original", err)
}

// referBlobs marks the files of documents as used by a document. It fails if one of them is claimed or unknown, which
// takes an import that is slower than blob.Grace, or two imports of the same file and a deletion in between.
func (db *DB) referBlobs(ctx context.Context, tx querier, docs []source.Document) error {
	var hashes []string
	for _, d := range docs {
		if d.Original.Hash != "" {
			hashes = append(hashes, d.Original.Hash)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	list := encodeList(hashes)
	// The locks are taken in order, so that two imports can't deadlock.
	ready, err := readIDs(ctx, tx, `SELECT hash FROM blob WHERE used_at >= 0 AND hash IN `+db.dialect.in("$1")+
		` ORDER BY hash`+db.dialect.lock, args{list})
	if err != nil {
		return err
	}
	if len(ready) < len(hashes) {
		return core.Conflict("conflict", "An original file was deleted during the import. Import the file again.")
	}
	_, err = tx.exec(ctx, `UPDATE blob SET used_at = 0 WHERE used_at > 0 AND hash IN `+db.dialect.in("$1"), list)
	return err
}
