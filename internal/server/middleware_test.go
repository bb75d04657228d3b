package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/obs"
	"carrel/internal/server"
)

func TestValidRequestIDIsKept(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"/x": func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(obs.RequestID(context.WithoutCancel(r.Context()))))
	}}))
	made := regexp.MustCompile(`^req_[0-9a-z]{16}$`)
	for given, kept := range map[string]bool{
		"abc-1.2_Z": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\nb": false, "<x>": false, "é": false, "a,b": false,
	} {
		rec := h.do("GET", "/x", func(r *http.Request) { r.Header["X-Request-Id"] = []string{given} })
		got := rec.Header().Get("X-Request-Id")
		if kept && got != given || !kept && !made.MatchString(got) || rec.Body.String() != got {
			t.Errorf("%q became %q, in the context %q", given, got, rec.Body)
		}
	}
	twice := h.do("GET", "/x", func(r *http.Request) { r.Header["X-Request-Id"] = []string{"a", "b"} })
	if got := twice.Header().Get("X-Request-Id"); !made.MatchString(got) {
		t.Errorf("two ids became %q", got)
	}
	if a, b := h.do("GET", "/x").Header().Get("X-Request-Id"), h.do("GET",
		"/nowhere").Header().Get("X-Request-Id"); a == b || b == "" {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestAccessLogHasNoQueryOrHeaders(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"POST /things/{id}": func(w http.ResponseWriter,
		_ *http.Request,
	) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("12345"))
	}}))
	h.do("POST", "/things/7?q=private", header("X-Request-Id", "mine"), header("Cookie", "private"),
		header("Authorization", "Bearer private"), header("User-Agent", strings.Repeat("u", 500)))
	got := h.lines(t, "request")
	if len(got) != 1 {
		t.Fatalf("%d lines: %s", len(got), h.log)
	}
	for name, want := range map[string]any{
		"method": "POST", "route": "/things/{id}", "status": 202.0, "bytes": 5.0, "requestId": "mine",
		"userAgent": strings.Repeat("u", 120), "level": "INFO",
	} {
		if got[0][name] != want {
			t.Errorf("%s = %v, want %v", name, got[0][name], want)
		}
	}
	if strings.Contains(h.log.String(), "private") {
		t.Errorf("the line is %s", h.log)
	}
	if seconds, isNumber := got[0]["duration"].(float64); !isNumber || seconds <= 0 || seconds > 60 {
		t.Errorf("the duration is %v, want seconds", got[0]["duration"])
	}
}

func TestAccessLogNamesTheClientAndTheCaller(t *testing.T) {
	t.Parallel()
	for _, limits := range []string{"on", "off"} {
		h := newServer(t, routes(map[string]http.HandlerFunc{"GET /in": func(_ http.ResponseWriter, r *http.Request) {
			_ = server.Admit(r.Context(), core.Actor{UserID: "usr_1", CredentialID: "key_2"})
		}, "GET /out": ok}), "CARREL_TRUSTED_PROXIES", "10.0.0.0/8", "CARREL_RATE_LIMITS", limits)
		h.do("GET", "/in", from("10.0.0.1:99"), header("X-Forwarded-For", "203.0.113.9, 10.0.0.2"))
		h.do("GET", "/out", from("192.0.2.7:99"), header("X-Forwarded-For", "203.0.113.9"))
		got := h.lines(t, "request")
		if len(got) != 2 {
			t.Fatalf("%d lines: %s", len(got), h.log)
		}
		if in := got[0]; in["client"] != "203.0.113.9" || in["userId"] != "usr_1" || in["credentialId"] != "key_2" {
			t.Errorf("authenticated, limits %s: %v", limits, in)
		}
		out := got[1]
		if _, has := out["userId"]; has || out["client"] != "192.0.2.7" {
			t.Errorf("anonymous, limits %s: %v", limits, out)
		}
	}
}

