package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// sqliteTemplates maps names to functions that return the content of a migrated database. They are global because they
// outlive single tests.
var sqliteTemplates sync.Map

// SQLiteTemplate returns the path of a new database file prepared by migrate, which runs once per process and name.
// Each test gets a copy, because the migrations of a new file take 200 ms of processor time. migrate must close its
// connections.
func SQLiteTemplate(t testing.TB, name string, migrate func(path string) error) string {
	t.Helper()
	once, _ := sqliteTemplates.LoadOrStore(name, sync.OnceValues(func() ([]byte, error) {
		return migratedFile(migrate)
	}))
	content, err := once.(func() ([]byte, error))()
	if err != nil {
		t.Fatalf("template database %q: %v", name, err)
	}
	path := filepath.Join(t.TempDir(), "carrel.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// migratedFile returns the content of a database file that migrate has prepared.
func migratedFile(migrate func(path string) error) ([]byte, error) {
	dir, err := os.MkdirTemp("", "carrel-template-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "carrel.db")
	if err := migrate(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil, fmt.Errorf("the database was not closed: its log has %d bytes", info.Size())
	}
	return os.ReadFile(path)
}
