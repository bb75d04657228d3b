package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestACommitIsOneWrite counts the system calls with which a commit of several pages is written.
func TestACommitIsOneWrite(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := open(t, filepath.Join(t.TempDir(), "test.db")+"?"+GatherLog, "journal_mode = WAL", "synchronous = FULL",
		"wal_autocheckpoint = 0")
	exec(t, c, "CREATE TABLE note (id INTEGER PRIMARY KEY, text BLOB NOT NULL)")
	const commits = 10
	before := writeCalls(t)
	for i := range commits {
		exec(t, c, "INSERT INTO note VALUES ($1, zeroblob(40000))", i)
	}
	if calls := writeCalls(t) - before; calls > commits+2 {
		t.Errorf("%d writes for %d commits", calls, commits)
	}
}

// writeCalls returns the number of write system calls of this thread.
func writeCalls(t *testing.T) (n int) {
	t.Helper()
	content, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		t.Skip("the kernel does not count the system calls of a thread: ", err)
	}
	for line := range strings.Lines(string(content)) {
		if _, err := fmt.Sscanf(line, "syscw: %d", &n); err == nil {
			return n
		}
	}
	t.Fatalf("no count of writes in %s", content)
	return 0
}