func TestLoggedRouteIsThePattern(t *testing.T) {
	t.Parallel()
	type someKey struct{}
	h := newServer(t, routes(map[string]http.HandlerFunc{
		"/api/": ok,
		"/api/named/": func(_ http.ResponseWriter, r *http.Request) {
			server.SetRoute(context.WithValue(r.Context(), someKey{}, 1), "/api/named/{id}")
		},
	}))
	for path, want := range map[string]string{
		"/api/agents/agt_1": "/api/agents/agt_1", "/api/named/7": "/api/named/{id}",
		"/nowhere/" + strings.Repeat("x", 400): "/nowhere/" + strings.Repeat("x", 191),
	} {
		h.do("GET", path)
		lines := h.lines(t, "request")
		if got := lines[len(lines)-1]["route"]; got != want {
			t.Errorf("%s is logged as %v", path, got)
		}
	}
	// Metrics have patterns and no paths, because every value creates a time series.
	rec := httptest.NewRecorder()
	h.metrics.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`{method="GET",route="/api/",status="200"} 1`, `{method="GET",route="/api/named/{id}",status="200"} 1`,
		`{method="GET",route="none",status="404"} 1`, "carrel_http_requests_in_flight 0",
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

func TestAccessLogFollowsTheLogLevel(t *testing.T) {
	t.Parallel()
	quiet := newServer(t, routes(map[string]http.HandlerFunc{"/x": ok, "/broken": func(w http.ResponseWriter,
		_ *http.Request,
	) {
		w.WriteHeader(http.StatusBadGateway)
	}}), "CARREL_LOG_LEVEL", "warn", "CARREL_BASE_URL", "http://example.com")
	quiet.do("GET", "/x")
	if got := quiet.log.String(); got != "" {
		t.Errorf("logged above info: %s", got)
	}
	quiet.do("GET", "/broken")
	if len(quiet.lines(t, "request")) != 1 {
		t.Errorf("a reply of 502 is not a warning: %s", quiet.log)
	}
	normal := newServer(t, server.Options{})
	normal.do("GET", "/healthz")
	if got := normal.log.String(); got != "" {
		t.Errorf("a probe is logged at info: %s", got)
	}
}

func TestPanicIsAnInternalErrorWithItsStackInTheLog(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"/boom": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Content-Encoding", "gzip")
		panic("the hidden reason")
	}}))
	rec := h.do("GET", "/boom", header("X-Request-Id", "mine"))
	wantProblem(t, rec, 500, "internal")
	if rec.Header().Get("Etag")+rec.Header().Get("Content-Encoding") != "" {
		t.Errorf("headers of the discarded reply: %v", rec.Header())
	}
	if strings.Contains(rec.Body.String(), "hidden") {
		t.Errorf("the reply contains the panic: %s", rec.Body)
	}
	lines := h.lines(t, "panic in a handler")
	if len(lines) != 1 || lines[0]["panic"] != "the hidden reason" || lines[0]["requestId"] != "mine" ||
		!strings.Contains(lines[0]["stack"].(string), "middleware_test.go") {
		t.Errorf("log: %s", h.log)
	}
	if got := h.lines(t, "request"); len(got) != 1 || got[0]["status"] != 500.0 {
		t.Errorf("access log: %v", got)
	}
}

func TestPanicDuringAReplyClosesTheConnection(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"/half": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("boom")
	}, "/abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}))
	before := 0
	for path, logged := range map[string]int{"/half": 1, "/abort": 0} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("%s did not abort: %v", path, err)
				}
			}()
			h.do("GET", path)
		}()
		now := strings.Count(h.log.String(), `"panic in a handler"`)
		if got := now - before; got != logged {
			t.Errorf("%s: %d panics logged", path, got)
		}
		before = now
	}
}

func TestRepliesHaveSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"/x": ok, "/page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
	}}))
	for _, path := range []string{"/x", "/nowhere", "/healthz"} {
		got := h.do("GET", path).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Strict-Transport-Security": "",
		} {
			if got.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.Get(name))
			}
		}
	}
	if got := h.do("GET", "/page").Header().Get("Content-Security-Policy"); got != "default-src 'self'" {
		t.Errorf("a page can't set its own policy: %q", got)
	}
	if got := h.do("GET", "/x").Header().Get("Content-Security-Policy"); !strings.Contains(got, "'none'") {
		t.Errorf("one page changed the policy of all: %q", got)
	}
}

