package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrationFiles embed.FS

// versionTable is the table in which goose records applied migrations.
const versionTable = "schema_version"

// keptCopies is the number of pre-migration copies kept next to the database.
const keptCopies = 3

// latestMigration returns the highest version among the files of migrations, which is what their names begin with.
func latestMigration(files fs.FS) (int64, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return 0, err
	}
	latest := int64(0)
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the migration %s has no version: %w", e.Name(), err)
		}
		latest = max(latest, version)
	}
	return latest, nil
}

// migration brings a database from its schema version to the version of this binary.
type migration struct {
	db      *sql.DB
	dialect dialect
	goose   *goose.Provider
	log     *slog.Logger
	target  int64
}

func newMigration(
	db *sql.DB, d dialect, files fs.FS, log *slog.Logger, options ...goose.ProviderOption,
) (*migration, error) {
	options = append(options, goose.WithTableName(versionTable), goose.WithSlog(log),
		goose.WithDisableGlobalRegistry(true))
	provider, err := goose.NewProvider(d.goose, db, files, options...)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	sources := provider.ListSources()
	return &migration{db: db, dialect: d, goose: provider, log: log, target: sources[len(sources)-1].Version}, nil
}

// version returns the schema version of the database, 0 for an empty one.
func (m *migration) version(ctx context.Context) (int64, error) {
	var tables int
	if err := m.db.QueryRowContext(ctx, m.dialect.hasTable, versionTable).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var version sql.NullInt64
	err := m.db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable).Scan(&version)
	return version.Int64, err
}

// pending reports the schema version and whether migrations are pending. It refuses a newer version: this binary would
// misread its data and could corrupt it.
func (m *migration) pending(ctx context.Context) (from int64, pending bool, err error) {
	from, err = m.version(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("read the schema's version: %w", err)
	}
	if from > m.target {
		return 0, false, fmt.Errorf(
			"the database has schema version %d and this carrel knows up to %d: use the newer carrel that wrote it",
			from, m.target)
	}
	return from, from < m.target, nil
}

// up applies the pending migrations. Each one is a transaction, so that a failed one leaves the previous version.
func (m *migration) up(ctx context.Context, from int64) error {
	if _, err := m.goose.Up(ctx); err != nil {
		return fmt.Errorf(
			"migrate the schema from version %d to %d; the database is unchanged by the failed step: %w",
			from, m.target, err)
	}
	m.log.InfoContext(ctx, "schema migrated", "from", from, "to", m.target)
	return nil
}

// migratePostgres migrates a PostgreSQL schema. goose takes an advisory lock, so that only one of
// several starting nodes migrates.
func migratePostgres(ctx context.Context, db *sql.DB, files fs.FS, log *slog.Logger) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	m, err := newMigration(db, postgresDialect, files, log, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	from, pending, err := m.pending(ctx)
	if err != nil || !pending {
		return err
	}
	return m.up(ctx, from)
}

// migrateSQLite migrates a SQLite file, after copying it unless it is empty.
func migrateSQLite(ctx context.Context, db *sql.DB, path string, files fs.FS, log *slog.Logger) (err error) {
	m, err := newMigration(db, sqliteDialect, files, log)
	if err != nil {
		return err
	}
	if _, pending, err := m.pending(ctx); err != nil || !pending {
		return err
	}
	unlock, err := lockBeside(ctx, path+".migrate-lock", true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	from, pending, err := m.pending(ctx) // another process may have migrated meanwhile
	if err != nil || !pending {
		return err
	}
	if from > 0 {
		if err := copyBeforeMigration(ctx, db, path, m.target); err != nil {
			return fmt.Errorf("copy the database aside before a migration: %w", err)
		}
	}
	return m.up(ctx, from)
}

// lockBeside holds a lock that is named by a path, until unlock is called or the process ends. goose cannot hold a
// transaction on the database itself around its own, so the lock is a transaction on an empty database next to it,
// which works on every system. Without wait it returns errBackupRunning if another process holds the lock.
func lockBeside(ctx context.Context, path string, wait bool) (unlock func() error, err error) {
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqliteDSN(path, "_txlock=exclusive"))
	if err != nil {
		return nil, err
	}
	// Retried until the context ends, because the other process may need long.
	for {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil) // the lock is held until unlock
		switch {
		case err == nil:
			return func() error { return errors.Join(tx.Rollback(), db.Close()) }, nil
		case classify(err) != classUnavailable || ctx.Err() != nil:
			return nil, errors.Join(err, db.Close())
		case !wait:
			return nil, errors.Join(errBackupRunning, db.Close())
		}
	}
}

// copyBeforeMigration writes a consistent copy of the database next to it, and deletes the oldest copies. The copy is
// renamed to its final name once it is complete.
func copyBeforeMigration(ctx context.Context, db *sql.DB, path string, target int64) error {
	// The migration lock is held, so an incomplete copy was left by a killed process.
	if err := removeAll(path + ".copying-*"); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".copying-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(f.Name()) // already renamed on success
		_ = os.Remove(f.Name() + "-journal")
	}()
	_, err = db.ExecContext(ctx, "VACUUM INTO $1", f.Name())
	if err == nil {
		err = f.Sync() // VACUUM INTO does not sync
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), copyName(path, target))
	}
	if err != nil {
		return err
	}
	return dropOldCopies(path)
}

// removeAll removes the files whose names match a pattern. Special characters in the folder are not part of the
// pattern.
func removeAll(pattern string) error {
	dir, base := filepath.Split(pattern)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if match, err := filepath.Match(base, e.Name()); err == nil && match {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

func copyName(path string, version int64) string {
	return path + ".before-v" + strconv.FormatInt(version, 10)
}

// dropOldCopies deletes all but the copies of the highest versions.
func dropOldCopies(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var versions []int64
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".before-v")
		if v, err := strconv.ParseInt(number, 10, 64); ok && err == nil {
			versions = append(versions, v)
		}
	}
	slices.Sort(versions)
	var errs []error
	for _, v := range versions[:max(0, len(versions)-keptCopies)] {
		errs = append(errs, os.Remove(copyName(path, v)))
	}
	return errors.Join(errs...)
}
