package store_test

import (
	"context"
	"testing"
	"time"

	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// engine opens a new, empty database of one engine.
type engine struct {
	name string
	open func(t testing.TB) *store.DB
}

var engines = []engine{
	{"sqlite", openSQLite},
	{"postgres", openPostgres},
}

func openSQLite(t testing.TB) *store.DB {
	t.Helper()
	return openWith(t, store.Options{Path: kit.SQLite(t), Bin: true})
}

func openPostgres(t testing.TB) *store.DB {
	t.Helper()
	return openWith(t, store.Options{URL: postgresURL(t), Bin: true})
}

// postgresURL returns the URL of a new, migrated database.
func postgresURL(t testing.TB) string {
	t.Helper()
	return testkit.PostgresTemplate(t, "store", func(url string) error {
		db, err := store.Open(context.Background(), store.Options{URL: url})
		if err != nil {
			return err
		}
		return db.Close()
	})
}

// openPooled opens a database through pgbouncer in transaction mode.
func openPooled(t testing.TB) *store.DB {
	t.Helper()
	direct := postgresURL(t)
	return openWith(t, store.Options{
		URL: testkit.Pgbouncer(t, direct), DirectURL: direct, StatementTimeout: time.Minute, Bin: true,
	})
}

func openWith(t testing.TB, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func TestStore(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			runSuite(t, e.open)
		})
	}
}

func TestStoreBehindPgbouncer(t *testing.T) {
	t.Parallel()
	runSuite(t, openPooled, "Documents", "Changes", "Turns", "SpendLedger", "Favourites", "Idempotency")
	t.Run("Tasks", func(t *testing.T) {
		t.Parallel()
		runTaskSuite(t, openPooled)
	})
}
