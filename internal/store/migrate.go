package store

import (
	"cmp"
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
)

//go:embed migrations
var migrationFiles embed.FS

// versionTable is the table of applied migrations. It has the columns of goose, which earlier versions used.
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
	dialect dialect
	log     *slog.Logger
	steps   []step
	target  int64
}

// step is one file of migrations.
type step struct {
	version   int64
	name, sql string
}

func newMigration(d dialect, files fs.FS, log *slog.Logger) (*migration, error) {
	steps, err := readSteps(files)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return &migration{dialect: d, log: log, steps: steps, target: steps[len(steps)-1].version}, nil
}

// readSteps returns the migrations in the order of their versions, which are unique.
func readSteps(files fs.FS) ([]step, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the migration %s has no version: %w", name, err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		// All of the file runs, in one transaction. What goose would have treated otherwise must not run unnoticed.
		for _, unsupported := range []string{"+goose Down", "+goose NO TRANSACTION"} {
			if strings.Contains(string(text), unsupported) {
				return nil, fmt.Errorf("the migration %s contains %q, which is not supported", name, unsupported)
			}
		}
		steps = append(steps, step{version, name, string(text)})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.version, b.version) })
	for i, s := range steps {
		if s.version <= 0 || i > 0 && s.version == steps[i-1].version {
			return nil, fmt.Errorf("the migration %s has no version of its own", s.name)
		}
	}
	if len(steps) == 0 {
		return nil, errors.New("there are none")
	}
	return steps, nil
}

// rowQueryer is a database or one of its connections.
type rowQueryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the schema version of the database, 0 for an empty one.
func (m *migration) version(ctx context.Context, db rowQueryer) (int64, error) {
	var tables int
	if err := db.QueryRowContext(ctx, m.dialect.hasTable, versionTable).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var version sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable).Scan(&version)
	return version.Int64, err
}

// pending reports the schema version and whether migrations are pending. It refuses a newer version: this binary would
// misread its data and could corrupt it.
func (m *migration) pending(ctx context.Context, db rowQueryer) (from int64, pending bool, err error) {
	from, err = m.version(ctx, db)
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
func (m *migration) up(ctx context.Context, conn *sql.Conn, from int64) error {
	applied, err := m.applied(ctx, conn)
	for _, s := range m.steps {
		if err == nil && !applied[s.version] {
			err = m.apply(ctx, conn, s)
		}
	}
	if err != nil {
		return fmt.Errorf(
			"migrate the schema from version %d to %d; the database is unchanged by the failed step: %w",
			from, m.target, err)
	}
	m.log.InfoContext(ctx, "schema migrated", "from", from, "to", m.target)
	return nil
}

// applied returns the versions in the version table, which it creates in an empty database. Its first row is version 0.
func (m *migration) applied(ctx context.Context, conn *sql.Conn) (map[int64]bool, error) {
	var tables int
	if err := conn.QueryRowContext(ctx, m.dialect.hasTable, versionTable).Scan(&tables); err != nil {
		return nil, err
	}
	if tables == 0 {
		err := inTransaction(ctx, conn, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, m.dialect.createVersions); err != nil {
				return err
			}
			return recordVersion(ctx, tx, 0)
		})
		if err != nil {
			return nil, err
		}
	}
	rows, err := conn.QueryContext(ctx, "SELECT version_id FROM "+versionTable)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	versions := map[int64]bool{}
	for rows.Next() {
		var v int64
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		versions[v] = true
	}
	return versions, rows.Err()
}

// apply runs the statements of a migration and records its version.
func (m *migration) apply(ctx context.Context, conn *sql.Conn, s step) error {
	err := inTransaction(ctx, conn, func(tx *sql.Tx) error {
		// Without arguments both drivers run all statements of a text.
		if _, err := tx.ExecContext(ctx, s.sql); err != nil {
			return err
		}
		return recordVersion(ctx, tx, s.version)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func recordVersion(ctx context.Context, tx *sql.Tx, version int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO "+versionTable+" (version_id, is_applied) VALUES ($1, $2)", version, true)
	return err
}

func inTransaction(ctx context.Context, conn *sql.Conn, do func(*sql.Tx) error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// migrationLock is the advisory lock of migrations. Versions of Carrel with goose use the same number.
const migrationLock = 4097083626

// migratePostgres migrates a PostgreSQL schema. An advisory lock of the session lets only one of several starting nodes
// migrate. The others wait until it is done.
func migratePostgres(ctx context.Context, db *sql.DB, files fs.FS, log *slog.Logger) (err error) {
	m, err := newMigration(postgresDialect, files, log)
	if err != nil {
		return err
	}
	if _, pending, err := m.pending(ctx, db); err != nil || !pending {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return fmt.Errorf("wait for the migration of another node: %w", err)
	}
	defer func() {
		_, unlockErr := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationLock))
		err = errors.Join(err, unlockErr)
	}()
	from, pending, err := m.pending(ctx, conn) // another node may have migrated meanwhile
	if err != nil || !pending {
		return err
	}
	return m.up(ctx, conn, from)
}

// migrateSQLite migrates a SQLite file, after copying it unless it is empty.
func migrateSQLite(ctx context.Context, db *sql.DB, path string, files fs.FS, log *slog.Logger) (err error) {
	m, err := newMigration(sqliteDialect, files, log)
	if err != nil {
		return err
	}
	if _, pending, err := m.pending(ctx, db); err != nil || !pending {
		return err
	}
	unlock, err := lockBeside(ctx, path+".migrate-lock", true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	from, pending, err := m.pending(ctx, db) // another process may have migrated meanwhile
	if err != nil || !pending {
		return err
	}
	if from > 0 {
		if err := copyBeforeMigration(ctx, db, path, m.target); err != nil {
			return fmt.Errorf("copy the database aside before a migration: %w", err)
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return m.up(ctx, conn, from)
}

// lockBeside holds a lock that is named by a path, until unlock is called or the process ends. A transaction on the
// database itself could not contain those of the migrations, so the lock is a transaction on an empty database next to
// it, which works on every system. Without wait it returns errBackupRunning if another process holds the lock.
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
