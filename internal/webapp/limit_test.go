package webapp_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/testkit/browser"
)

// sessionCookies returns the cookies of a tab without the language and the known browser, which survive signing out.
func sessionCookies(tab *browser.Tab) []browser.Cookie {
	return slices.DeleteFunc(tab.Cookies(), func(c browser.Cookie) bool {
		return c.Name == "carrel-language" || c.Name == "carrel-browser" && c.HTTPOnly && c.SameSite == "Lax"
	})
}

// exhaustAccountLimit uses up the attempts on the account from unknown browsers of all networks. It calls the service,
// because password hashing on the page would take too long.
func (s *site) exhaustAccountLimit() {
	s.t.Helper()
	for i := range 1000 {
		g := signin.Guess{From: netip.MustParseAddr(fmt.Sprintf("198.51.%d.%d", i/250, i%250)), Email: email}
		if _, err := s.auth.Limits.Attempt(s.t.Context(), g); core.IsKind(err, core.KindRateLimited) {
			return
		} else if err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Fatal("attempts from unknown browsers are not limited")
}

func TestWrongPasswordsFromOneNetworkDoNotLockOutOthers(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for range 10 {
		site.visitor().post("/sign-in", "email", email, "password", "wrong")
	}
	a := site.visitor().post("/sign-in", "email", email, "password", password)
	if a.status != http.StatusTooManyRequests {
		t.Errorf("the eleventh from that network: %d", a.status)
	}
	site.setClientAddress("192.0.2.1")
	site.visitor().signIn()
}

func TestKnownBrowserSignsInDespiteTheAccountLimit(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v := site.visitor().signIn()
	v.post("/sign-out")
	site.exhaustAccountLimit()
	site.setClientAddress("192.0.2.1")
	stranger := site.visitor()
	if a := stranger.post("/sign-in", "email", email, "password", password); a.status != http.StatusTooManyRequests ||
		!strings.Contains(a.body, "a browser where you have signed in before") {
		t.Errorf("an unknown browser: %d %s", a.status, a.body)
	}
	v.signIn()
	device, _ := v.enrol()
	v.post("/sign-out")
	site.clock.Advance(core.ProofLife)
	site.exhaustAccountLimit()
	// A known browser needs the second factor as well.
	v.wantRedirect(v.post("/sign-in", "email", email, "password", password), "/sign-in/code")
	v.wantRedirect(v.post("/sign-in/code", "code", device.code(0)), "/")
	err := site.auth.Passwords.Set(t.Context(), core.Operator(""), site.user.ID, "another password", "")
	if err != nil {
		t.Fatal(err)
	}
	if a := v.post("/sign-in", "email", email, "password", "another password"); a.status != http.StatusTooManyRequests {
		t.Errorf("a browser known from before the password change: %d", a.status)
	}
}

func TestKnownBrowserCookieDoesNotSignIn(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	v := site.visitor()
	a := v.post("/sign-in", "email", email, "password", password)
	var known *http.Cookie
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == "carrel-browser" {
			known = c
		}
	}
	if known == nil || !known.HttpOnly || known.SameSite != http.SameSiteLaxMode || known.Path != "/" ||
		known.MaxAge != 180*24*3600 {
		t.Fatalf("the cookie is %v", known)
	}
	if site.isSignedIn(known) || site.isSignedIn(&http.Cookie{Name: "carrel", Value: known.Value}) {
		t.Error("the known-browser cookie signs in")
	}
}
