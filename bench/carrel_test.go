package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary also stands in for the carrel binary, with only the commands and paths that the run uses. It is
// strict, so that a change of that interface fails here.

const standInKey = "key_of_the_stand_in"

// runStandIn acts as `carrel …` and reports whether it handled the arguments.
func runStandIn(args []string) (bool, error) {
	switch command := strings.Join(args, " "); {
	case strings.HasPrefix(command, "admin --data "):
		return true, standInAdmin(strings.Join(args[3:], " "))
	case len(args) == 7 && strings.HasPrefix(command, "serve --addr 127.0.0.1:") &&
		args[3] == "--data" && args[5] == "--metrics-addr":
		if os.Getenv("CARREL_RATE_LIMITS") != "off" {
			return true, errors.New("rate limits are on")
		}
		turns := &standInTurns{
			file:  filepath.Join(args[4], "asleep"),
			model: os.Getenv("CARREL_TEST_MODEL_URL"),
			busy:  map[string]bool{},
		}
		if err := turns.load(); err != nil {
			return true, err
		}
		failed := make(chan error, 2)
		go func() { failed <- http.ListenAndServe(args[2], standInAPI(turns)) }()
		go func() { failed <- http.ListenAndServe(args[6], standInMetrics()) }()
		return true, <-failed
	}
	return false, nil
}

func standInAdmin(command string) error {
	replies := map[string]string{
		"user create --email " + carrelEmail + " --name Bench --password " + carrelPassword +
			" --json": `{"user":{"id":"usr_1"}}`,
		"key create --user " + carrelEmail + " --name bench --json":   `{"key":"` + standInKey + `"}`,
		"agent create --user " + carrelEmail + " --name Bench --json": `{"agent":{"id":"agt_1"}}`,
	}
	reply, ok := replies[command]
	if !ok {
		return fmt.Errorf("unknown command %q", command)
	}
	fmt.Println(reply)
	return nil
}

func standInMetrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, metricMallocs, 1e6) })
}

// standInAPI keeps no rows: it accepts any thread id and always returns a full page.
func standInAPI(turns *standInTurns) http.Handler {
	var mu sync.Mutex
	made := 0
	create := func(name, field string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var body map[string]string
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body[field]) != textLength {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			mu.Lock()
			made++
			id := fmt.Sprint(name, "_", made)
			mu.Unlock()
			_ = json.NewEncoder(w).Encode(map[string]any{name: map[string]string{"id": id, field: body[field]}})
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /api/agents/agt_1/memories", create("memory", "text"))
	mux.HandleFunc("POST /api/agents/agt_1/threads", create("thread", "title"))
	mux.HandleFunc("POST /api/agents/agt_1/threads/{id}/messages", turns.post)
	mux.HandleFunc("GET /api/agents/agt_1/threads/{id}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).
			Encode(map[string]any{"thread": map[string]string{"id": r.PathValue("id"), "title": rowText(1)}})
	})
	mux.HandleFunc("GET /api/agents/agt_1/memories", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "limit=50" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		rows := make([]map[string]string, pageSize)
		for i := range rows {
			rows[i] = map[string]string{"id": fmt.Sprint(i), "text": rowText(uint64(i))}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"memories": rows})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.Header.Get("Authorization") != "Bearer "+standInKey {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func TestAWholeShortRunOfBothServersGivesARatioForEachScenario(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options{
		loadFlags: loadFlags{connections: 4, rounds: 3, duration: 300 * time.Millisecond},
		starts:    1, rows: 60, counted: 50, scenarios: scenarios,
	}
	rep, err := measure(t.Context(), runFlags{progress: t.Output()}, o, []server{
		&carrel{binary: self, dir: dir, rows: o.rows},
		&pocketBase{dir: dir, rows: o.rows},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range rep.results {
		// A round without a reply, on a busy machine, has no ratio.
		if len(res.ratios) == 0 || len(res.ratios) > o.rounds || median(res.ratios) <= 0 {
			t.Errorf("%s: ratios %v", res.scenario.key, res.ratios)
		}
	}
	var text strings.Builder
	if err := rep.page().writeText(&text); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if line(text.String(), s.title, "met") == "" {
			t.Errorf("no verdict on %s in:\n%s", s.title, text.String())
		}
	}
}
