package webapp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/oauth"
)

func TestConsentPageEscapesTheClientName(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	p := consent
	p.Client, p.RedirectTo = `<img src=x onerror=alert(1)> & "Sons"`, "https://client.example/callback"
	p.ClientHost, p.Fields = "client.example", map[string]string{"request": `"><script>`}
	rec := httptest.NewRecorder()
	site.app.Consent(rec, site.request(http.MethodGet, "/consent", nil, nil), p)
	body := rec.Body.String()
	if strings.Contains(body, "<img") || strings.Contains(body, "<script") {
		t.Error("the client name is not escaped")
	}
	for _, want := range []string{
		"&lt;img", "unverified", "client.example", email, "Create and edit your agents", `action="/consent"`,
		`name="request" value="&#34;&gt;`,
		`name="decision" value="allow"`, `name="decision" value="deny"`, `method="post"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' https:; " +
			"frame-ancestors 'none'; base-uri 'none'",
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := rec.Header().Get(header); got != want {
			t.Errorf("%s is %q", header, got)
		}
	}
}

func TestSignInRedirectKeepsLocalReturnPaths(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for to, want := range map[string]string{
		"/api/auth/mcp/authorize?a=b&c=d": "/sign-in?return=%2Fapi%2Fauth%2Fmcp%2Fauthorize%3Fa%3Db%26c%3Dd",
		"https://evil.example/":           "/sign-in", "": "/sign-in",
	} {
		rec := httptest.NewRecorder()
		site.app.SignIn(rec, site.request(http.MethodGet, "/", nil, nil), to)
		if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != want {
			t.Errorf("%q: %d %s", to, rec.Code, got)
		}
	}
}

func TestSessionReturnsTheSignedInUser(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	at := site.clock.Now()
	c := site.signIn()
	got, ok := site.app.Session(site.request(http.MethodGet, "/", nil, c))
	if !ok || got.UserID != site.user.ID || got.Email != email || got.Name != "Ada Lovelace" ||
		!got.AuthenticatedAt.Equal(at) || got.ID == "" {
		t.Errorf("%+v, %v", got, ok)
	}
	if page := site.get("/sign-in", c); page.status != http.StatusOK ||
		!strings.Contains(page.body, "You are signed in as") {
		t.Errorf("the sign-in page for a signed-in user: %d", page.status)
	}
	if _, ok := site.app.Session(site.request(http.MethodGet, "/", nil, nil)); ok {
		t.Error("a request without a cookie has a session")
	}
}

func TestFailPageNeverRedirects(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for status, want := range map[int]int{400: 400, 403: 403, 0: 400, 302: 400, 700: 400} {
		rec := httptest.NewRecorder()
		site.app.Fail(rec, site.request(http.MethodGet, "/", nil, nil),
			oauth.FailPage{Failure: oauth.FailClientDocument, Detail: "Bad <document>.", Status: status})
		if rec.Code != want || rec.Header().Get("Location") != "" ||
			!strings.Contains(rec.Body.String(), "Bad &lt;document&gt;.") {
			t.Errorf("%d: %d %s", status, rec.Code, rec.Body)
		}
	}
}
