package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"carrel/internal/search/local/disk"
)

func TestFileIsWrittenAtPlacesAndInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	f, err := disk.OS.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("world"), 6); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "hello\x00world" {
		t.Fatalf("%q %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v %v", info.Mode(), err)
	}
}

func TestCreateEmptiesWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := disk.OS.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || len(got) != 0 {
		t.Fatalf("%q %v", got, err)
	}
}

func TestRenameReplacesAndRemoveDeletes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := disk.OS.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := disk.OS.MkdirAll(dir); err != nil {
		t.Fatalf("a folder that is there: %v", err)
	}
	from, to := filepath.Join(dir, "new"), filepath.Join(dir, "old")
	for path, text := range map[string]string{from: "new", to: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.OS.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if err := disk.OS.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
		t.Fatalf("%q %v", got, err)
	}
	if err := disk.OS.Remove(to); err != nil {
		t.Fatal(err)
	}
	if err := disk.OS.Remove(to); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("removed twice: %v", err)
	}
}

func TestErrorsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	if f, err := disk.OS.Create(filepath.Join(missing, "f")); !errors.Is(err, fs.ErrNotExist) || f != nil {
		t.Errorf("create: %v %v", f, err)
	}
	if err := disk.OS.SyncDir(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync: %v", err)
	}
	if err := disk.OS.Rename(missing, missing+"2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename: %v", err)
	}
}
