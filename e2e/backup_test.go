package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// TestBackupUnderLoadRestoresTheSameInstallation makes a backup while clients write, kills the server, restores the
// backup on another "machine" and compares what both servers answered.
func TestBackupUnderLoadRestoresTheSameInstallation(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		checkBackupUnderLoad(t, "", "", filepath.Join(t.TempDir(), "backups"), nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		checkBackupUnderLoad(t, testkit.Postgres(t), testkit.Postgres(t), filepath.Join(t.TempDir(), "backups"), nil)
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		s := testkit.S3(t)
		checkBackupUnderLoad(t, "", "", "s3://"+s.Bucket+"/nightly", []string{
			"CARREL_BACKUP_ENDPOINT=" + s.URL, "CARREL_BACKUP_REGION=" + s.Region,
			"CARREL_BACKUP_ACCESS_KEY_ID=" + s.KeyID, "CARREL_BACKUP_SECRET_ACCESS_KEY=" + s.Secret,
		})
	})
}

// checkBackupUnderLoad backs up the database from, "" for SQLite, to a place, and restores it into the database to. env
// has the settings of the place.
func checkBackupUnderLoad(t *testing.T, from, to, place string, env []string) {
	t.Helper()
	s := testkit.StartServer(t, testkit.ServerOptions{Database: from, Env: []string{"CARREL_RATE_LIMITS=off"}})
	admin := func(args ...string) string {
		t.Helper()
		r := s.Admin(args...)
		if r.Code != 0 {
			t.Fatalf("%q: %s", args, r.Stderr)
		}
		return strings.TrimSpace(r.Stdout)
	}
	admin("user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse")
	key := admin("key", "create", "--user", "ada@example.org", "--name", "test")
	var created struct{ Agent struct{ ID string } }
	parse(t, admin("agent", "create", "--user", "ada@example.org", "--name", "Looms", "--json"), &created)
	library := filepath.Join(t.TempDir(), "loom.txt")
	text := "The Jacquard loom was shown in 1804. It wove patterns that were stored on punched cards."
	if err := os.WriteFile(library, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := "/api/agents/" + created.Agent.ID
	where := []string{"--data", s.Data}
	if from != "" {
		where = []string{"--database", from, "--data", s.Data}
	}
	run := func(args ...string) string {
		t.Helper()
		r := testkit.CarrelWith(t, env, args...)
		if r.Code != 0 {
			t.Fatalf("carrel %q: %s%s", args, r.Stdout, r.Stderr)
		}
		return r.Stdout
	}
	run(append(append([]string{"import"}, where...), "--agent", created.Agent.ID, library)...)
	ask := func(base string) string {
		return fetch(t, http.MethodPost, base+agent+"/search", key, `{"query": "punched cards of the loom"}`)
	}
	answer := searchResults(t, ask(s.URL))
	if !strings.Contains(answer, "punched cards") {
		t.Fatalf("the search finds %s", answer)
	}

	w := startWriters(t, s.URL+agent, key)
	w.wait(t, 40)
	before := w.acknowledged()
	run(append(append([]string{"backup"}, where...), "create", "--to", place)...)
	w.wait(t, len(w.acknowledged())+40)
	w.stop()
	s.Kill()

	restored := []string{"--data", t.TempDir()}
	if to != "" {
		restored = append(restored, "--database", to)
	}
	verify := []string{"backup"}
	if from != "" {
		verify = append(verify, "--database", from)
	}
	run(append(verify, "verify", "--from", place, "--all")...)
	run(append(append([]string{"backup"}, restored...), "restore", "--from", place)...)
	r := testkit.StartServer(t, testkit.ServerOptions{Data: restored[1], Database: to})
	if len(before) < 40 {
		t.Fatalf("%d writes before the backup", len(before))
	}
	after := memories(t, r.URL+agent, key)
	for id, want := range before {
		if after[id] != want {
			t.Errorf("the memory %s is %q, and was %q", id, after[id], want)
		}
	}
	if got := searchResults(t, ask(r.URL)); got != answer {
		t.Errorf("the search finds %s, and found %s", got, answer)
	}
	document := regexp.MustCompile("doc_[a-z0-9]+").FindString(ask(r.URL))
	original := fetch(t, http.MethodGet, r.URL+agent+"/documents/"+document+"/original", key, "")
	if original != text {
		t.Errorf("the original is %q", original)
	}
}

func parse(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// memories returns the texts of all memories by id.
func memories(t *testing.T, agent, key string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for cursor := ""; ; {
		var page struct {
			Memories   []struct{ ID, Text string }
			NextCursor string
		}
		parse(t, fetch(t, http.MethodGet, agent+"/memories?limit=100&cursor="+url.QueryEscape(cursor), key, ""), &page)
		for _, m := range page.Memories {
			out[m.ID] = m.Text
		}
		if cursor = page.NextCursor; cursor == "" {
			return out
		}
	}
}

// searchResults returns the results of a search without the time that it took.
func searchResults(t *testing.T, reply string) string {
	t.Helper()
	var found struct {
		Total   int
		Results []struct {
			ID, Title, Snippet, ExternalID string
			Score                          float64
		}
	}
	parse(t, reply, &found)
	return fmt.Sprintf("%+v", found)
}

// fetch sends a request and returns the body of a reply with a status below 300.
func fetch(t *testing.T, method, address, key, body string) string {
	t.Helper()
	status, reply, err := sendRequest(method, address, key, body)
	if err != nil || status >= 300 {
		t.Fatalf("%s %s: %d %s (%v)", method, address, status, reply, err)
	}
	return reply
}

func sendRequest(method, address, key, body string) (int, string, error) {
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(bytes.TrimSpace(reply)), err
}

// writers store memories until they are stopped.
type writers struct {
	group sync.WaitGroup
	ended chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	// stored are the acknowledged memories by id.
	stored map[string]string
}

func startWriters(t *testing.T, agent, key string) *writers {
	t.Helper()
	w := &writers{ended: make(chan struct{}), stored: map[string]string{}}
	w.changed = sync.NewCond(&w.mu)
	for n := range 4 {
		w.group.Go(func() {
			defer w.changed.Broadcast() // a failure ends wait
			for i := 0; ; i++ {
				select {
				case <-w.ended:
					return
				default:
				}
				body := fmt.Sprintf(`{"text": "Writer %d stored the fact number %d."}`, n, i)
				status, reply, err := sendRequest(http.MethodPost, agent+"/memories", key, body)
				var m struct{ Memory struct{ ID, Text string } }
				if err != nil || status != http.StatusOK || json.Unmarshal([]byte(reply), &m) != nil {
					t.Errorf("a write failed: %d %s (%v)", status, reply, err)
					return
				}
				w.mu.Lock()
				w.stored[m.Memory.ID] = m.Memory.Text
				w.mu.Unlock()
				w.changed.Broadcast()
			}
		})
	}
	return w
}

// wait returns when n writes are acknowledged.
func (w *writers) wait(t *testing.T, n int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.stored) < n && !t.Failed() {
		w.changed.Wait()
	}
}

func (w *writers) acknowledged() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]string, len(w.stored))
	for id, m := range w.stored {
		out[id] = m
	}
	return out
}