func TestHSTSIsSentOnlyOverHTTPS(t *testing.T) {
	t.Parallel()
	const name = "Strict-Transport-Security"
	if got := newServer(t, server.Options{}, "CARREL_BASE_URL", "https://a.example").do("GET",
		"/healthz").Header().Get(name); got == "" {
		t.Error("not set with an https base URL")
	}
	h := newServer(t, server.Options{}, "CARREL_TRUSTED_PROXIES", "10.0.0.0/8")
	for _, tc := range []struct {
		peer, proto string
		want        bool
	}{
		{"10.1.1.1:1", "https", true},
		{"10.1.1.1:1", "http, HTTPS", true},
		{"10.1.1.1:1", "https, http", false},
		{"192.0.2.1:1", "https", false},
	} {
		rec := h.do("GET", "/healthz", from(tc.peer), header("X-Forwarded-Proto", tc.proto))
		if got := rec.Header().Get(name) != ""; got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestClientIsTheLastUntrustedHop(t *testing.T) {
	t.Parallel()
	opts := routes(map[string]http.HandlerFunc{"/x": func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(server.ClientAddr(r.Context()).String()))
	}})
	h := newServer(t, opts, "CARREL_TRUSTED_PROXIES", "10.0.0.0/8,fd00::/8")
	for _, tc := range []struct {
		peer string
		xff  []string
		want string
	}{
		{"192.0.2.1:1234", nil, "192.0.2.1"},
		{"[::ffff:192.0.2.1]:1234", nil, "192.0.2.1"},
		{"[2001:db8::1%eth0]:1234", nil, "2001:db8::1"},
		{"192.0.2.1:1", []string{"203.0.113.9"}, "192.0.2.1"},
		{"10.0.0.1:1", nil, "10.0.0.1"},
		{"10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"[::ffff:10.0.0.1]:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:1", []string{"6.6.6.6, 203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:1", []string{"6.6.6.6", "203.0.113.9, 10.2.2.2"}, "203.0.113.9"},
		{"10.0.0.1:1", []string{"203.0.113.9:4711"}, "203.0.113.9"},
		{"10.0.0.1:1", []string{"[2001:db8::7]:4711 , fd00::1"}, "2001:db8::7"},
		{"10.0.0.1:1", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"10.0.0.1:1", []string{"203.0.113.9, unknown, 10.2.2.2"}, "10.2.2.2"},
		{"10.0.0.1:1", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		{"10.0.0.1:1", []string{",,"}, "10.0.0.1"},
		{"@", nil, "invalid IP"},
	} {
		rec := h.do("GET", "/x", from(tc.peer), func(r *http.Request) { r.Header["X-Forwarded-For"] = tc.xff })
		if rec.Body.String() != tc.want {
			t.Errorf("%s %q: %s, want %s", tc.peer, tc.xff, rec.Body, tc.want)
		}
	}
}

func TestContextWithoutARequestIsEmpty(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server.SetRoute(ctx, "/x")
	if err := server.Admit(ctx, core.Actor{UserID: "u"}); err != nil {
		t.Error(err)
	}
	if server.ClientAddr(ctx).IsValid() || obs.RequestID(ctx) != "" {
		t.Error("a context without a request has one")
	}
}

func TestReadyNodeSaysWhatDoesNotWork(t *testing.T) {
	t.Parallel()
	h := newServer(t, server.Options{
		Ready:  func(context.Context) error { return nil },
		Notice: func() string { return "Searches fail." },
	})
	if rec := h.do("GET", "/readyz"); rec.Code != 200 || rec.Body.String() != "ok\nSearches fail.\n" {
		t.Errorf("ready: %d %s", rec.Code, rec.Body)
	}
	if rec := h.do("GET", "/healthz"); rec.Body.String() != "ok\n" {
		t.Errorf("healthy: %s", rec.Body)
	}
}

func TestReadinessFollowsTheCheck(t *testing.T) {
	t.Parallel()
	var down error
	h := newServer(t, server.Options{Ready: func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			return errors.New("no time limit")
		}
		return down
	}})
	if rec := h.do("GET", "/readyz"); rec.Code != 200 || rec.Body.String() != "ok\n" {
		t.Errorf("ready: %d %s", rec.Code, rec.Body)
	}
	down = errors.New("database at postgres://u:secret@h is down")
	rec := h.do("GET", "/readyz")
	wantProblem(t, rec, 503, "unavailable")
	if strings.Contains(rec.Body.String(), "database") || len(h.lines(t, "not ready")) != 1 ||
		strings.Contains(h.log.String(), "secret") {
		t.Errorf("reply %s, log %s", rec.Body, h.log)
	}
	down = &core.Error{Kind: core.KindUnavailable, Code: "unavailable", Detail: "The disk is full."}
	rec = h.do("GET", "/readyz")
	wantProblem(t, rec, 503, "unavailable")
	if !strings.Contains(rec.Body.String(), "The disk is full.") {
		t.Errorf("the reply %s has no reason", rec.Body)
	}
	if rec := h.do("GET", "/healthz"); rec.Code != 200 || rec.Body.String() != "ok\n" {
		t.Errorf("health follows readiness: %d %s", rec.Code, rec.Body)
	}
	if rec := newServer(t, server.Options{}).do("GET", "/readyz"); rec.Code != 200 {
		t.Errorf("without a check: %d", rec.Code)
	}
}
