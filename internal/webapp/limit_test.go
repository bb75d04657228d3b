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

// sessionCookies are the cookies of a tab without the one by which a browser is known after signing out too.
func sessionCookies(tab *browser.Tab) []browser.Cookie {
	return slices.DeleteFunc(tab.Cookies(), func(c browser.Cookie) bool {
		return c.Name == "carrel-browser" && c.HTTPOnly && c.SameSite == "Lax"
	})
}

// exhaust uses up what strangers may guess at the account from all networks, without the time that pages take for it.
func (w *world) exhaust() {
	w.t.Helper()
	for i := range 1000 {
		g := signin.Guess{From: netip.MustParseAddr(fmt.Sprintf("198.51.%d.%d", i/250, i%250)), Email: email}
		if _, err := w.auth.Limits.Attempt(w.t.Context(), g); core.IsKind(err, core.KindRateLimited) {
			return
		} else if err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Fatal("strangers can guess for ever")
}

func TestWrongPasswordsFromOneNetworkLeaveTheRightOneIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 10 {
		w.visitor().post("/sign-in", "email", email, "password", "wrong")
	}
	if a := w.visitor().post("/sign-in", "email", email, "password", password); a.status != http.StatusTooManyRequests {
		t.Errorf("the eleventh from that network: %d", a.status)
	}
	w.comesFrom("192.0.2.1")
	w.visitor().signIn()
}

func TestAKnownBrowserSignsInWhileStrangersGuess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visitor().signIn()
	v.post("/sign-out")
	w.exhaust()
	w.comesFrom("192.0.2.1")
	stranger := w.visitor()
	if a := stranger.post("/sign-in", "email", email, "password", password); a.status != http.StatusTooManyRequests ||
		!strings.Contains(a.body, "a browser where you have signed in before") {
		t.Errorf("a browser that is not known: %d %s", a.status, a.body)
	}
	v.signIn()
	device, _ := v.enrol()
	v.post("/sign-out")
	w.clock.Advance(core.ProofLife)
	w.exhaust()
	// The second factor is asked for in the known browser as well.
	v.goes(v.post("/sign-in", "email", email, "password", password), "/sign-in/code")
	v.goes(v.post("/sign-in/code", "code", device.code(0)), "/")
	if err := w.auth.Passwords.Set(t.Context(), core.Operator(""), w.user.ID, "another password", ""); err != nil {
		t.Fatal(err)
	}
	if a := v.post("/sign-in", "email", email, "password", "another password"); a.status != http.StatusTooManyRequests {
		t.Errorf("a browser that knew the password of before: %d", a.status)
	}
}

func TestTheCookieOfAKnownBrowserOpensNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visitor()
	a := v.post("/sign-in", "email", email, "password", password)
	var known *http.Cookie
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == "carrel-browser" {
			known = c
		}
	}
	if known == nil || !known.HttpOnly || known.SameSite != http.SameSiteLaxMode || known.Path != "/" || known.MaxAge != 180*24*3600 {
		t.Fatalf("the cookie is %v", known)
	}
	if w.isIn(known) || w.isIn(&http.Cookie{Name: "carrel", Value: known.Value}) {
		t.Error("it signs in")
	}
}
