package webapp_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"strings"

	"carrel/internal/core"
)

// visitor is an HTTP client with a cookie jar that does not follow redirects.
type visitor struct {
	site *site
	jar  http.CookieJar
}

func (s *site) visitor() *visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &visitor{site: s, jar: jar}
}

func (v *visitor) send(req *http.Request) answer {
	v.site.t.Helper()
	for _, c := range v.jar.Cookies(req.URL) {
		req.AddCookie(c)
	}
	a := v.site.do(req)
	v.jar.SetCookies(req.URL, (&http.Response{Header: a.header}).Cookies())
	return a
}

func (v *visitor) get(path string) answer {
	v.site.t.Helper()
	return v.send(v.site.request(http.MethodGet, path, nil, nil))
}

func (v *visitor) post(path string, pairs ...string) answer {
	v.site.t.Helper()
	return v.send(v.site.request(http.MethodPost, path, fieldsOf(pairs), nil))
}

// wantRedirect checks that the response redirects to a path.
func (v *visitor) wantRedirect(a answer, want string) {
	v.site.t.Helper()
	if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != want {
		v.site.t.Fatalf("%d to %q, want %q: %s", a.status, got, want, a.body)
	}
}

func (v *visitor) isSignedIn() bool {
	v.site.t.Helper()
	return strings.Contains(v.get("/").body, "Hello, Ada Lovelace")
}

// signIn signs in with the password, to an account without a second factor.
func (v *visitor) signIn() *visitor {
	v.site.t.Helper()
	v.wantRedirect(v.post("/sign-in", "email", email, "password", password), "/")
	return v
}

// actor returns the user as an actor with a new session, for calling services directly.
func (s *site) actor() core.Actor {
	s.t.Helper()
	session, _, err := s.sessions.Begin(context.Background(), s.user.ID, "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return core.Actor{
		UserID: s.user.ID, Role: s.user.Role, Plan: s.user.Plan, CredentialID: session.ID,
		Credential: core.CredentialSession,
		Scopes:     s.user.Role.Scopes(), AuthenticatedAt: session.AuthenticatedAt,
	}
}
