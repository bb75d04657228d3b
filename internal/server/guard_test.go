package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"carrel/internal/server"
)

// apiRoutes is a small API with a subtree that accepts any path, and exact routes.
func apiRoutes() server.Options {
	return routes(map[string]http.HandlerFunc{
		"/api/": ok, "/mcp": ok, "GET /page": ok, "POST /page": ok, "/api/auth/": ok, "/docs/": ok,
	})
}

// raw sends a request line unchanged. http.Client would clean the path.
func raw(t *testing.T, addr, line string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "%s\r\nHost: x\r\nConnection: close\r\n\r\n", line)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res
}

func TestAmbiguousPathsAreRefused(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(newServer(t, apiRoutes()).Handler())
	defer srv.Close()
	for target, want := range map[string]int{
		"/api/agents": 200, "/api/agents/": 200, "/api/a..b": 200, "/api/...": 200, "/api/a%252Fb": 200, "/api/%C3%A9": 200,
		"/api/a%5Cb":              200,
		"http://other/api/agents": 200,
		"/api/../page":            404, "/api/..": 404, "/api/.": 404, "/api/./x": 404, "/api//x": 404, "//api/x": 404,
		"/api/x//":         404,
		"/api/%2e%2e/page": 404, "/api/%2E/x": 404, "/api/..%2fpage": 404, "/api/a%2Fb": 404, "/api/a%2fb": 404,
		"/api/%2e%2e%2f": 404,
		"/page/../page":  404, "//page": 404, "/page%2f": 404,
		// Only the id of a card may contain an encoded slash.
		"/api/agents/a/favourites/10.1%2F2": 200, "/api/agents/a/favourites/%2f%2F..%2f": 200,
		"/api/agents/a/favourites/..%2F..%2F..": 200,
		"/api/agents/a/favourites/b%2Fc/d":      404, "/api/agents/a/favourites/b%2Fc/": 404,
		"/api/agents/a%2Fb/favourites/c": 404, "/api/agents/a%2Fb/favourites/c%2Fd": 404,
		"/api/agents/../favourites/c%2Fd": 404, "/api/agents//favourites/c%2Fd": 404,
		"/api/agents/%2e%2e/favourites/c%2Fd": 404, "/api/agents/a/b/favourites/c%2Fd": 404,
		"/api/agents/favourites/c%2Fd": 404, "/api/agents/a/memories/c%2Fd": 404, "/x/api/agents/a/favourites/c%2Fd": 404,
		"/api/agents/a/favourites%2Fc": 404,
		"/api/agents/a/favourites/.":   404, "/api/agents/a/favourites/%2e%2E": 404, "/api/agents/a/favourites/c%2F%0a": 400,
		"/api/agents/a/favourites/c%2F%ff": 400,
		"/api/%00":                         400, "/api/a%0ab": 400, "/api/%7f": 400, "/api/%ff": 400, "/api/%c0%af": 400,
		"/api": 404, "/api/auth": 404, "/api?x=1": 404,
		"/nowhere": 404, "/API/agents": 404, "/page/": 404,
		"/api/" + strings.Repeat("x", 9000): 400, "/page?" + strings.Repeat("x", 9000): 400,
	} {
		res := raw(t, srv.Listener.Addr().String(), "GET "+target+" HTTP/1.1")
		if res.StatusCode != want {
			t.Errorf("%.40s: %d, want %d", target, res.StatusCode, want)
		}
		if got := res.Header.Get("Content-Type"); want != 200 && got != "application/problem+json" {
			t.Errorf("%.40s: a reply of type %s", target, got)
		}
		if res.Header.Get("X-Request-Id") == "" {
			t.Errorf("%.40s: no request id", target)
		}
	}
	// net/http refuses these before a handler runs.
	for _, line := range []string{
		"GET /api/%zz HTTP/1.1", "GET /api/% HTTP/1.1", "GET api HTTP/1.1",
		"G\x00T / HTTP/1.1",
	} {
		if res := raw(t, srv.Listener.Addr().String(), line); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", line, res.StatusCode)
		}
	}
}

func TestPageWithoutItsTrailingSlashIsRedirected(t *testing.T) {
	t.Parallel()
	rec := newServer(t, apiRoutes()).do("GET", "/docs")
	if rec.Code/100 != 3 || rec.Header().Get("Location") != "/docs/" {
		t.Errorf("%d to %q", rec.Code, rec.Header().Get("Location"))
	}
}

