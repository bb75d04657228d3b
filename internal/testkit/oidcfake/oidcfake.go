// Package oidcfake is a fake OpenID provider. It is strict with its client (PKCE, client authentication, redirect URI)
// and issues ID tokens with the claims and signatures that a test asks for.
package oidcfake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The credentials of the registered client. The secret contains characters that must be escaped in HTTP Basic.
const (
	ClientID     = "carrel"
	ClientSecret = "a secret with : and %"
)

// Provider is a running provider.
type Provider struct {
	// URL is the issuer.
	URL string

	t   testing.TB
	now func() time.Time
	jwk jose.JSONWebKey

	mu      sync.Mutex
	claims  map[string]any
	spoil   func(*jose.SigningKey)
	down    bool
	codes   map[string]url.Values
	request url.Values
}

// New starts a provider that stops with the test. now is the clock for the times of ID tokens.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{t: t, now: now, codes: map[string]url.Values{}}
	p.jwk = jose.JSONWebKey{Key: private, KeyID: "1", Algorithm: string(jose.ES256), Use: "sig"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p.jwk.Public()}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p.URL = srv.URL
	return p
}

// SetClaims sets the claims of the next ID tokens. Claims that are not set get valid values.
func (p *Provider) SetClaims(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = claims
}

// SpoilSignatures lets change edit the key that ID tokens are signed with; nil signs them correctly.
func (p *Provider) SpoilSignatures(change func(*jose.SigningKey)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoil = change
}

// SetDown makes discovery fail.
func (p *Provider) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// LastRequest returns the parameters of the last authorization request.
func (p *Provider) LastRequest() url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.request
}

// PublicKey returns the public key of the provider, for attacks that use it as a symmetric key.
func (p *Provider) PublicKey() *ecdsa.PublicKey { return &p.jwk.Key.(*ecdsa.PrivateKey).PublicKey }

// Visit sends the browser of a user to an authorization URL and returns the parameters of the redirect back.
func (p *Provider) Visit(authURL string) url.Values {
	p.t.Helper()
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, authURL, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		p.t.Fatalf("the provider does not redirect (status %d): %v", resp.StatusCode, err)
	}
	return back.Query()
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri": p.URL + "/jwks", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
	})
}

// authorize signs every user in without a page.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" || q.Get("nonce") == "" || q.Get("scope") != "openid profile email" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.codes[code], p.request = q, q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token exchanges a code once, and only with the client's secret, redirect URI and PKCE verifier.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = r.ParseForm() // an unreadable form has no code
	request := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	w.Header().Set("Content-Type", "application/json")
	if request == nil || id != ClientID || secret != url.QueryEscape(ClientSecret) ||
		request.Get("redirect_uri") != r.PostForm.Get("redirect_uri") ||
		request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	_ = json.NewEncoder(
		w,
	).Encode(
		map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.idToken(request)},
	)
}

func (p *Provider) idToken(request url.Values) string {
	now := p.now()
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "nonce": request.Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "auth_time": now.Unix(),
	}
	maps.Copy(claims, p.claims)
	key := jose.SigningKey{Algorithm: jose.ES256, Key: p.jwk}
	if p.spoil != nil {
		p.spoil(&key)
	}
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		p.t.Errorf("sign ID token: %v", err)
		return ""
	}
	body, _ := json.Marshal(claims)
	signed, err := signer.Sign(body)
	if err != nil {
		p.t.Errorf("sign ID token: %v", err)
		return ""
	}
	compact, _ := signed.CompactSerialize()
	return compact
}
