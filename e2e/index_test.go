package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// ledger returns n small documents, each with a unique word: "token17".
func ledger(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id": "n%d", "title": "Note %d", "text": "An entry of the ledger, with token%d.", "year": %d}`+"\n",
			i, i, i, 1800+i%200)
	}
	return b.String()
}

const manyNotes = 6_000 // enough for a rebuild that takes a while and logs its progress

func TestSearchWorksDuringARebuild(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.add(t, "Ledger", ledger(manyNotes), "--default", "--language", "en")
	searching, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var answered atomic.Int64
	for reader := range 2 {
		readers.Go(func() {
			for i := reader; searching.Err() == nil; i += 997 {
				n := i % manyNotes
				status, body, _, err := w.exchange(t.Context(), call{
					method: "POST", path: w.below("/search"),
					body: fmt.Sprintf(`{"query": "ledger token%d", "numResults": 1}`, n), key: w.key,
				})
				if err != nil || status != http.StatusOK {
					t.Errorf("token%d: status %d, %v", n, status, err)
					return
				}
				r := decoded(t, body)
				if !slices.Equal(r.ids(), []string{fmt.Sprint("n", n)}) || len(r.at("warnings").([]any)) > 0 {
					t.Errorf("token%d: %s", n, body)
					return
				}
				answered.Add(1)
			}
		})
	}
	for range 2 {
		before := answered.Load()
		if r := w.admin(t, "index", "rebuild"); r.at("documents") != float64(manyNotes) {
			t.Errorf("rebuilt %v", r.body)
		}
		if answered.Load() == before {
			t.Error("no search was answered during the rebuild")
		}
	}
	removeIndex(t, w.server.Data)
	w.sound(t, manyNotes)
	stop()
	readers.Wait()
	if log := w.server.Log(); strings.Count(log, "search index was deleted and is rebuilt") != 3 ||
		strings.Contains(log, `"level":"ERROR"`) {
		t.Error("the log does not tell of three rebuilds, or tells of errors")
	}
}

// sound waits until the index is complete: this number of documents, every change, and no problems.
func (w *installation) sound(t *testing.T, documents int) {
	t.Helper()
	var last testkit.Result
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		last = w.server.Admin("index", "check", "--json")
		if r := decoded(t, []byte(last.Stdout)); r.at("ok") == true && r.at("missing") == 0.0 &&
			r.at("documents") == float64(documents) {
			return
		}
	}
	t.Fatalf("the index is not whole in %s: %+v", testkit.Patience, last)
}

// removeIndex removes the index folder. It retries, because the server may write to the folder meanwhile.
func removeIndex(t *testing.T, data string) {
	t.Helper()
	var err error
	for range 100 {
		if err = os.RemoveAll(filepath.Join(data, "index")); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func TestRebuildContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.add(t, "Ledger", ledger(manyNotes), "--default", "--language", "en")
	for round, pause := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond} {
		begun := strings.Count(w.server.Log(), "search index is catching up")
		removeIndex(t, w.server.Data)
		for deadline := time.Now().Add(testkit.Patience); strings.Count(w.server.Log(),
			"search index is catching up") == begun; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no rebuild has begun in ", testkit.Patience)
			}
		}
		time.Sleep(pause) // a random point of the rebuild
		w.server.Kill()
		w.server.Start()
		w.sound(t, manyNotes)
		for _, n := range []int{0, manyNotes / 2, manyNotes - 1} {
			if got := w.find(t, fmt.Sprint("token", n), ""); !slices.Equal(got.ids(), []string{fmt.Sprint("n", n)}) ||
				got.at("total") != 1.0 {
				t.Errorf("round %d: token%d finds %v", round, n, got.ids())
			}
		}
	}
}

func TestCommandTakesOverFromAKilledServer(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(ledger(20)), 0o600); err != nil {
		t.Fatal(err)
	}
	obstacle := w.obstruct(t)
	added := make(chan testkit.Result, 1)
	go func() {
		added <- w.server.Admin("source", "add", "--agent", w.agent, "--name", "Ledger", "--json", file)
	}()
	w.awaitSource(t, "Ledger", "indexing") // so the command waits for the server
	w.server.Kill()
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	if r := <-added; r.Code != 0 || !strings.Contains(r.Stdout, `"indexed":true`) {
		t.Errorf("source add: %+v", r)
	}
	w.sound(t, 20)
}

func TestCommandDoesNotWaitForALongIdleServer(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.add(t, "Ledger", ledger(5))
	db, err := sql.Open("sqlite", filepath.Join(w.server.Data, "carrel.db")) // the driver is the store's
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const ago = 3 * time.Hour
	if r, err := db.ExecContext(t.Context(),
		"UPDATE search_index SET updated_at = updated_at - ?", ago.Milliseconds()); err != nil {
		t.Fatal(err)
	} else if n, _ := r.RowsAffected(); n != 1 {
		t.Fatalf("%d servers say how far they are", n)
	}
	w.add(t, "Ledger", ledger(5)) // nothing changes, so the server reports nothing
}

func TestConcurrentCommandsWithoutAServerAreSerialized(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.server.Stop()
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(ledger(2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 3 {
		running.Go(func() {
			r := w.server.Admin("source", "add", "--agent", w.agent, "--name", fmt.Sprint("Ledger ", i), "--json", file)
			if r.Code != 0 || !strings.Contains(r.Stdout, `"indexed":true`) {
				t.Errorf("source add: %+v", r)
			}
		})
	}
	running.Wait()
	w.sound(t, 6000)
}
