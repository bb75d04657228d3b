package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/obs"
	"carrel/internal/server"
	"carrel/internal/testkit"
)

// statuses is a part of the API's table of statuses.
var statuses = map[core.Kind]int{
	core.KindInvalid: 400, core.KindUnauthenticated: 401, core.KindNotFound: 404, core.KindMethod: 405,
	core.KindRateLimited: 429, core.KindInternal: 500, core.KindUnavailable: 503,
}

// problem writes a simplified problem reply.
func problem(w http.ResponseWriter, _ *http.Request, err error) {
	e := core.AsError(err)
	body, _ := json.Marshal(map[string]any{"code": e.Code, "detail": e.Detail, "status": statuses[e.Kind]})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(statuses[e.Kind])
	_, _ = w.Write(body)
}

// harness is a server with its log and metrics.
type harness struct {
	*server.Server
	log     *testkit.Log
	metrics *obs.Metrics
}

// newServer returns a server configured with pairs of environment variables. Rate limits are off by default.
func newServer(t testing.TB, opts server.Options, kv ...string) harness {
	t.Helper()
	vars := map[string]string{"CARREL_DATA": t.TempDir(), "CARREL_ADDR": "127.0.0.1:0", "CARREL_RATE_LIMITS": "off"}
	for i := 0; i < len(kv); i += 2 {
		vars[kv[i]] = kv[i+1]
	}
	cfg, err := config.Load(config.LoadOptions{Getenv: func(name string) string { return vars[name] }})
	if err != nil {
		t.Fatal(err)
	}
	if opts.Problem == nil {
		opts.Problem = problem
	}
	h := harness{log: &testkit.Log{}, metrics: obs.NewMetrics("test")}
	log := obs.NewLogger(h.log, obs.LogOptions{Format: "json", Level: cfg.LogLevel, Prefixes: []string{
		cfg.KeyPrefix,
		cfg.CodePrefix,
	}})
	h.Server = server.New(cfg, log, h.metrics, opts)
	return h
}

// routes registers handlers by pattern.
func routes(handlers map[string]http.HandlerFunc) server.Options {
	return server.Options{Routes: func(mux *http.ServeMux) {
		for pattern, h := range handlers {
			mux.HandleFunc(pattern, h)
		}
	}}
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fine")) }

// do sends a request to the handler without a socket.
func (h harness) do(method, target string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for _, e := range edit {
		e(r)
	}
	rec := httptest.NewRecorder()
	h.Handler().ServeHTTP(rec, r)
	return rec
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func from(addr string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = addr }
}

// wantProblem checks that the reply is a problem with this status and code.
func wantProblem(t *testing.T, rec *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	var got struct{ Code string }
	_ = json.Unmarshal(rec.Body.Bytes(), &got)
	if rec.Code != status || got.Code != code || rec.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s %q (%s), want %d %s", rec.Code, rec.Header().Get("Content-Type"), got.Code, rec.Body, status,
			code)
	}
}

// lines returns the parsed lines of the log with this message.
func (h harness) lines(t *testing.T, msg string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(h.log.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("not JSON: %s", line)
		}
		if m[slog.MessageKey] == msg {
			out = append(out, m)
		}
	}
	return out
}
