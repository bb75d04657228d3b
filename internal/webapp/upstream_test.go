package webapp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel/internal/core"
	"carrel/internal/signin/upstream"
	"carrel/internal/testkit/oidcfake"
	"carrel/internal/webapp"
)

// newUpstreamSite returns a site with one account and a provider.
func newUpstreamSite(t testing.TB, signUp bool) (*site, *oidcfake.Provider) {
	t.Helper()
	site := newSite(t)
	p := oidcfake.New(t, site.clock.Now)
	site.upstream(p, signUp)
	return site, p
}

// upstream serves the pages with a provider.
func (s *site) upstream(p *oidcfake.Provider, signUp bool) {
	s.t.Helper()
	services := s.services(s.srv.URL, s.logger)
	services.Upstream = upstream.New(upstream.Deps{
		Store: s.db, Pending: s.auth.Pending, Clock: s.clock, Audit: s.audit, Log: s.logger,
		Options: upstream.Options{
			Issuer: p.URL, ClientID: oidcfake.ClientID, ClientSecret: oidcfake.ClientSecret, Name: "Example University",
			SignUp: signUp, RedirectURL: s.srv.URL + webapp.UpstreamPath,
		},
	})
	s.t.Cleanup(services.Upstream.Close)
	s.serve(services)
}

// goToProvider begins a sign-in at the provider and returns the path of the callback.
func (v *visitor) goToProvider(path, returnTo string) string {
	v.site.t.Helper()
	a := v.post(path, "return", returnTo)
	refresh := a.header.Get("Refresh")
	to, found := strings.CutPrefix(refresh, "0; url=")
	if a.status != http.StatusOK || !found || strings.Contains(a.header.Get("Content-Security-Policy"), "http") {
		v.site.t.Fatalf("%d, refresh %q, policy %s: %s", a.status, refresh, a.header.Get("Content-Security-Policy"),
			a.body)
	}
	req, err := http.NewRequestWithContext(v.site.t.Context(), http.MethodGet, to, nil)
	if err != nil {
		v.site.t.Fatal(err)
	}
	at := v.site.do(req) // without the site's cookies, as in a browser
	back, found := strings.CutPrefix(at.header.Get("Location"), v.site.srv.URL)
	if at.status != http.StatusFound || !found {
		v.site.t.Fatalf("the provider answers %d %s", at.status, at.body)
	}
	return back
}

var adaClaims = map[string]any{"sub": "s-1", "email": "Ada@Example.org", "email_verified": true, "name": "Ada at work"}

func TestUpstreamSignInOpensTheLinkedAccount(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, false)
	p.SetClaims(adaClaims)
	if page := site.get("/sign-in", nil); !strings.Contains(page.body, "Sign in with Example University") {
		t.Fatal(page.body)
	}
	v := site.visitor()
	v.wantRedirect(v.get(v.goToProvider("/sign-in/upstream", "/docs")), "/docs")
	if !v.isSignedIn() {
		t.Fatal("not signed in")
	}
	// From now on the subject identifies the account, whatever its address at the provider.
	p.SetClaims(map[string]any{"sub": "s-1", "email": "other@example.org", "email_verified": false})
	again := site.visitor()
	again.wantRedirect(again.get(again.goToProvider("/sign-in/upstream", "//evil.example")), "/")
	// Another person with the address at the provider does not get the account.
	p.SetClaims(map[string]any{"sub": "s-2", "email": email, "email_verified": true})
	thief := site.visitor()
	if a := thief.get(thief.goToProvider("/sign-in/upstream", "/")); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "connected to another person") || thief.isSignedIn() {
		t.Errorf("another subject with the address: %d", a.status)
	}
	if err := site.accounts.Disable(t.Context(), core.Operator(""), site.user.ID); err != nil {
		t.Fatal(err)
	}
	p.SetClaims(adaClaims)
	if a := again.get(again.goToProvider("/sign-in/upstream", "/")); a.status != http.StatusUnprocessableEntity ||
		again.isSignedIn() {
		t.Errorf("a disabled account: %d", a.status)
	}
	if events := fmt.Sprint(site.events()); !strings.Contains(events, "upstream_linked") ||
		!strings.Contains(events, `"with":"upstream"`) || strings.Contains(events, "s-1") {
		t.Errorf("the audit log: %s", events)
	}
}

