package webapp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel/internal/core"
	"carrel/internal/signin/upstream"
	"carrel/internal/webapp"
)

const (
	clientID     = "carrel"
	clientSecret = "a secret with : and %"
)

// provider is an OpenID provider that is strict with its client and lies when it is told to.
type provider struct {
	w   *world
	srv *httptest.Server
	key jose.SigningKey
	jwk jose.JSONWebKey

	mu sync.Mutex
	// claims are what it says of whoever comes; nonce, times and so on are added unless they are there.
	claims map[string]any
	// spoil changes what it signs with.
	spoil func(*jose.SigningKey)
	codes map[string]url.Values
	// asked is the last request to authorize.
	asked url.Values
	away  bool
}

func newProvider(w *world) *provider {
	w.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &provider{w: w, codes: map[string]url.Values{}}
	p.jwk = jose.JSONWebKey{Key: private, KeyID: "1", Algorithm: string(jose.ES256), Use: "sig"}
	p.key = jose.SigningKey{Algorithm: jose.ES256, Key: p.jwk}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /jwks", func(rw http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(rw).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p.jwk.Public()}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.srv = httptest.NewServer(mux)
	w.t.Cleanup(p.srv.Close)
	return p
}

func (p *provider) discovery(rw http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"issuer": p.srv.URL, "authorization_endpoint": p.srv.URL + "/authorize", "token_endpoint": p.srv.URL + "/token",
		"jwks_uri": p.srv.URL + "/jwks", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
	})
}

// authorize lets everybody in at once.
func (p *provider) authorize(rw http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	if q.Get("client_id") != clientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" || q.Get("nonce") == "" || q.Get("scope") != "openid profile email" {
		http.Error(rw, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.codes[code], p.asked = q, q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.srv.URL}}
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *provider) token(rw http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = r.ParseForm()
	asked := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	rw.Header().Set("Content-Type", "application/json")
	if asked == nil || id != clientID || secret != url.QueryEscape(clientSecret) || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = rw.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	now := p.w.clock.Now()
	claims := map[string]any{
		"iss": p.srv.URL, "aud": clientID, "nonce": asked.Get("nonce"), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "auth_time": now.Unix(),
	}
	for name, value := range p.claims {
		claims[name] = value
	}
	key := p.key
	if p.spoil != nil {
		p.spoil(&key)
	}
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		panic(err)
	}
	body, _ := json.Marshal(claims)
	signed, err := signer.Sign(body)
	if err != nil {
		panic(err)
	}
	compact, _ := signed.CompactSerialize()
	_ = json.NewEncoder(rw).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": compact})
}

