package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAWholeShortRunOfTurnsGivesRatiosAndVerdicts(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := turnSettings{
		runFlags:  runFlags{carrel: self, progress: t.Output()},
		loadFlags: loadFlags{connections: 4, rounds: 2, duration: 300 * time.Millisecond},
		peers:     self, scripted: self, databases: []string{onSQLite}, threads: 2000, sleeping: 20,
	}
	rep, err := runTurns(t.Context(), s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.results) != 2 || rep.sleepers == nil {
		t.Fatalf("%d results, sleepers %+v", len(rep.results), rep.sleepers)
	}
	for _, res := range rep.results {
		for i, name := range res.servers {
			if s := res.summaries[i]; s.requests == 0 || s.perSecond <= 0 || s.p99 < s.p50 || len(res.rounds[i]) != 2 {
				t.Errorf("%s, %s: %+v", res.load.title, name, s)
			}
		}
	}
	if s := rep.sleepers; s.turns != 19 || s.before == 0 || s.after == 0 || s.first <= 0 || s.all < s.first {
		t.Errorf("sleepers: %+v", s)
	}
	var text strings.Builder
	if err := rep.page().writeText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"no-op turn over HTTP on SQLite", "≤ 3.00 ms", "met"},
		{"turns/s on SQLite, 4 at a time", "≥ 1000", "met"},
		{"sleeping turns in 1 GB", "≥ 30000", "met"},
		{"first step resumed", "≤ 1000 ms", "met"},
		{"SQLite", "one at a time", "River, JobCompleteTx", "×–"},
		{"River v0.1.2"},
		{"DBOS Transact v3.4.5"},
	} {
		if line(text.String(), want...) == "" {
			t.Errorf("no line with %q in:\n%s", want, text.String())
		}
	}
}

// exampleTurns has Carrel at twice the rate of the other server.
func exampleTurns(database string, load turnLoad, carrel ...sample) turnResult {
	other := roundsOf(500, 500)
	return turnResult{
		database: database, load: load, servers: []string{"Carrel", "River"}, rounds: [][]sample{carrel, other},
		summaries: []summary{summarise(carrel, spent{}), summarise(other, spent{})},
	}
}

func TestTurnTargetsApplyToCarrelOnly(t *testing.T) {
	t.Parallel()
	s := turnSettings{loadFlags: loadFlags{connections: 64, rounds: 2, duration: time.Second}}
	one, many := s.loads()[0], s.loads()[1]
	slow := roundsOf(100, 100)
	for i := range slow {
		for j := range slow[i].latencies {
			slow[i].latencies[j] = 5 * time.Millisecond
		}
	}
	rep := &turnReport{
		settings: s,
		results: []turnResult{
			exampleTurns(onSQLite, one, slow...), exampleTurns(onSQLite, many, roundsOf(1000, 1000)...),
			exampleTurns(onPostgres, one, slow...), exampleTurns(onPostgres, many, roundsOf(100, 100)...),
		},
		sleepers: &sleepers{turns: 1 << 10, before: 10 << 20, after: 20 << 20, first: 2 * time.Second},
	}
	var text, markdown strings.Builder
	if err := errors.Join(rep.page().writeText(&text), rep.page().writeMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), markdown.String()} {
		for _, want := range [][]string{
			{"no-op turn over HTTP on SQLite", "5.00 ms", "≤ 3.00 ms", "NOT met"},
			{"no-op turn over HTTP on PostgreSQL", "5.00 ms", "≤ 6.00 ms", "met"},
			{"turns/s on SQLite", "1000", "≥ 1000", "met"},
			{"sleeping turns in 1 GB", "103833", "met"},
			{"first step resumed", "2000 ms", "NOT met"},
			{"SQLite", "64 at a time", "River", "2.0×"},
		} {
			if line(out, want...) == "" {
				t.Errorf("no line with %q in:\n%s", want, out)
			}
		}
		if l := line(out, "on PostgreSQL", "≤"); strings.Contains(l, "NOT") {
			t.Errorf("a met target reads %q", l)
		}
		if line(out, "turns/s on PostgreSQL") != "" {
			t.Error("PostgreSQL's throughput has no target")
		}
	}
}

