package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"carrel/internal/account"
	"carrel/internal/testkit"
)

// backend is a new, empty database of one engine, for tests of opening and migrating.
type backend struct {
	name    string
	options Options
	dialect dialect
}

func backends(t *testing.T) []backend {
	t.Helper()
	return []backend{
		{"sqlite", Options{Path: filepath.Join(t.TempDir(), "carrel.db")}, sqliteDialect},
		{"postgres", Options{URL: testkit.Postgres(t)}, postgresDialect},
	}
}

// migrate runs the migrations of a folder on the backend.
func (b backend) migrate(t *testing.T, files fs.FS) error {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	raw := b.raw(t)
	if b.options.URL != "" {
		return migratePostgres(t.Context(), raw, files, log)
	}
	if err := createPrivate(b.options.Path); err != nil {
		return err
	}
	return migrateSQLite(t.Context(), raw, b.options.Path, files, log)
}

// raw opens the database without the store.
func (b backend) raw(t *testing.T) *sql.DB {
	t.Helper()
	driver, dsn := "sqlite", sqliteDSN(b.options.Path, "_txlock=immediate")
	if b.options.URL != "" {
		driver, dsn = "pgx", b.options.URL
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (b backend) version(t *testing.T) (v int64) {
	t.Helper()
	if err := b.raw(t).QueryRow("SELECT max(version_id) FROM " + versionTable).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// plus returns the engine's migrations and additional ones.
func (b backend) plus(t *testing.T, more map[string]string) fstest.MapFS {
	t.Helper()
	files, err := b.dialect.migrations()
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: data}
	}
	for name, up := range more {
		all[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + up)}
	}
	return all
}

func open(t *testing.T, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestConcurrentOpensOfANewDatabaseSucceed(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					db, err := Open(t.Context(), b.options)
					if err != nil {
						t.Error(err)
						return
					}
					if err := db.Ping(t.Context()); err != nil {
						t.Error(err)
					}
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			var applied int
			if err := b.raw(t).QueryRow("SELECT count(*) FROM " + versionTable +
				" WHERE version_id = 1").Scan(&applied); err != nil || applied != 1 {
				t.Errorf("the first migration was applied %d times (%v)", applied, err)
			}
		})
	}
}

func TestNewerSchemaVersionIsRefused(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if err := open(t, b.options).Close(); err != nil {
				t.Fatal(err)
			}
			known := b.version(t)
			if _, err := b.raw(t).Exec("INSERT INTO " + versionTable + " (version_id, is_applied) VALUES (4711, " +
				map[string]string{"sqlite": "1", "postgres": "true"}[b.name] + ")"); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), b.options)
			want := fmt.Sprintf(
				"the database has schema version 4711 and this carrel knows up to %d: use the newer carrel that wrote it", known,
			)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		})
	}
}

func TestFailedMigrationLeavesThePreviousVersion(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			if err := db.InsertUser(t.Context(), account.User{ID: "usr", Email: "a@example.org"}, ""); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			known := b.version(t)
			err := b.migrate(t, b.plus(t, map[string]string{
				"09001_good.sql": "CREATE TABLE good (id TEXT);",
				"09002_bad.sql":  "CREATE TABLE half (id TEXT); UPDATE app_user SET name = 'x'; INSERT INTO nowhere VALUES (1);",
			}))
			if err == nil || !strings.Contains(err.Error(), "nowhere") {
				t.Fatalf("got %v, want the failure", err)
			}
			if v := b.version(t); v != 9001 {
				t.Errorf("version %d, want that of the last migration that went through", v)
			}
			// Restore the known version to read the database through the store.
			for _, undo := range []string{
				"DROP TABLE good",
				fmt.Sprintf("DELETE FROM %s WHERE version_id > %d", versionTable, known),
			} {
				if _, err := b.raw(t).Exec(undo); err != nil {
					t.Fatal(err)
				}
			}
			db = open(t, b.options)
			if u, err := db.UserByEmail(t.Context(), "a@example.org"); err != nil || u.Name != "" {
				t.Errorf("the user is %+v, %v", u, err)
			}
			if _, err := db.Count(t.Context(), "half"); err == nil {
				t.Error("half a migration stayed")
			}
		})
	}
}

