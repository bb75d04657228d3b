package e2e

import (
	"net/http"
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
