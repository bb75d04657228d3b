package server_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestPagesOfOtherOriginsMayUseBearerCredentials(t *testing.T) {
	t.Parallel()
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	opts := routes(map[string]http.HandlerFunc{"GET /api/x": ok, "POST /mcp": ok, "GET /page": ok})
	const listed, other = "https://app.example.org", "https://evil.example"
	bearer, cookie := header("Authorization", "Bearer x"), header("Cookie", "session=x")
	for name, c := range map[string]struct {
		origins, method, path, origin string
		with                          func(*http.Request)
		allowed                       string
	}{
		"any origin":                  {"*", "GET", "/api/x", other, bearer, "*"},
		"an error":                    {"*", "GET", "/api/none", other, bearer, "*"},
		"without a credential":        {"*", "GET", "/api/x", other, nil, "*"},
		"no origin":                   {"*", "GET", "/api/x", "", bearer, ""},
		"a cookie":                    {"*", "GET", "/api/x", other, cookie, ""},
		"MCP":                         {"*", "POST", "/mcp", other, bearer, ""},
		"a page":                      {"*", "GET", "/page", other, bearer, ""},
		"a listed origin":             {listed, "GET", "/api/x", listed, bearer, listed},
		"an origin that is not":       {listed, "GET", "/api/x", other, bearer, ""},
		"an origin that is longer":    {listed, "GET", "/api/x", listed + ".evil.example", bearer, ""},
		"another scheme":              {listed, "GET", "/api/x", strings.Replace(listed, "https", "http", 1), bearer, ""},
		"off":                         {"", "GET", "/api/x", listed, bearer, ""},
		"a cookie of a listed origin": {listed, "GET", "/api/x", listed, cookie, ""},
	} {
		// An empty variable is like an unset one, so off is a list without an origin.
		origins := c.origins
		if origins == "" {
			origins = ","
		}
		h := newServer(t, opts, "CARREL_CORS_ORIGINS", origins)
		with := []func(*http.Request){}
		if c.origin != "" {
			with = append(with, header("Origin", c.origin))
		}
		if c.with != nil {
			with = append(with, c.with)
		}
		rec := h.do(c.method, c.path, with...)
		if got := rec.Header().Get("Access-Control-Allow-Origin"); got != c.allowed {
			t.Errorf("%s: allowed %q", name, got)
		}
		if rec.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: credentials are allowed", name)
		}
		if c.origins == listed && c.path == "/api/x" && !strings.Contains(rec.Header().Get("Vary"), "Origin") {
			t.Errorf("%s: Vary is %q", name, rec.Header().Values("Vary"))
		}
		exposed := rec.Header().Get("Access-Control-Expose-Headers")
		if c.allowed != "" != strings.Contains(exposed, "RateLimit") {
			t.Errorf("%s: exposed %q", name, exposed)
		}
	}
}

func TestPreflightIsAnsweredWithoutAHandler(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"POST /api/x": func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was called")
	}}))
	rec := h.do("OPTIONS", "/api/x", header("Origin", "https://app.example.org"),
		header("Access-Control-Request-Method", "POST"), header("Access-Control-Request-Headers", "authorization"))
	got := rec.Header()
	if rec.Code != http.StatusNoContent || got.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(got.Get("Access-Control-Allow-Methods"), "PATCH") ||
		!strings.Contains(got.Get("Access-Control-Allow-Headers"), "Authorization") ||
		got.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v", rec.Code, got)
	}
	if rec := h.do("OPTIONS", "/api/x", header("Origin", "https://app.example.org")); rec.Code == http.StatusNoContent {
		t.Error("OPTIONS without a requested method was answered as a preflight")
	}
}