// TestCurrentFileGetsItsWriteAheadLog opens a file of the current schema that is not in WAL mode, like a restored one.
func TestCurrentFileGetsItsWriteAheadLog(t *testing.T) {
	t.Parallel()
	b := backends(t)[0]
	journal := func(change string) (mode string) {
		t.Helper()
		raw, err := sql.Open("sqlite", b.options.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = raw.Close() }()
		if err := raw.QueryRowContext(t.Context(), "PRAGMA journal_mode"+change).Scan(&mode); err != nil {
			t.Fatal(err)
		}
		return mode
	}
	if err := open(t, b.options).Close(); err != nil {
		t.Fatal(err)
	}
	if mode := journal(" = DELETE"); mode != "delete" {
		t.Fatalf("the file is in mode %s", mode)
	}
	db := open(t, b.options)
	if mode := journal(""); mode != "wal" {
		t.Errorf("an opened file is in mode %s", mode)
	}
	if err := db.InsertUser(t.Context(), account.User{ID: "usr", Email: "a@example.org"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, b.options) // as at every later start
	defer func() { _ = db.Close() }()
	if _, err := db.UserByEmail(t.Context(), "a@example.org"); err != nil {
		t.Error(err)
	}
}

func TestOpenMigratesAnOlderSchema(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			all := b.plus(t, nil)
			latest, err := latestMigration(all)
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(all, func(name string, _ *fstest.MapFile) bool {
				return strings.HasPrefix(name, fmt.Sprintf("%05d_", latest))
			})
			if err := b.migrate(t, all); err != nil {
				t.Fatal(err)
			}
			if b.name == "sqlite" { // as the store has left it
				if _, err := b.raw(t).ExecContext(t.Context(), "PRAGMA journal_mode = WAL"); err != nil {
					t.Fatal(err)
				}
			}
			if v := b.version(t); v != latest-1 {
				t.Fatalf("the older schema has version %d, want %d", v, latest-1)
			}
			open(t, b.options)
			if v := b.version(t); v != latest {
				t.Errorf("the opened database has version %d, want %d", v, latest)
			}
		})
	}
}

func TestLatestMigrationIsTheTarget(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		db := open(t, b.options)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		latest, err := latestMigration(b.plus(t, nil))
		if err != nil || latest != b.version(t) {
			t.Errorf("%s: the latest migration is %d (%v), the schema has version %d", b.name, latest, err, b.version(t))
		}
	}
	if _, err := latestMigration(fstest.MapFS{"readme": {}}); err == nil {
		t.Error("a file without a version was accepted")
	}
}

func TestFileIsCopiedBeforeAMigration(t *testing.T) {
	t.Parallel()
	b := backends(t)[0]
	db := open(t, b.options)
	if err := db.InsertUser(t.Context(), account.User{ID: "usr", Email: "a@example.org"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if copies, _ := filepath.Glob(b.options.Path + ".before-*"); len(copies) != 0 {
		t.Errorf("a new file was copied: %v", copies)
	}
	// An incomplete copy of a killed process is removed with the next copy.
	if err := os.WriteFile(b.options.Path+".copying-123", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	known := b.version(t)
	more := map[string]string{}
	for v := 9008; v <= 9012; v++ {
		more[fmt.Sprintf("0%d_more.sql", v)] = fmt.Sprintf("CREATE TABLE t%d (id TEXT);", v)
		if err := b.migrate(t, b.plus(t, more)); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(b.options.Path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", e.Name(), info.Mode(), err)
		}
	}
	for _, want := range []string{"carrel.db.before-v9010", "carrel.db.before-v9011", "carrel.db.before-v9012"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing from %v", want, names)
		}
	}
	if slices.Contains(names, "carrel.db.before-v9009") ||
		slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "copying") }) {
		t.Errorf("too much is left: %v", names)
	}
	// The copy is a complete database of the previous version.
	old := backend{options: Options{Path: b.options.Path + ".before-v9010"}}
	if v := old.version(t); v != 9009 {
		t.Errorf("the copy has version %d, want 9009", v)
	}
	if _, err := old.raw(t).Exec(fmt.Sprintf("DELETE FROM %s WHERE version_id > %d", versionTable, known)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, old.options).UserByEmail(t.Context(), "a@example.org"); err != nil {
		t.Errorf("in the copy: %v", err)
	}
}