// says sets what the provider says of whoever comes next.
func (p *provider) says(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// newUpstreamWorld has one account and a provider.
func newUpstreamWorld(t testing.TB, signUp bool) (*world, *provider) {
	t.Helper()
	w := newWorld(t)
	p := newProvider(w)
	w.upstream(p, signUp)
	return w, p
}

// upstream makes the pages anew, with a provider.
func (w *world) upstream(p *provider, signUp bool) {
	w.t.Helper()
	services := w.services(w.srv.URL, w.logger)
	services.Upstream = upstream.New(upstream.Deps{
		Store: w.db, Pending: w.auth.Pending, Clock: w.clock, Audit: w.audit, Log: w.logger,
		Options: upstream.Options{
			Issuer: p.srv.URL, ClientID: clientID, ClientSecret: clientSecret, Name: "Example University", SignUp: signUp,
			RedirectURL: w.srv.URL + webapp.UpstreamPath,
		},
	})
	w.t.Cleanup(services.Upstream.Close)
	w.reopen(services)
}

// leave goes to the provider and returns the address that it sends the visitor back to.
func (v *visitor) leave(path, returnTo string) string {
	v.w.t.Helper()
	a := v.post(path, "return", returnTo)
	refresh := a.header.Get("Refresh")
	to, found := strings.CutPrefix(refresh, "0; url=")
	if a.status != http.StatusOK || !found || strings.Contains(a.header.Get("Content-Security-Policy"), "http") {
		v.w.t.Fatalf("%d, refresh %q, policy %s: %s", a.status, refresh, a.header.Get("Content-Security-Policy"), a.body)
	}
	req, err := http.NewRequestWithContext(v.w.t.Context(), http.MethodGet, to, nil)
	if err != nil {
		v.w.t.Fatal(err)
	}
	at := v.w.do(req) // without our cookies, as a browser would
	back, found := strings.CutPrefix(at.header.Get("Location"), v.w.srv.URL)
	if at.status != http.StatusFound || !found {
		v.w.t.Fatalf("the provider answers %d %s", at.status, at.body)
	}
	return back
}

var adaThere = map[string]any{"sub": "s-1", "email": "Ada@Example.org", "email_verified": true, "name": "Ada at work"}

func TestPoint12SomebodyKnownElsewhereSignsInToTheirAccount(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, false)
	p.says(adaThere)
	if page := w.get("/sign-in", nil); !strings.Contains(page.body, "Sign in with Example University") {
		t.Fatal(page.body)
	}
	v := w.visitor()
	v.goes(v.get(v.leave("/sign-in/upstream", "/docs")), "/docs")
	if !v.isIn() {
		t.Fatal("not signed in")
	}
	// From then on the subject decides, whatever the address is there.
	p.says(map[string]any{"sub": "s-1", "email": "other@example.org", "email_verified": false})
	again := w.visitor()
	again.goes(again.get(again.leave("/sign-in/upstream", "//evil.example")), "/")
	// Another person who got the address there does not get the account.
	p.says(map[string]any{"sub": "s-2", "email": email, "email_verified": true})
	thief := w.visitor()
	if a := thief.get(thief.leave("/sign-in/upstream", "/")); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "is linked to another user") || thief.isIn() {
		t.Errorf("somebody else with the address: %d", a.status)
	}
	if err := w.accounts.Disable(t.Context(), core.Operator(""), w.user.ID); err != nil {
		t.Fatal(err)
	}
	p.says(adaThere)
	if a := again.get(again.leave("/sign-in/upstream", "/")); a.status != http.StatusUnprocessableEntity || again.isIn() {
		t.Errorf("a disabled account: %d", a.status)
	}
	if events := fmt.Sprint(w.events()); !strings.Contains(events, "upstream_linked") || !strings.Contains(events, `"with":"upstream"`) || strings.Contains(events, "s-1") {
		t.Errorf("the audit log: %s", events)
	}
}

func TestPoint12OnlyAVerifiedAddressLeadsToAnAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims map[string]any
		signUp bool
		in     bool
	}{
		"verified":              {adaThere, false, true},
		"verified as a text":    {map[string]any{"sub": "s", "email": email, "email_verified": "true"}, false, true},
		"not verified":          {map[string]any{"sub": "s", "email": email, "email_verified": false}, true, false},
		"not said":              {map[string]any{"sub": "s", "email": email}, true, false},
		"said oddly":            {map[string]any{"sub": "s", "email": email, "email_verified": 1}, true, false},
		"no address":            {map[string]any{"sub": "s", "email_verified": true}, true, false},
		"no account":            {map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true}, false, false},
		"an account is made":    {map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true, "name": "Ada Lovelace"}, true, true},
		"no address to be made": {map[string]any{"sub": "s", "email": "bert <b@example.org>", "email_verified": true}, true, false},
		"nobody":                {map[string]any{"sub": "", "email": email, "email_verified": true}, true, false},
	} {
		w, p := newUpstreamWorld(t, c.signUp)
		p.says(c.claims)
		v := w.visitor()
		a := v.get(v.leave("/sign-in/upstream", "/"))
		if v.isIn() != c.in || (a.status == http.StatusSeeOther) != c.in {
			t.Errorf("%s: %d, in %v: %s", name, a.status, v.isIn(), a.body)
		}
	}
}

func TestPoint12WhatAProviderSaysIsChecked(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, true)
	with := func(name string, value any) map[string]any {
		c := map[string]any{name: value}
		for k, v := range adaThere {
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
		"another audience": {with("aud", "somebody"), nil},
		"another nonce":    {with("nonce", "n"), nil},
		"no nonce":         {with("nonce", ""), nil},
		"expired":          {with("exp", w.clock.Now().Add(-time.Hour).Unix()), nil},
		"another key": {adaThere, func(k *jose.SigningKey) {
			other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			k.Key = jose.JSONWebKey{Key: other, KeyID: "1", Algorithm: "ES256"}
		}},
		"the secret as a key": {adaThere, func(k *jose.SigningKey) {
			*k = jose.SigningKey{Algorithm: jose.HS256, Key: []byte("0123456789abcdef0123456789abcdef")}
		}},
	} {
		p.mu.Lock()
		p.claims, p.spoil = c.claims, c.spoil
		p.mu.Unlock()
		v := w.visitor()
		if a := v.get(v.leave("/sign-in/upstream", "/")); a.status != http.StatusUnprocessableEntity || v.isIn() {
			t.Errorf("%s: %d", name, a.status)
		}
	}
}

