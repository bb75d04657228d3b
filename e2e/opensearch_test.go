package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

const bridges = `{"id": "b1", "title": "Suspension bridges", "text": "The deck of a suspension bridge hangs below ` +
	`cables. The Golden Gate Bridge was opened in 1937.", "year": 1990}
{"id": "b2", "title": "Ferries", "text": "A ferry carries passengers across the water.", "year": 2001}
`

// repeatUntilEmpty repeats a check until it returns "", and fails with its last text after a minute.
func repeatUntilEmpty(t *testing.T, check func() string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if last = check(); last == "" {
			return
		}
	}
	t.Fatal(last)
}

// readyz returns the status and the text of the readiness probe.
func (w *installation) readyz(t *testing.T) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

// warningCodes returns the codes of the warnings of a search.
func warningCodes(r reply) []string {
	var out []string
	list, _ := r.at("warnings").([]any)
	for i := range list {
		out = append(out, r.text("warnings", i, "code"))
	}
	return out
}

func TestServerSearchesInOpenSearch(t *testing.T) {
	t.Parallel()
	node := testkit.NewOpenSearch(t)
	w := newLibrary(t, testkit.ServerOptions{Env: []string{"CARREL_SEARCH_URL=" + node.URL}})
	w.add(t, "Crossings", bridges, "--default", "--language", "en")
	r := w.find(t, "suspension bridges", "")
	if !slices.Equal(r.ids(), []string{"b1"}) || !slices.Contains(warningCodes(r), "words_only") {
		t.Errorf("a search found %v with the warnings %v", r.ids(), warningCodes(r))
	}
	w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
	const question = "When was the Golden Gate Bridge opened?"
	if label, works := w.ask(t, question); label != answered || !slices.Contains(works, "Suspension bridges") {
		t.Errorf("the answer begins with %q and cites %v", label, works)
	}
	if status, text := w.readyz(t); status != http.StatusOK || text != "ok\n" {
		t.Errorf("/readyz replies %d %q", status, text)
	}

	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	w.away(t)
	// A turn that begins now waits for the cluster.
	status, r := w.try(t, call{
		method: "POST", path: w.inThread("/messages"), body: fmt.Sprintf(`{"text": %q}`, question), key: w.key,
	}.with("Prefer", "respond-async"))
	if status != http.StatusAccepted {
		t.Fatalf("a question without the cluster replied %d %v", status, r.body)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	// What was imported meanwhile is found now.
	repeatUntilEmpty(t, func() string {
		status, r := w.try(t, w.searchFor("harbour"))
		if status == http.StatusOK && slices.Equal(r.ids(), []string{"h1"}) {
			return ""
		}
		return fmt.Sprint("a search after the restart replied ", status, r.body)
	})
	if got := fmt.Sprint(w.await(t).body); strings.Count(got, "Suspension bridges") < 2 {
		t.Errorf("the turn that waited replied %s", got)
	}
	repeatUntilEmpty(t, func() string {
		if _, text := w.readyz(t); text != "ok\n" {
			return "/readyz replies " + text
		}
		return ""
	})
	if r := w.admin(t, "index", "rebuild"); r.at("documents") != 3.0 {
		t.Errorf("rebuilt %v", r.body)
	}
	if r := w.find(t, "harbour", ""); !slices.Equal(r.ids(), []string{"h1"}) {
		t.Errorf("a search after the rebuild found %v", r.ids())
	}
}

func (w *installation) searchFor(query string) call {
	return call{method: "POST", path: w.below("/search"), body: fmt.Sprintf(`{"query": %q}`, query), key: w.key}
}

// away checks the behaviour while the cluster is down.
func (w *installation) away(t *testing.T) {
	t.Helper()
	r := w.send(t, w.searchFor("suspension"), http.StatusServiceUnavailable)
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); r.text("code") != "search_unavailable" ||
		err != nil || seconds < 1 {
		t.Errorf("a search without the cluster replied %v, Retry-After %q", r.body, r.header.Get("Retry-After"))
	}
	repeatUntilEmpty(t, func() string {
		status, text := w.readyz(t)
		if status == http.StatusOK && strings.Contains(text, "search service is not available") {
			return ""
		}
		return fmt.Sprintf("/readyz replies %d %q", status, text)
	})
	if got := w.server.Admin("doctor"); got.Code == 0 || !strings.Contains(got.Stdout, "the search index can't be read") {
		t.Errorf("admin doctor: code %d\n%s", got.Code, got.Stdout)
	}
	// Documents are stored all the same.
	file := filepath.Join(t.TempDir(), "harbours.jsonl")
	line := `{"id": "h1", "title": "A harbour", "text": "Ships lie in the harbour."}`
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	added := w.admin(t, "source", "add", "--agent", w.agent, "--name", "Crossings", "--language", "en", file)
	if added.at("documents", "added") != 1.0 || added.at("indexed") != false {
		t.Errorf("source add without the cluster says %v", added.body)
	}
}

func TestTwoServersIndexEachDocumentOnce(t *testing.T) {
	t.Parallel()
	url := testkit.OpenSearch(t)
	opts := testkit.ServerOptions{Database: testkit.Postgres(t), Env: []string{"CARREL_SEARCH_URL=" + url}}
	w := newLibrary(t, opts)
	opts.Env = append(opts.Env, "CARREL_RATE_LIMITS=off")
	second := testkit.StartServer(t, opts)
	const n = 200
	w.add(t, "Ledger", ledger(n), "--default", "--language", "en")
	const indexes = "the node that indexes documents has changed"
	if first, other := w.server.Log(), second.Log(); strings.Count(first, indexes)+strings.Count(other, indexes) != 1 {
		t.Errorf("not one of two servers took the lease:\n%s\n%s", first, other)
	}
	for _, base := range []string{w.server.URL, second.URL} {
		for _, k := range []int{0, n - 1} {
			c := w.searchFor(fmt.Sprint("token", k))
			c.base = base
			if r := w.send(t, c, http.StatusOK); !slices.Equal(r.ids(), []string{fmt.Sprint("n", k)}) {
				t.Errorf("token%d found %v", k, r.ids())
			}
		}
	}
	w.sound(t, n)
	// The second server goes on when the first is killed without releasing the lease.
	w.server.Kill()
	w.server = second
	w.add(t, "Ledger", `{"id": "late", "title": "Late", "text": "An entry with tokenlate."}`, "--language", "en")
	repeatUntilEmpty(t, func() string {
		status, r := w.try(t, w.searchFor("tokenlate"))
		if status == http.StatusOK && slices.Equal(r.ids(), []string{"late"}) {
			return ""
		}
		return fmt.Sprint("a search replied ", status, r.body)
	})
	w.sound(t, n+1)
}
