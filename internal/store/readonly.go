package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"carrel/internal/core"
	"carrel/internal/store/sqlite"
)

// othersRead and othersWrite are the permissions of all users.
const othersRead, othersWrite = 0o004, 0o002

// checkMode refuses a database that every user of the machine can read or write, such as a backup that was restored
// with the default mode of files.
func checkMode(path string, info fs.FileInfo) error {
	if runtime.GOOS == "windows" || info.Mode().Perm()&(othersRead|othersWrite) == 0 {
		return nil
	}
	return fmt.Errorf("%s can be read by every user of this machine (mode %04o); run: chmod 600 %s", path,
		info.Mode().Perm(), core.ShellQuote(path))
}

// errReadOnly is the error of every write to a database in a read-only folder.
var errReadOnly = errors.New("the data folder is read-only")

// openReadOnly opens a database in a folder that can't be written to, such as a snapshot. SQLite then can't create the
// index of the write-ahead log, so the file is opened as immutable. That would ignore a write-ahead log, which is
// opened in the ordinary way: a server of another user may have it open.
func openReadOnly(ctx context.Context, o Options, path string, info fs.FileInfo) (*DB, error) {
	params := []string{"mode=ro"}
	wal, err := os.Stat(path + "-wal")
	pendingLog := err == nil && wal.Size() > 0
	if !pendingLog {
		params = append(params, "immutable=1")
	}
	checked, err := sql.Open("sqlite", sqliteDSN(path, params...))
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	files, err := sqliteDialect.migrations()
	var m *migration
	if err == nil {
		m, err = newMigration(sqliteDialect, files, o.Log)
	}
	pending := false
	if err == nil {
		_, pending, err = m.pending(ctx, checked)
	}
	switch {
	case err != nil && pendingLog:
		err = fmt.Errorf("%w: the folder has a write-ahead log that must be merged first; copy the folder to a place that "+
			"can be written to, and use the copy (%w)", errReadOnly, err)
	case err == nil && pending:
		err = fmt.Errorf("%w, and the database must be migrated; copy the folder to a place that can be written to, and use "+
			"the copy", errReadOnly)
	}
	if err = errors.Join(err, checked.Close()); err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	db := &DB{dialect: sqliteDialect, path: path, file: info, write: readOnlyWriter{filepath.Dir(path)}}
	db.read = newSQLiteReader(sqliteReaders(), func() (*sqlite.Conn, error) {
		return sqlite.Open(sqliteURI(path, params...), busyTimeout, &db.statements, "query_only = 1")
	})
	return db, nil
}

// readOnlyWriter refuses every write.
type readOnlyWriter struct{ folder string }

func (w readOnlyWriter) refuse() error { return fmt.Errorf("%w: %s", errReadOnly, w.folder) }

func (w readOnlyWriter) statement(context.Context, string, args, []any) (int64, error) {
	return 0, w.refuse()
}

func (w readOnlyWriter) transaction(context.Context, bool, writeFunc) error { return w.refuse() }

func (readOnlyWriter) stats() Stats { return Stats{} }

func (readOnlyWriter) close() error { return nil }