func TestOnlyACompleteEchoCounts(t *testing.T) {
	t.Parallel()
	r, err := postTurns("127.0.0.1:1", []string{"/a", "/b"}, "-")
	if err != nil {
		t.Fatal(err)
	}
	text := rowText(7)
	for body, want := range map[string]bool{
		`{"status":"complete","text":"You wrote: ` + text + `"}`:             true,
		`{"status":"complete","text":"Well. You wrote: ` + text + `"}`:       false,
		`{"status":"complete","text":"You wrote: ` + rowText(8) + `"}`:       false,
		`{"status":"complete","text":"You wrote: ` + text[:100] + `"}`:       false,
		`{"status":"working","text":"You wrote: ` + text + `"}`:              false,
		`{"status":"failed","error":"You wrote: ` + text + `","text":"bad"}`: false,
		`You wrote: ` + text: false,
	} {
		if got := checkEcho([]byte(body), 7) == nil; got != want {
			t.Errorf("checkEcho of %.60s: %v", body, got)
		}
		if err := r.check([]byte(body)); want && err != nil {
			t.Errorf("the check under load of %.60s: %v", body, err)
		}
	}
	for _, body := range []string{`{"status":"working"}`, `{"status":"complete","text":""}`} {
		if r.check([]byte(body)) == nil {
			t.Errorf("under load %s counts", body)
		}
	}
	if a, b := string(r.append(nil, 2)), string(r.append(nil, 3)); !strings.HasPrefix(a, "POST /a ") ||
		!strings.HasPrefix(b, "POST /b ") {
		t.Error("turns do not go round the threads")
	}
	if _, err := postTurns("127.0.0.1:1", nil, "-"); err == nil {
		t.Error("turns without a thread")
	}
}

func TestPausedServerCanBeStopped(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("nothing is paused here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &peerTurns{binary: self, engine: "dbos", title: "DBOS", dir: t.TempDir()}
	in, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answers := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return answersOK("http://" + in.addr + "/healthz")(ctx)
	}
	in.pause()
	if answers(200 * time.Millisecond) {
		t.Error("it answers while it is paused")
	}
	in.resume()
	if !answers(10 * time.Second) {
		t.Error("it does not answer after it was resumed")
	}
	in.pause()
	in.stop()
	select {
	case <-in.done:
	default:
		t.Error("it has not ended")
	}
	in.kill() // no-op for a process that has ended
}

func TestPostgresIsStartedWithADatabaseForEach(t *testing.T) {
	t.Parallel()
	// The path of t.TempDir is too long for a Unix socket.
	dir, err := os.MkdirTemp("", "cb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pg, err := startPostgres(t.Context(), dir)
	if errors.Is(err, errNoPostgres) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer pg.stop()
	url, err := pg.create(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(url, "postgres://postgres@/one?host=%2F") || pg.version == "" {
		t.Errorf("address %s, version %q", url, pg.version)
	}
	if _, err := pg.create(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("the same database again: %v", err)
	}
	pg.stop()
	if left, err := filepath.Glob(filepath.Join(dir, "pg", ".s.PGSQL.*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestModelReceivesReportsAndRequestsACollection(t *testing.T) {
	t.Parallel()
	m, err := newSleepModel()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	s := &standInTurns{model: m.url, asleep: 3}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.awaitAsleep(short, 1); err == nil {
		t.Error("turns sleep before anybody said so")
	}
	go s.reports() // ends with the test process
	if err := errors.Join(m.awaitAsleep(t.Context(), 3), m.tidyUp(t.Context())); err != nil {
		t.Error(err)
	}
	resp, err := http.Post(m.url+"/asleep", "application/json", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("garbage: %s", resp.Status)
	}
}

func TestTurnFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--databases mysql", "--databases sqlite,sqlite", "--connections 0", "--rounds 0", "--duration 0s", "--duration 3s",
		"--threads 100", "--sleeping 10001", "--sleeping 1", "stray",
	} {
		if _, err := parseTurns(strings.Fields(args)); err == nil {
			t.Errorf("%s was accepted", args)
		}
	}
	s, err := parseTurns([]string{"--databases", "postgres", "--alone"})
	if err != nil || len(s.databases) != 1 || s.databases[0] != onPostgres || !s.alone {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestMissingScriptedServerIsAnError(t *testing.T) {
	t.Parallel()
	s := turnSettings{
		runFlags: runFlags{progress: t.Output()},
		alone:    true,
		scripted: filepath.Join(t.TempDir(), "none"),
	}
	if err := (&turnReport{}).build(t.Context(), &s, t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