func TestUpstreamAddressMustBeVerified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims map[string]any
		signUp bool
		in     bool
	}{
		"verified":             {adaClaims, false, true},
		"verified as a string": {map[string]any{"sub": "s", "email": email, "email_verified": "true"}, false, true},
		"not verified":         {map[string]any{"sub": "s", "email": email, "email_verified": false}, true, false},
		"no verified claim":    {map[string]any{"sub": "s", "email": email}, true, false},
		"verified as a number": {map[string]any{"sub": "s", "email": email, "email_verified": 1}, true, false},
		"no address":           {map[string]any{"sub": "s", "email_verified": true}, true, false},
		"no account": {
			map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true},
			false, false,
		},
		"a new account": {map[string]any{
			"sub": "s", "email": "bert@example.org", "email_verified": true,
			"name": "Ada Lovelace",
		}, true, true},
		"an invalid address": {
			map[string]any{"sub": "s", "email": "bert <b@example.org>", "email_verified": true},
			true, false,
		},
		"no subject": {map[string]any{"sub": "", "email": email, "email_verified": true}, true, false},
	} {
		site, p := newUpstreamSite(t, c.signUp)
		p.SetClaims(c.claims)
		v := site.visitor()
		a := v.get(v.goToProvider("/sign-in/upstream", "/"))
		if v.isSignedIn() != c.in || (a.status == http.StatusSeeOther) != c.in {
			t.Errorf("%s: %d, in %v: %s", name, a.status, v.isSignedIn(), a.body)
		}
	}
}

func TestUpstreamIDTokenIsValidated(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, true)
	with := func(name string, value any) map[string]any {
		c := map[string]any{name: value}
		for k, v := range adaClaims {
			if k != name {
				c[k] = v
			}
		}
		return c
	}
	for name, c := range map[string]struct {
		claims map[string]any
		spoil  func(*jose.SigningKey)
	}{
		"another issuer":   {with("iss", "https://evil.example"), nil},
		"another audience": {with("aud", "another"), nil},
		"another nonce":    {with("nonce", "n"), nil},
		"no nonce":         {with("nonce", ""), nil},
		"expired":          {with("exp", site.clock.Now().Add(-time.Hour).Unix()), nil},
		"another key": {adaClaims, func(k *jose.SigningKey) {
			other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			k.Key = jose.JSONWebKey{Key: other, KeyID: "1", Algorithm: "ES256"}
		}},
		"the secret as a key": {adaClaims, func(k *jose.SigningKey) {
			*k = jose.SigningKey{Algorithm: jose.HS256, Key: []byte("0123456789abcdef0123456789abcdef")}
		}},
	} {
		p.SetClaims(c.claims)
		p.SpoilSignatures(c.spoil)
		v := site.visitor()
		if a := v.get(v.goToProvider("/sign-in/upstream", "/")); a.status != http.StatusUnprocessableEntity ||
			v.isSignedIn() {
			t.Errorf("%s: %d", name, a.status)
		}
	}
}

func TestUpstreamCallbackWorksOnceAndInItsBrowser(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, false)
	p.SetClaims(adaClaims)
	v, stranger := site.visitor(), site.visitor()
	back := v.goToProvider("/sign-in/upstream", "/")
	if a := stranger.get(back); a.status != http.StatusUnprocessableEntity || stranger.isSignedIn() {
		t.Errorf("in another browser: %d", a.status)
	}
	v.wantRedirect(v.get(back), "/")
	if a := v.get(back); a.status != http.StatusUnprocessableEntity {
		t.Errorf("once more: %d", a.status)
	}
	for name, change := range map[string]func(url.Values){
		"another state":    func(q url.Values) { q.Set("state", "x") },
		"no state":         func(q url.Values) { q.Del("state") },
		"another provider": func(q url.Values) { q.Set("iss", "https://evil.example") },
		"an error":         func(q url.Values) { q.Set("error", "access_denied") },
		"no code":          func(q url.Values) { q.Del("code") },
		"another code":     func(q url.Values) { q.Set("code", "x") },
	} {
		v := site.visitor()
		path, query, _ := strings.Cut(v.goToProvider("/sign-in/upstream", "/"), "?")
		q, _ := url.ParseQuery(query)
		change(q)
		if a := v.get(path + "?" + q.Encode()); a.status != http.StatusUnprocessableEntity || v.isSignedIn() ||
			strings.Contains(a.body, "access_denied") {
			t.Errorf("%s: %d", name, a.status)
		}
	}
}