func (w *writers) stop() {
	close(w.ended)
	w.group.Wait()
}

// TestScheduledBackupIsMadeOnce starts two nodes with the setting backup. A backup is due when they start, and one of
// them makes it.
func TestScheduledBackupIsMadeOnce(t *testing.T) {
	t.Parallel()
	database, place := testkit.Postgres(t), filepath.Join(t.TempDir(), "backups")
	options := testkit.ServerOptions{
		Database: database,
		Env:      []string{"CARREL_BACKUP=" + place, "CARREL_SECRET_KEY=" + strings.Repeat("0123456789abcdef", 4)},
	}
	nodes := []*testkit.Server{testkit.StartServer(t, options), testkit.StartServer(t, options)}
	made := 0
	for deadline := time.Now().Add(testkit.Patience); made == 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		for _, node := range nodes {
			made += strings.Count(node.Log(), `"msg":"backup made"`)
		}
	}
	var list struct{ Backups []struct{ ID string } }
	r := testkit.CarrelWith(t, options.Env, "backup", "--data", nodes[0].Data, "list", "--json")
	parse(t, r.Stdout, &list)
	if len(list.Backups) != 1 || made != 1 {
		t.Errorf("the nodes made %d backups, and %d are listed: %s%s", made, len(list.Backups), r.Stdout, r.Stderr)
	}
}
