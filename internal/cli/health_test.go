package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthFollowsTheServer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	addr := strings.TrimPrefix(in.serve("CARREL_READY_WHILE_INDEXING", "on"), "http://")
	for _, args := range [][]string{{"health", "--live"}, {"health"}} {
		code, out, errs := run(t, append(args, "--data", in.data, "--addr", addr)...)
		if code != exitOK || out != "ok\n" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, errs)
		}
	}
	code, _, errs := run(t, "health", "--data", in.data, "--addr", "127.0.0.1:1")
	if code != exitFailed {
		t.Errorf("exit code %d without a server", code)
	}
	mustContain(t, errs, "127.0.0.1:1 does not answer")
}

func TestHealthPrintsWhyAServerIsNotReady(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"detail":"The disk is full."}`))
	}))
	t.Cleanup(s.Close)
	addr := s.Listener.Addr().String()
	code, _, errs := run(t, "health", "--data", t.TempDir(), "--addr", addr)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	mustContain(t, errs, "not ready (status 503): The disk is full.")
	if code, _, errs := run(t, "health", "--live", "--data", t.TempDir(), "--addr", addr); code != exitOK {
		t.Errorf("--live: exit code %d, %s", code, errs)
	}
}

func TestLocalAddr(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:80": "127.0.0.1:80", "[::]:80": "[::1]:80",
		"192.0.2.1:80": "192.0.2.1:80", "carrel.internal:80": "carrel.internal:80",
	} {
		if got, err := localAddr(addr); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", addr, got, err, want)
		}
	}
}