func TestOptionsAsteriskGoesThroughTheMiddleware(t *testing.T) {
	t.Parallel()
	h := newServer(t, apiRoutes())
	wantProblem(t, h.do("OPTIONS", "*"), 400, "invalid_request")
}

func TestWrongMethodGetsTheAllowHeader(t *testing.T) {
	t.Parallel()
	h := newServer(t, apiRoutes())
	rec := h.do("DELETE", "/page")
	wantProblem(t, rec, 405, "method_not_allowed")
	if got := rec.Header().Get("Allow"); got != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", got)
	}
	wantProblem(t, h.do("POST", "/healthz"), 405, "method_not_allowed")
	rec = h.do("GET", "/nowhere")
	wantProblem(t, rec, 404, "not_found")
	if rec.Header().Get("Allow") != "" {
		t.Errorf("a 404 has an Allow header")
	}
}

func TestNotFoundReplyOfAHandlerIsKept(t *testing.T) {
	t.Parallel()
	h := newServer(t, routes(map[string]http.HandlerFunc{"/x": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "mine", http.StatusNotFound)
	}, "/api/go": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}}))
	if rec := h.do("GET", "/x"); rec.Code != 404 || rec.Body.String() != "mine\n" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := h.do("GET", "/api/go"); rec.Code != 307 || rec.Header().Get("Location") != "/elsewhere" {
		t.Errorf("%d %s", rec.Code, rec.Header())
	}
}

func TestCredentialInTheQueryIsRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, apiRoutes())
	for query, want := range map[string]string{
		"access_token=x": "credential_in_query", "api_key=x": "credential_in_query", "token=": "credential_in_query",
		"key":            "credential_in_query",
		"ACCESS_Token=x": "credential_in_query", "q=1&Key=x": "credential_in_query", "q=1;token=x": "credential_in_query",
		"%61ccess_token=x": "credential_in_query", "access%5Ftoken=x": "credential_in_query",
		"%6b%65%79=x": "credential_in_query",
		"token=%zz":   "credential_in_query", "%zz=1&token=x": "credential_in_query", "a=%&key=1": "credential_in_query",
		"+token=x": "credential_in_query",
		"%20key=x": "credential_in_query",
		"":         "", "q=key": "", "q=token%3Dx": "", "keys=1": "", "tokenize=1": "", "q=%26": "", "&&": "", "q=a+b": "",
		"=":     "",
		"q=%zz": "invalid_request", "q=%2": "invalid_request", "%=1": "invalid_request", "a=1;b=2": "invalid_request",
	} {
		for _, path := range []string{"/api/agents", "/mcp"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.URL.RawQuery = query
			rec := httptest.NewRecorder()
			h.Handler().ServeHTTP(rec, r)
			if want == "" {
				if rec.Code != 200 {
					t.Errorf("%s?%s: %d %s", path, query, rec.Code, rec.Body)
				}
				continue
			}
			wantProblem(t, rec, 400, want)
			if t.Failed() {
				t.Fatalf("at %s?%s", path, query)
			}
		}
	}
	if rec := h.do("GET", "/page?key=x"); rec.Code != 200 {
		t.Errorf("query of a page: %d", rec.Code)
	}
}

func FuzzURLs(f *testing.F) {
	h := newServer(f, apiRoutes(), "CARREL_LOG_LEVEL", "error")
	for _, seed := range []string{
		"/api/%2e%2e/x", "/api?access%5ftoken=1", "//", "/.", "/api/\x00", "/page?a;b", "/api",
		"*", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return // net/http replies with 400
		}
		r := &http.Request{
			Method: http.MethodGet, URL: u, RequestURI: target, Header: http.Header{}, Host: "x",
			RemoteAddr: "192.0.2.1:1",
		}
		rec := httptest.NewRecorder()
		h.Handler().ServeHTTP(rec, r)
		if rec.Code >= 500 {
			t.Errorf("%q: %d", target, rec.Code)
		}
		api := strings.HasPrefix(u.Path, "/api")
		if api && rec.Code >= 300 && rec.Code < 400 {
			t.Errorf("%q is redirected", target)
		}
		// A credential that url.ParseQuery finds must be refused.
		if q, err := url.ParseQuery(u.RawQuery); err == nil && api && q.Has("access_token") && rec.Code == 200 {
			t.Errorf("%q is accepted", target)
		}
	})
}
