package cli

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver for damaged sums
)

// api sends a request with an API key to a server and returns the status and the decoded body.
func api(t *testing.T, server, key, path string) (status int, body map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()     // it was read
	_ = json.NewDecoder(res.Body).Decode(&body) // not every reply has a JSON body
	return res.StatusCode, body
}

// Commands write to the database of a running server, which must see the change in the next request.
func TestCommandsTakeEffectOnARunningServer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.admin("user", "create", "--email", "bob@example.org", "--name", "Bob", "--password", "correct horse")
	server := in.serve()
	create := func(user, name string) string {
		return in.json("key", "create", "--user", user, "--name", name)["key"].(string)
	}
	status := func(key, path string) int {
		t.Helper()
		got, _ := api(t, server, key, path)
		return got
	}
	key, bob := create(owner, "laptop"), create("bob@example.org", "bob")
	if got := status(key, "/api/agents"); got != http.StatusOK {
		t.Fatalf("a new key: %d", got)
	}
	agent := in.agent("Library")
	if got := status(key, "/api/agents/"+agent); got != http.StatusOK {
		t.Errorf("a new agent: %d", got)
	}
	in.admin("key", "revoke", "--user", owner, "laptop")
	if got := status(key, "/api/agents"); got != http.StatusUnauthorized {
		t.Errorf("a revoked key: %d", got)
	}
	in.admin("user", "disable", "--user", "bob@example.org")
	if got := status(bob, "/api/agents"); got != http.StatusUnauthorized && got != http.StatusForbidden {
		t.Errorf("the key of a disabled account: %d", got)
	}
	mustContain(t, in.admin("user", "delete", "--user", "bob@example.org", "--yes"), "Deleted bob@example.org")
	if got := status(bob, "/api/agents"); got != http.StatusUnauthorized {
		t.Errorf("the key of a deleted account: %d", got)
	}
}

func TestImportedDocumentsAreFoundByARunningServer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	in.serve()
	file := filepath.Join(t.TempDir(), "notes.jsonl")
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `{"id": "n%d", "title": "Note %d", "text": "An entry."}`+"\n", i, i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := in.json("source", "add", "--agent", agent, "--name", "Notes", "--default", file); got["indexed"] != true {
		t.Errorf("the import prints %v", got)
	}
	if got := in.json("index", "check"); got["documents"] != 20.0 || got["missing"] != 0.0 || got["ok"] != true {
		t.Errorf("the index is %v", got)
	}
	if got := in.json("index", "rebuild"); got["rebuilt"] != true || got["documents"] != 20.0 {
		t.Errorf("rebuilding prints %v", got)
	}
	again := in.json("source", "add", "--agent", agent, "--name", "Notes", file)["documents"].(map[string]any)
	if again["unchanged"] != 20.0 || again["added"] != 0.0 {
		t.Errorf("the second import prints %v", again)
	}
}

// The index of a node can be lost without losing documents: a check reports it, and a rebuild repairs it.
func TestDamagedIndexIsReportedAndRebuilt(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	file := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(file, []byte("A note."), 0o600); err != nil {
		t.Fatal(err)
	}
	in.admin("source", "add", "--agent", agent, "--name", "Notes", file)
	segments, err := filepath.Glob(filepath.Join(in.data, "index", "*.segment"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("the segments are %v, %v", segments, err)
	}
	damaged, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(segments[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, "admin", "--data", in.data, "index", "check")
	if code != exitFailed {
		t.Errorf("a damaged index: exit code %d", code)
	}
	mustContain(t, out, "Problem: ", "damaged")
	mustContain(t, errs, "repair it now with: carrel admin index rebuild")
	mustContain(t, in.admin("index", "rebuild"), "Rebuilt the search index: 1 documents.")
	mustContain(t, in.admin("index", "check"), "1 documents; the index is up to date.")
}

func TestSpendCheckReportsSumsThatDifferFromTheLedger(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	id := in.json("user", "list")["users"].([]any)[0].(map[string]any)["id"].(string)
	db, err := sql.Open("sqlite", filepath.Join(in.data, "carrel.db"))
	if err != nil {
		t.Fatal(err)
	}
	month := time.Now().UTC().Format("2006-01")
	_, err = db.ExecContext(t.Context(),
		`INSERT INTO budget (user_id, period, reserved, spent) VALUES (?, ?, 5, 7)`, id, month)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, "admin", "--data", in.data, "spend", "check")
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	mustContain(t, out, "ROWS SPENT", id, month, "7")
	mustContain(t, errs, "1 sums differ from the ledger")
	code, out, _ = run(t, "admin", "--data", in.data, "spend", "check", "--json")
	var got struct{ Differences []map[string]any }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitFailed || len(got.Differences) != 1 ||
		got.Differences[0]["spentMicros"] != 7.0 || got.Differences[0]["rowsSpentMicros"] != 0.0 {
		t.Errorf("exit code %d, %s, %v", code, out, err)
	}
}

// The table and the JSON of a list show the same items.
func TestAgentsAreListedWithTheirSources(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	empty := in.admin("agent", "list", "--user", owner)
	mustContain(t, empty, "ID", "NAME")
	library := in.agent("Library")
	in.agent("Archive")
	file := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(file, []byte("A note."), 0o600); err != nil {
		t.Fatal(err)
	}
	in.admin("source", "add", "--agent", library, "--name", "Notes", file)
	table := in.admin("agent", "list", "--user", owner)
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 3 {
		t.Errorf("the table is\n%s", table)
	}
	for _, a := range in.json("agent", "list", "--user", owner)["agents"].([]any) {
		got := a.(map[string]any)
		mustContain(t, table, got["id"].(string), got["name"].(string))
	}
}

func TestSettingsOfAServerComeFromFlagsBeforeTheEnvironment(t *testing.T) {
	t.Parallel()
	dir, addr, level := t.TempDir(), "127.0.0.1:9999", "debug"
	env := &Env{Getenv: func(name string) string {
		return map[string]string{"CARREL_ADDR": "127.0.0.1:1111", "CARREL_LOG_LEVEL": "warn", "CARREL_DATA": dir}[name]
	}}
	cfg, err := serveCommand{Addr: &addr, LogLevel: &level, Demo: true}.load(env)
	if err != nil || cfg.Addr != addr || cfg.Data != dir || !cfg.Demo || cfg.LogLevel.String() != "DEBUG" {
		t.Errorf("the settings are %s, %s, demo %t, %v, %v", cfg.Addr, cfg.Data, cfg.Demo, cfg.LogLevel, err)
	}
	cfg, err = serveCommand{}.load(env)
	if err != nil || cfg.Addr != "127.0.0.1:1111" || cfg.Demo || cfg.LogLevel.String() != "WARN" {
		t.Errorf("without flags: %s, demo %t, %v, %v", cfg.Addr, cfg.Demo, cfg.LogLevel, err)
	}
}
