package webapp_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"carrel/internal/core"
)

// visitor is a browser without a screen: it keeps cookies, and follows no redirect.
type visitor struct {
	w   *world
	jar http.CookieJar
}

func (w *world) visitor() *visitor {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &visitor{w: w, jar: jar}
}

func (v *visitor) send(req *http.Request) answer {
	v.w.t.Helper()
	for _, c := range v.jar.Cookies(req.URL) {
		req.AddCookie(c)
	}
	a := v.w.do(req)
	v.jar.SetCookies(req.URL, (&http.Response{Header: a.header}).Cookies())
	return a
}

func (v *visitor) get(path string) answer {
	v.w.t.Helper()
	return v.send(v.w.request(http.MethodGet, path, nil, nil))
}

func (v *visitor) post(path string, pairs ...string) answer {
	v.w.t.Helper()
	fields := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	return v.send(v.w.request(http.MethodPost, path, fields, nil))
}

// goes fails the test unless the answer sends the visitor on to a path.
func (v *visitor) goes(a answer, want string) {
	v.w.t.Helper()
	if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != want {
		v.w.t.Fatalf("%d to %q, want %q: %s", a.status, got, want, a.body)
	}
}

// isIn reports whether the visitor is signed in.
func (v *visitor) isIn() bool {
	v.w.t.Helper()
	return strings.Contains(v.get("/").body, "Hello, Ada Lovelace")
}

// signIn signs in with the password alone.
func (v *visitor) signIn() *visitor {
	v.w.t.Helper()
	v.goes(v.post("/sign-in", "email", email, "password", password), "/")
	return v
}

// actor is the world's user in a session of their own, for calling services directly.
func (w *world) actor() core.Actor {
	w.t.Helper()
	session, _, err := w.sessions.Begin(context.Background(), w.user.ID, "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	return core.Actor{
		UserID: w.user.ID, Role: w.user.Role, Plan: w.user.Plan, CredentialID: session.ID, Credential: core.CredentialSession,
		Scopes: w.user.Role.Scopes(), AuthenticatedAt: session.AuthenticatedAt,
	}
}
