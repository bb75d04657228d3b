package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPathsOfAgentsAreServedWithoutTheMux(t *testing.T) {
	t.Parallel()
	served := func(by string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound) // not mistaken for the mux's
			_, _ = w.Write([]byte(by + " " + r.Method + " " + r.Pattern))
		}
	}
	opts := routes(map[string]http.HandlerFunc{"/api/": served("mux")})
	opts.Agents = served("agents")
	h := newServer(t, opts)
	for path, want := range map[string]string{
		"/api/agents/agt_1":          "agents GET /api/",
		"/api/agents/agt_1/threads":  "agents GET /api/",
		"/api/%61gents/agt_1":        "agents GET /api/",
		"/api/agents":                "mux GET /api/",
		"/api/agents2/agt_1":         "mux GET /api/",
		"/api/threads":               "mux GET /api/",
		"/api/agents/../threads":     "",
		"/api/agents//threads":       "",
		"/api/agents/agt_1%2Fx":      "",
		"/api/agents/agt_1/%2e%2e/x": "",
	} {
		rec := h.do("GET", path)
		if got := rec.Body.String(); rec.Code != http.StatusNotFound || want != "" && got != want ||
			want == "" && (strings.Contains(got, "agents GET") || strings.Contains(got, "mux GET")) {
			t.Errorf("%s: %d, %s; want %q", path, rec.Code, got, want)
		}
	}
	rec := httptest.NewRecorder()
	h.metrics.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := `{method="GET",route="/api/",status="404"} 6`; !strings.Contains(rec.Body.String(), want) {
		t.Errorf("no %s in the metrics", want)
	}
}