func TestUpstreamSignInIsAcceptedAsStepUp(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, true)
	p.SetClaims(map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true, "name": "Ada Lovelace"})
	v := site.visitor()
	v.wantRedirect(v.get(v.goToProvider("/sign-in/upstream", "/")), "/")
	site.clock.Advance(core.ProofLife)
	v.wantRedirect(v.get("/security"), stepUpRedirect)
	if page := v.get("/step-up"); strings.Contains(page.body, `id="password"`) ||
		!strings.Contains(page.body, "Sign in with Example University again") {
		t.Errorf("the step-up page of an account without a password: %s", page.body)
	}
	if a := v.post("/step-up", "password", "anything at all"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a password: %d", a.status)
	}
	back := v.goToProvider("/step-up/upstream", "/security")
	if q := p.LastRequest(); q.Get("prompt") != "login" || q.Get("max_age") != "0" {
		t.Errorf("the authorization request is %v", q)
	}
	v.wantRedirect(v.get(back), "/security")
	if a := v.get("/security"); a.status != http.StatusOK || !strings.Contains(a.body, "Set password") {
		t.Errorf("after the step-up: %d", a.status)
	}
	site.clock.Advance(core.ProofLife)
	for name, claims := range map[string]map[string]any{
		"another user": adaClaims,
		"an old auth_time": {
			"sub": "s", "email": "bert@example.org", "email_verified": true,
			"auth_time": site.clock.Now().Add(-time.Hour).Unix(),
		},
	} {
		p.SetClaims(claims)
		if a := v.get(v.goToProvider("/step-up/upstream", "/security")); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, a.status)
		}
		v.wantRedirect(v.get("/security"), stepUpRedirect)
	}
	// The callback of a step-up does not sign in.
	p.SetClaims(map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true})
	back = v.goToProvider("/step-up/upstream", "/security")
	v.post("/sign-out")
	v.wantRedirect(v.get(back), "/sign-in")
	if v.isSignedIn() {
		t.Error("the step-up of an ended session signs in")
	}
}

func TestUnavailableProviderIsRetried(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, false)
	p.SetDown(true)
	if a := site.post("/sign-in/upstream", nil); a.status != http.StatusBadGateway || a.cookie != nil ||
		!strings.Contains(a.body, "not responding") {
		t.Errorf("unavailable provider: %d", a.status)
	}
	p.SetDown(false)
	p.SetClaims(adaClaims)
	v := site.visitor()
	v.wantRedirect(v.get(v.goToProvider("/sign-in/upstream", "/")), "/")
	plain := newSite(t)
	for _, a := range []answer{plain.post("/sign-in/upstream", nil), plain.get(webapp.UpstreamPath, nil)} {
		if a.status != http.StatusNotFound {
			t.Errorf("without a provider: %d", a.status)
		}
	}
}

func TestUpstreamSignInRequiresTheSecondFactor(t *testing.T) {
	t.Parallel()
	site, p := newUpstreamSite(t, false)
	p.SetClaims(adaClaims)
	device, _ := site.visitor().signIn().enrol()
	site.clock.Advance(time.Minute)
	v := site.visitor()
	v.wantRedirect(v.get(v.goToProvider("/sign-in/upstream", "/docs")), "/sign-in/code")
	if v.isSignedIn() {
		t.Fatal("signed in without the second factor")
	}
	v.wantRedirect(v.post("/sign-in/code", "code", device.code(0)), "/docs")
}
