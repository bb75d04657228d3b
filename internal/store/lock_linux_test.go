package store_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/core"
	"carrel/internal/store"
)

// lockFile makes a copy of this test binary check the locks of a database.
const lockFile = "CARREL_TEST_LOCK_FILE"

// TestSQLiteLocksAreHeldWhileOpen ensures that no code opens and closes SQLite's files: closing releases SQLite's
// locks, and another process would reset the WAL index while it is in use.
func TestSQLiteLocksAreHeldWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	db := openWith(t, store.Options{Path: path})
	if err := db.SetPlan(t.Context(), "usr_none", core.PlanNone); !core.IsKind(err, core.KindNotFound) {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.Version()
	// A process does not see its own locks.
	child := exec.Command(os.Args[0], "-test.run=^TestLockChild$", "-test.v")
	child.Env = append(os.Environ(), lockFile+"="+path)
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the index is in use") {
		t.Errorf("another process sees no lock (%v):\n%s", err, out)
	}
}

// TestLockChild is the child process of TestSQLiteLocksAreHeldWhileOpen.
func TestLockChild(t *testing.T) {
	path := os.Getenv(lockFile)
	if path == "" {
		t.Skip("runs as the child of another test")
	}
	f, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	// The byte locked by every user of the WAL index (UNIX_SHM_DMS in SQLite's os_unix.c).
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 128, Len: 1}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		t.Fatal(err)
	}
	if lock.Type == syscall.F_UNLCK {
		t.Fatal("the WAL index is not locked")
	}
	fmt.Println("the index is in use")
}
