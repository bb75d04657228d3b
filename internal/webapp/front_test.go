package webapp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/oauth"
)

func TestConsentNamesTheClientAndEscapesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := consent
	p.Client, p.RedirectTo = `<img src=x onerror=alert(1)> & "Sons"`, "https://client.example/callback"
	p.ClientHost, p.Fields = "client.example", map[string]string{"request": `"><script>`}
	rec := httptest.NewRecorder()
	w.app.Consent(rec, w.request(http.MethodGet, "/consent", nil, nil), p)
	body := rec.Body.String()
	if strings.Contains(body, "<img") || strings.Contains(body, "<script") {
		t.Error("what a client says of itself is taken for markup")
	}
	for _, want := range []string{
		"&lt;img", "unverified", "client.example", email, "Make and change agents", `action="/consent"`, `name="request" value="&#34;&gt;`,
		`name="decision" value="allow"`, `name="decision" value="deny"`, `method="post"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' https:; frame-ancestors 'none'; base-uri 'none'",
		"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := rec.Header().Get(header); got != want {
			t.Errorf("%s is %q", header, got)
		}
	}
}

func TestSignInComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for to, want := range map[string]string{
		"/api/auth/mcp/authorize?a=b&c=d": "/sign-in?return=%2Fapi%2Fauth%2Fmcp%2Fauthorize%3Fa%3Db%26c%3Dd", "https://evil.example/": "/sign-in", "": "/sign-in",
	} {
		rec := httptest.NewRecorder()
		w.app.SignIn(rec, w.request(http.MethodGet, "/", nil, nil), to)
		if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != want {
			t.Errorf("%q: %d %s", to, rec.Code, got)
		}
	}
}

func TestTheFrontKnowsWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.clock.Now()
	c := w.signIn()
	got, ok := w.app.Session(w.request(http.MethodGet, "/", nil, c))
	if !ok || got.UserID != w.user.ID || got.Email != email || got.Name != "Ada Lovelace" || !got.AuthenticatedAt.Equal(at) || got.ID == "" {
		t.Errorf("%+v, %v", got, ok)
	}
	if page := w.get("/sign-in", c); page.status != http.StatusOK || !strings.Contains(page.body, "You are signed in as") {
		t.Errorf("somebody who has to prove themselves again gets %d", page.status)
	}
	if _, ok := w.app.Session(w.request(http.MethodGet, "/", nil, nil)); ok {
		t.Error("nobody is somebody")
	}
}

func TestFailNeverRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for status, want := range map[int]int{400: 400, 403: 403, 0: 400, 302: 400, 700: 400} {
		rec := httptest.NewRecorder()
		w.app.Fail(rec, w.request(http.MethodGet, "/", nil, nil), oauth.FailPage{Title: "Unknown <client>", Detail: "Register it.", Status: status})
		if rec.Code != want || rec.Header().Get("Location") != "" || !strings.Contains(rec.Body.String(), "Unknown &lt;client&gt;") {
			t.Errorf("%d: %d %s", status, rec.Code, rec.Body)
		}
	}
}
