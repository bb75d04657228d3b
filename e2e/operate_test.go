package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func TestSIGHUPDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	s := testkit.StartServer(t, testkit.ServerOptions{})
	if err := syscall.Kill(s.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testkit.Patience); !strings.Contains(s.Log(), "received SIGHUP"); {
		if time.Now().After(deadline) {
			t.Fatal("SIGHUP is not in the log")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := testkit.Status(t, s.URL+"/healthz"); got != http.StatusOK {
		t.Errorf("status %d after SIGHUP", got)
	}
}

// The other tests use a database that is already migrated. A log is complete once its server has stopped.
func TestFirstStartCreatesTheDatabase(t *testing.T) {
	t.Parallel()
	const created, migrated = `"msg":"schema migrated","from":0,`, "schema migrated"
	for name, args := range map[string][]string{"empty": nil, "demo": {"--demo"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testkit.StartServer(t, testkit.ServerOptions{Data: filepath.Join(t.TempDir(), "new"), Args: args})
			s.Stop()
			first := s.Log()
			if !strings.Contains(first, created) {
				t.Errorf("the log does not say that the database was created:\n%s", first)
			}
			for file, mode := range map[string]os.FileMode{".": 0o700, "carrel.db": 0o600} {
				if info, err := os.Stat(filepath.Join(s.Data, file)); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v, want mode %v", file, info, err, mode)
				}
			}
			s.Restart()
			s.Stop()
			if strings.Contains(s.Log()[len(first):], migrated) {
				t.Error("the second start migrated the database again")
			}
		})
	}
	s := testkit.StartServer(t, testkit.ServerOptions{})
	s.Stop()
	if strings.Contains(s.Log(), migrated) {
		t.Error("the server of a test migrated its database, which takes most of its start")
	}
}
