package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/thread"
)

// crashFile makes a copy of this test binary write into the file until it is killed.
const crashFile = "CARREL_TEST_CRASH_FILE"

func TestAcknowledgedWritesSurviveAKill(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		path := filepath.Join(t.TempDir(), "carrel.db")
		child := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
		child.Env = append(os.Environ(), crashFile+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		var acknowledged []string
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if !core.IsID(core.PrefixThread, lines.Text()) {
				continue
			}
			if acknowledged = append(acknowledged, lines.Text()); len(acknowledged) == 200+100*round {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait()
		if len(acknowledged) < 200 {
			t.Fatalf("the child acknowledged only %d writes", len(acknowledged))
		}
		db := openWith(t, store.Options{Path: path})
		for _, id := range acknowledged {
			if _, err := db.Thread(t.Context(), "usr", "agt", id); err != nil {
				t.Fatalf("acknowledged thread %s: %v", id, err)
			}
		}
	}
}

// TestCrashChild is the child process of TestAcknowledgedWritesSurviveAKill.
func TestCrashChild(t *testing.T) {
	path := os.Getenv(crashFile)
	if path == "" {
		t.Skip("runs as the child of another test")
	}
	db := openWith(t, store.Options{Path: path})
	now := time.Now()
	if err := db.InsertUser(t.Context(), account.User{ID: "usr", CreatedAt: now}, ""); err != nil {
		t.Fatal(err)
	}
	a := agent.Agent{ID: "agt", UserID: "usr", Sources: []agent.Source{{ID: "src", Default: true}}}
	if err := db.InsertAgent(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	var out sync.Mutex
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for t.Context().Err() == nil {
				id := core.NewID(core.PrefixThread)
				if _, err := db.InsertThread(t.Context(), "usr",
					thread.Thread{ID: id, AgentID: "agt", CreatedAt: now, UpdatedAt: now}); err != nil {
					t.Error(err)
					return
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		})
	}
	wg.Wait()
}
