package store

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A snapshot of a data folder can be read, and every write says why it fails. The test opens the database the way a
// process without the right to write does; the superuser may write everywhere.
func TestDatabaseInAReadOnlyFolderCanBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	db := open(t, Options{Path: path})
	secret, err := db.Secret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	ro, err := openReadOnly(t.Context(), Options{Log: slog.New(slog.DiscardHandler)}, path, info)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ro.Secret(t.Context()); err != nil || string(got) != string(secret) || !ro.ReadOnly() {
		t.Errorf("the secret is %x, %v", got, err)
	}
	err = ro.SetKeyState(t.Context(), KeyState{}, KeyState{Check: "x"})
	if err == nil || !strings.Contains(err.Error(), "the data folder is read-only") {
		t.Errorf("a write: %v", err)
	}
	if err := ro.Close(); err != nil {
		t.Error(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + suffix); !os.IsNotExist(err) {
			t.Errorf("%s was created: %v", suffix, err)
		}
	}
}