func TestProcessesDoNotMigrateAFileTwice(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if err := open(t, b.options).Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := b.raw(t).Exec("CREATE TABLE tally (n INTEGER)"); err != nil {
				t.Fatal(err)
			}
			// Applying it twice would not fail, so count how often it was applied.
			files := b.plus(t, map[string]string{"09001_count.sql": "INSERT INTO tally VALUES (1);"})
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if err := b.migrate(t, files); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			var n int
			if err := b.raw(t).QueryRow("SELECT count(*) FROM tally").Scan(&n); err != nil || n != 1 {
				t.Errorf("applied %d times (%v)", n, err)
			}
			// The pre-migration copy must not be overwritten by a later one.
			if b.options.Path != "" {
				before := backend{options: Options{Path: copyName(b.options.Path, 9001)}}
				if v := before.version(t); v >= 9001 {
					t.Errorf("the copy has version %d", v)
				}
			}
		})
	}
}

func TestEnginesHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	for _, d := range []dialect{sqliteDialect, postgresDialect} {
		files, err := d.migrations()
		if err != nil {
			t.Fatal(err)
		}
		if names[d.name], err = fs.Glob(files, "*"); err != nil {
			t.Fatal(err)
		}
	}
	if len(names["sqlite"]) == 0 || !slices.Equal(names["sqlite"], names["postgres"]) {
		t.Errorf("the folders differ: %v", names)
	}
}

// columns lists table.column, with a question mark if NULL is allowed.
func columns(t *testing.T, db *DB, query string) []string {
	t.Helper()
	var name string
	var list []string
	if err := db.read.each(t.Context(), query, nil, []any{&name}, func() error {
		list = append(list, name)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func TestEnginesHaveTheSameTables(t *testing.T) {
	t.Parallel()
	both := backends(t)
	lite := columns(t, open(t, both[0].options), `
		SELECT t.name || '.' || c.name || CASE WHEN c."notnull" = 0 THEN '?' ELSE '' END
		FROM sqlite_schema t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> '`+versionTable+`'`)
	pg := columns(t, open(t, both[1].options), `
		SELECT table_name || '.' || column_name || CASE WHEN is_nullable = 'YES' THEN '?' ELSE '' END
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> '`+versionTable+`'`)
	if len(lite) < 80 || !slices.Equal(lite, pg) {
		t.Errorf("the schemas differ:\n  sqlite %v\npostgres %v", lite, pg)
	}
}

func TestOpenReportsWhyItFailed(t *testing.T) {
	t.Parallel()
	junk := filepath.Join(t.TempDir(), "junk.db")
	if err := os.WriteFile(junk, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"nothing":   {Options{}, "neither a file nor a URL"},
		"no folder": {Options{Path: filepath.Join(t.TempDir(), "none", "carrel.db")}, "no such file or directory"},
		"junk":      {Options{Path: junk}, "not a database"},
		"bad URL":   {Options{URL: "postgres://user:secret@[bad/x"}, "open the database"},
		"nobody":    {Options{URL: "postgres://user:secret@127.0.0.1:1/x"}, "127.0.0.1"},
	} {
		_, err := Open(t.Context(), test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q in it and no password", name, err, test.want)
		}
	}
}

func TestPingDetectsADeletedFile(t *testing.T) {
	t.Parallel()
	o := Options{Path: filepath.Join(t.TempDir(), "odd ?&%#name.db")}
	db := open(t, o)
	info, err := os.Stat(o.Path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("the file is %v (%v)", info, err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.Rename(o.Path, o.Path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err == nil {
		t.Error("a missing file went unnoticed")
	}
	if err := os.WriteFile(o.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err == nil {
		t.Error("another file went unnoticed")
	}
}

func TestLostServerIsUnavailable(t *testing.T) {
	t.Parallel()
	o := Options{URL: testkit.Postgres(t)}
	db := open(t, o)
	raw := backend{options: o}.raw(t)
	// All connections are terminated. The next use may fail, the one after gets a new connection.
	if _, err := raw.Exec(`
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	err := db.inTx(t.Context(), func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		return err
	})
	if got := fail("write", "thing", err); classify(err) != classUnavailable || got == nil {
		t.Errorf("got %v, want that the database is away", err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
