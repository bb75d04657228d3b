package store_test

import (
	"path/filepath"
	"testing"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// TestVersionChangesWithEveryCommit covers the guarantee that the row cache relies on.
func TestVersionChangesWithEveryCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	open := func() *store.DB {
		db, err := store.Open(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	server, command := open(), open() // a command is another process; a second set of connections stands for it
	seen := map[uint64]bool{}
	fresh := func(after string) {
		t.Helper()
		v, known := server.Version()
		if !known {
			t.Fatal("no version")
		}
		if again, _ := server.Version(); again != v {
			t.Errorf("after %s the version changes by itself", after)
		}
		if seen[v] {
			t.Errorf("after %s the version is an old one", after)
		}
		seen[v] = true
	}
	fresh("opening")
	for i, db := range []*store.DB{server, command, server, command, command} {
		u := account.User{
			ID: core.NewID(core.PrefixUser), Email: core.NewSeed(), Role: core.RoleMember,
			Plan: core.PlanOpen, CreatedAt: testkit.NewClock().Now(),
		}
		if err := db.InsertUser(t.Context(), u, "x"); err != nil {
			t.Fatal(err)
		}
		fresh("insert")
		if _, err := server.UserByEmail(t.Context(), u.Email); err != nil {
			t.Fatal(i, err)
		}
	}
}
