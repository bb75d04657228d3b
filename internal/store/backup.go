package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"carrel/internal/backup"
	"carrel/internal/task"
)

var (
	_ backup.Database = (*DB)(nil)
	_ backup.Copy     = (*DB)(nil)
)

// errBackupRunning is returned while another process makes a backup of the database.
var errBackupRunning = errors.New("another backup of this database is being made; wait for it to end")

// usedBlobs lists the original files that documents refer to.
const usedBlobs = `SELECT b.hash, b.size FROM blob b
	WHERE EXISTS (SELECT 1 FROM document d WHERE d.original = b.hash) ORDER BY b.hash`

// NeedsBlob reports whether a document refers to an original file.
func (db *DB) NeedsBlob(ctx context.Context, hash string) (bool, error) {
	var n int
	err := get(ctx, db.read, `SELECT count(*) FROM blob b WHERE b.hash = $1
		AND EXISTS (SELECT 1 FROM document d WHERE d.original = b.hash)`, args{hash}, &n)
	return n > 0, fail("look up an original file", "original", err)
}

// LockBackup prevents another backup of the database until unlock is called or the process ends.
func (db *DB) LockBackup(ctx context.Context) (unlock func() error, err error) {
	if p, ok := db.read.(*postgres); ok {
		return p.lockBackup(ctx)
	}
	return lockBeside(ctx, db.path+".backup-lock", false)
}

// DumpTo writes a consistent copy of the database to a new file and lists the original files that the copy refers to.
func (db *DB) DumpTo(
	ctx context.Context, path string, original func(backup.Original) error,
) (backup.DumpInfo, error) {
	if p, ok := db.read.(*postgres); ok {
		return p.dumpTo(ctx, db.url, path, original)
	}
	if err := copySQLite(ctx, db.path, path); err != nil {
		return backup.DumpInfo{}, fmt.Errorf("copy the database: %w", err)
	}
	info, err := describeCopy(ctx, path, original)
	if err != nil {
		return info, fmt.Errorf("read the copy of the database: %w", err)
	}
	return info, nil
}

// copySQLite writes a copy of a database file that other connections may write to. VACUUM INTO reads one snapshot, so
// that writers do not wait, and leaves out free pages. The online backup API is as slow in one step, and never ends in
// small steps while there are writes, because each commit of another connection starts it over.
func copySQLite(ctx context.Context, from, to string) error {
	if err := createPrivate(to); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqliteDSN(from, "mode=ro"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO $1", to)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close()) // VACUUM INTO does not sync
}

// describeCopy reads the schema version, the installation and the original files of a copy.
func describeCopy(
	ctx context.Context, path string, original func(backup.Original) error,
) (info backup.DumpInfo, err error) {
	db, err := sql.Open("sqlite", sqliteDSN(path, "mode=ro", "immutable=1"))
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	info.Engine = backup.EngineSQLite
	return info, describeDump(ctx, db, &info, original)
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func describeDump(ctx context.Context, q queryer, info *backup.DumpInfo, original func(backup.Original) error) error {
	if err := q.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable).Scan(&info.Schema); err != nil {
		return err
	}
	var secret []byte
	if err := q.QueryRowContext(ctx, "SELECT secret FROM installation WHERE id = 1").Scan(&secret); err != nil {
		return err
	}
	sum := sha256.Sum256(append([]byte("carrel installation\x00"), secret...))
	info.Installation = hex.EncodeToString(sum[:16])
	rows, err := q.QueryContext(ctx, usedBlobs)
	if err != nil {
		return err
	}
	var o backup.Original
	err = scanRows(rows, []any{&o.Hash, &o.Size}, func() error { return original(o) })
	return err
}

// CheckSQLite checks the structure of a database file that nobody else uses.
func CheckSQLite(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", sqliteDSN(path, "mode=ro", "immutable=1"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if found != "ok" {
		return fmt.Errorf("the database is damaged: %s", found)
	}
	return nil
}

// SampleDocuments returns up to n documents at random.
func (db *DB) SampleDocuments(ctx context.Context, n int) ([]backup.Document, error) {
	var d backup.Document
	var out []backup.Document
	err := db.read.each(ctx, `
		SELECT id, title, text, coalesce(original, ''), coalesce((SELECT size FROM blob WHERE hash = original), 0)
		FROM document WHERE id IN (SELECT id FROM document ORDER BY random() LIMIT $1)`, args{n},
		[]any{&d.ID, &d.Title, &d.Text, &d.Original.Hash, &d.Original.Size}, func() error {
			out = append(out, d)
			return nil
		})
	return out, fail("read documents", "document", err)
}

// LastBackup returns the end of the last scheduled backup that was made, or a not_found error.
func (db *DB) LastBackup(ctx context.Context) (time.Time, error) {
	var finished sql.NullInt64
	err := get(ctx, db.read, `SELECT max(finished_at) FROM task WHERE key = 'backup' AND state = $1`,
		args{string(task.StateComplete)}, &finished)
	if err == nil && !finished.Valid {
		err = sql.ErrNoRows
	}
	return at(finished.Int64), fail("read the last backup", "backup", err)
}

// PruneBackupTasks deletes the records of scheduled backups that ended before a time. The backups stay.
func (db *DB) PruneBackupTasks(ctx context.Context, before time.Time) error {
	err := db.pruneTasks(ctx, `key = 'backup'`, before)
	return fail("delete records of backups", "backup", err)
}
