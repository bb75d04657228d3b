package e2e

import (
	"crypto/rand"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

const (
	oauthPath = "/api/auth/mcp"
	formType  = "application/x-www-form-urlencoded"
)

// oauthCalls returns a request for every operation of the authorization server.
func (w *installation) oauthCalls() []call {
	form := map[string]string{"Content-Type": formType}
	return []call{
		{operation: "authorizationServerMetadata", method: "GET", path: "/.well-known/oauth-authorization-server"},
		{operation: "openidConfiguration", method: "GET", path: "/.well-known/openid-configuration"},
		{operation: "wellKnownKeys", method: "GET", path: "/.well-known/jwks.json"},
		{operation: "signingKeys", method: "GET", path: oauthPath + "/jwks"},
		{
			operation: "registerClient",
			method:    "POST",
			path:      oauthPath + "/register",
			body:      `{"redirect_uris": ["https://app.example/cb"]}`,
		},
		{operation: "authorizeClient", method: "GET", path: oauthPath + "/authorize?client_id=x"},
		{operation: "decideAuthorization", method: "POST", path: oauthPath + "/authorize", body: "x=y", header: form},
		{operation: "issueToken", method: "POST", path: oauthPath + "/token", body: "x=y", header: form},
		{operation: "getUserinfo", method: "GET", path: oauthPath + "/userinfo"},
		{operation: "postUserinfo", method: "POST", path: oauthPath + "/userinfo"},
		{operation: "revokeToken", method: "POST", path: oauthPath + "/revoke", body: "x=y", header: form},
		{operation: "introspectToken", method: "POST", path: oauthPath + "/introspect", body: "x=y", header: form},
	}
}

// oauth calls the operations of the authorization server with every documented reply.
func (w *installation) oauth(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{T: t, server: w.server, verifier: rand.Text() + rand.Text(), browser: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: documented{w.client.Transport},
	}}
	f.discover(f.api("", "/api/agents"))
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/jwks.json", oauthPath + "/jwks"} {
		f.json(f.do(http.MethodGet, w.server.URL+path, ""))
	}
	client := f.register()
	f.json(f.do(http.MethodPost, f.at("registration_endpoint"), `{"redirect_uris":["`+flowRedirect+`"]}`)) // HTTP Basic
	secret := f.json(f.do(http.MethodPost, f.at("registration_endpoint"),
		`{"client_name":"Flow","client_uri":"https://app.example/","redirect_uris":["`+flowRedirect+
			`"],"token_endpoint_auth_method":"client_secret_post"}`))
	id := url.Values{"client_id": {secret["client_id"].(string)}, "client_secret": {secret["client_secret"].(string)}}
	with := func(v url.Values, pairs ...string) url.Values {
		out := url.Values{}
		for k := range v {
			out.Set(k, v.Get(k))
		}
		for i := 0; i < len(pairs); i += 2 {
			out.Set(pairs[i], pairs[i+1])
		}
		return out
	}
	code := f.authorize(id.Get("client_id"), "")
	f.signedIn = true
	got := f.tokens(with(id, "grant_type", "authorization_code", "code", code, "code_verifier",
		f.verifier, "redirect_uri", flowRedirect))
	narrow := f.post("token_endpoint",
		with(id, "grant_type", "refresh_token", "refresh_token", got.Refresh, "scope", "agents"), http.StatusOK)

	userinfo := f.at("userinfo_endpoint")
	agentsOnly, _ := f.json(narrow)["access_token"].(string)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for token, status := range map[string]int{
			got.Access: http.StatusOK,
			agentsOnly: http.StatusForbidden,
			"x":        http.StatusUnauthorized,
		} {
			if r := f.do(method, userinfo, "", "Authorization", "Bearer "+token); r.status != status {
				t.Errorf("%s userinfo: %d, want %d", method, r.status, status)
			}
		}
	}
	f.post("introspection_endpoint", with(id, "token", got.Access), http.StatusOK)
	f.post("introspection_endpoint", with(id, "token", "x"), http.StatusOK)
	f.post("revocation_endpoint", with(id, "token", got.Access), http.StatusOK)
	for _, endpoint := range []string{"token_endpoint", "revocation_endpoint", "introspection_endpoint"} {
		f.post(endpoint, id, http.StatusBadRequest)
		f.post(endpoint, with(id, "client_secret", "x"), http.StatusUnauthorized)
		f.post(endpoint, with(id, "x", strings.Repeat("x", 65<<10)), http.StatusRequestEntityTooLarge)
	}
	for body, status := range map[string]int{
		`{}`: http.StatusBadRequest, strings.Repeat("x", 65<<10): http.StatusRequestEntityTooLarge,
	} {
		if r := f.do(http.MethodPost, f.at("registration_endpoint"), body); r.status != status {
			t.Errorf("register: %d, want %d", r.status, status)
		}
	}
	authorize := f.at("authorization_endpoint")
	for query, status := range map[string]int{
		"client_id=x": http.StatusBadRequest,
		"client_id=" + client + "&redirect_uri=" + url.QueryEscape(flowRedirect): http.StatusFound,
	} {
		if r := f.do(http.MethodGet, authorize+"?"+query, ""); r.status != status {
			t.Errorf("authorize: %d, want %d", r.status, status)
		}
	}
	for site, status := range map[string]int{"same-origin": http.StatusBadRequest, "cross-site": http.StatusForbidden} {
		if r := f.do(http.MethodPost, authorize, "x=y", "Content-Type", formType,
			"Sec-Fetch-Site", site); r.status != status {
			t.Errorf("decide from %s: %d, want %d", site, r.status, status)
		}
	}
}

// documented sends requests for pages, which the contract does not describe, past the checker.
type documented struct{ checked http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d documented) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/sign-in") {
		return http.DefaultTransport.RoundTrip(r)
	}
	return d.checked.RoundTrip(r)
}