func TestPoint12AJourneyBelongsToItsBrowserAndEndsOnce(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, false)
	p.says(adaThere)
	v, stranger := w.visitor(), w.visitor()
	back := v.leave("/sign-in/upstream", "/")
	if a := stranger.get(back); a.status != http.StatusUnprocessableEntity || stranger.isIn() {
		t.Errorf("in another browser: %d", a.status)
	}
	v.goes(v.get(back), "/")
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
		v := w.visitor()
		path, query, _ := strings.Cut(v.leave("/sign-in/upstream", "/"), "?")
		q, _ := url.ParseQuery(query)
		change(q)
		if a := v.get(path + "?" + q.Encode()); a.status != http.StatusUnprocessableEntity || v.isIn() || strings.Contains(a.body, "access_denied") {
			t.Errorf("%s: %d", name, a.status)
		}
	}
}

func TestPoint11AnotherProviderProvesItAgain(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, true)
	p.says(map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true, "name": "Ada Lovelace"})
	v := w.visitor()
	v.goes(v.get(v.leave("/sign-in/upstream", "/")), "/")
	w.clock.Advance(core.ProofLife)
	v.goes(v.get("/security"), askedAgain)
	if page := v.get("/step-up"); strings.Contains(page.body, `id="password"`) || !strings.Contains(page.body, "Sign in with Example University again") {
		t.Errorf("an account without a password is asked for one: %s", page.body)
	}
	if a := v.post("/step-up", "password", "anything at all"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("some password: %d", a.status)
	}
	back := v.leave("/step-up/upstream", "/security")
	if p.asked.Get("prompt") != "login" || p.asked.Get("max_age") != "0" {
		t.Errorf("the provider is asked with %v", p.asked)
	}
	v.goes(v.get(back), "/security")
	if a := v.get("/security"); a.status != http.StatusOK || !strings.Contains(a.body, "Set a password") {
		t.Errorf("after the proof: %d", a.status)
	}
	w.clock.Advance(core.ProofLife)
	for name, claims := range map[string]map[string]any{
		"somebody else": adaThere,
		"not asked again": {
			"sub": "s", "email": "bert@example.org", "email_verified": true, "auth_time": w.clock.Now().Add(-time.Hour).Unix(),
		},
	} {
		p.says(claims)
		if a := v.get(v.leave("/step-up/upstream", "/security")); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, a.status)
		}
		v.goes(v.get("/security"), askedAgain)
	}
	// It is a proof for the session that asked, not a way to sign in.
	p.says(map[string]any{"sub": "s", "email": "bert@example.org", "email_verified": true})
	back = v.leave("/step-up/upstream", "/security")
	v.post("/sign-out")
	v.goes(v.get(back), "/sign-in")
	if v.isIn() {
		t.Error("the proof of a session that has ended signs in")
	}
}

func TestAProviderThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, false)
	p.away = true
	if a := w.post("/sign-in/upstream", nil); a.status != http.StatusBadGateway || a.cookie != nil || !strings.Contains(a.body, "does not answer") {
		t.Errorf("away: %d", a.status)
	}
	p.mu.Lock()
	p.away = false
	p.mu.Unlock()
	p.says(adaThere)
	v := w.visitor()
	v.goes(v.get(v.leave("/sign-in/upstream", "/")), "/")
	plain := newWorld(t)
	for _, a := range []answer{plain.post("/sign-in/upstream", nil), plain.get(webapp.UpstreamPath, nil)} {
		if a.status != http.StatusNotFound {
			t.Errorf("without a provider: %d", a.status)
		}
	}
}

func TestPoint12TheSecondFactorIsAskedForAlsoThen(t *testing.T) {
	t.Parallel()
	w, p := newUpstreamWorld(t, false)
	p.says(adaThere)
	device, _ := w.visitor().signIn().enrol()
	w.clock.Advance(time.Minute)
	v := w.visitor()
	v.goes(v.get(v.leave("/sign-in/upstream", "/docs")), "/sign-in/code")
	if v.isIn() {
		t.Fatal("the provider alone is enough")
	}
	v.goes(v.post("/sign-in/code", "code", device.code(0)), "/docs")
}
