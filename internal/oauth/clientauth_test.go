package oauth_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

func TestBasicCredentialsAreFormDecoded(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("client_secret_basic")
	escape := func(s string) string { return strings.ReplaceAll(s, "_", "%5F") }
	got := srv.connect(c)
	for _, header := range []string{
		basic(c.id, c.secret), basic(escape(c.id), escape(c.secret)),
		strings.Replace(basic(c.id, c.secret), "Basic", "basic", 1),
	} {
		got = srv.tokensIn(srv.post("token", url.Values{
			"grant_type":    {"refresh_token"},
			"refresh_token": {got.Refresh},
		}, "Authorization", header))
	}
}

func TestClientAuthenticatesWithExactlyOneMethod(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c, public := srv.register("client_secret_basic"), srv.register("none")
	secret := srv.connect(c)
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secret.Refresh}}
	with := func(pairs ...string) url.Values {
		f := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secret.Refresh}}
		for i := 0; i < len(pairs); i += 2 {
			f.Add(pairs[i], pairs[i+1])
		}
		return f
	}
	for name, r := range map[string]reply{
		"no credentials": srv.post("token", form),
		"no secret":      srv.post("token", with("client_id", c.id)),
		"a wrong secret": srv.post("token", with("client_id", c.id, "client_secret",
			c.secret[:len(c.secret)-1]+"x")),
		"another's secret": srv.post("token", with("client_id", c.id, "client_secret",
			srv.register("client_secret_post").secret)),
		"an unknown client": srv.post("token", with("client_id", "cli_x", "client_secret", c.secret)),
		"a malformed id":    srv.post("token", with("client_id", "x\ny")),
		"a bad header": srv.post("token", with("client_id", c.id, "client_secret", c.secret), "Authorization",
			"Basic !"),
		"a bearer header": srv.post("token", with("client_id", c.id, "client_secret", c.secret), "Authorization",
			"Bearer x"),
		"bad escapes": srv.post("token", form, "Authorization", basic("%zz", c.secret)),
		"no colon": srv.post("token", form, "Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(c.id))),
		"two headers": srv.post("token", form, "Authorization", basic(c.id, c.secret), "Authorization",
			basic(c.id, c.secret)),
		"a public client": srv.post("token", with("client_id", public.id, "client_secret", c.secret)),
	} {
		srv.wantError(r, http.StatusUnauthorized, "invalid_client")
		if !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Basic ") || srv.Failed() {
			t.Fatalf("%s: %v", name, r.header)
		}
	}
	srv.wantError(srv.post("token", with("client_secret", c.secret), "Authorization", basic(c.id, c.secret)),
		http.StatusBadRequest, "invalid_request")
	srv.wantError(srv.post("token", with("client_id", public.id), "Authorization", basic(c.id, c.secret)),
		http.StatusBadRequest, "invalid_request")
	srv.tokensIn(srv.post("token", with("client_id", c.id), "Authorization", basic(c.id, c.secret)))
	// golang.org/x/oauth2 tries the header first, also for a client without a secret.
	open := srv.connect(public)
	srv.tokensIn(srv.post("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {open.Refresh}},
		"Authorization", basic(public.id, "")))
}

func TestTokenEndpointAcceptsOnlyWellFormedForms(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	form := c.redemption("x").Encode()
	for name, r := range map[string]reply{
		"JSON": srv.send(http.MethodPost, "/api/auth/mcp/token", `{"grant_type":"x"}`, "Content-Type",
			"application/json"),
		"no type": srv.send(http.MethodPost, "/api/auth/mcp/token", form),
		"twice": srv.send(http.MethodPost, "/api/auth/mcp/token", form+"&code=y", "Content-Type",
			"application/x-www-form-urlencoded"),
		"bad escapes": srv.send(http.MethodPost, "/api/auth/mcp/token", form+"&x=%zz", "Content-Type",
			"application/x-www-form-urlencoded"),
		"a NUL": srv.send(http.MethodPost, "/api/auth/mcp/token", form+"&x=%00", "Content-Type",
			"application/x-www-form-urlencoded"),
		"not UTF-8": srv.send(http.MethodPost, "/api/auth/mcp/token", form+"&x=%ff", "Content-Type",
			"application/x-www-form-urlencoded"),
		"no grant": srv.post("token", c.redemption("x", "grant_type", "")),
		"in the query": srv.send(http.MethodPost, "/api/auth/mcp/token?grant_type=refresh_token", "client_id="+c.id,
			"Content-Type", "application/x-www-form-urlencoded"),
	} {
		if srv.wantError(r, http.StatusBadRequest, "invalid_request"); srv.Failed() {
			t.Fatal(name)
		}
	}
	large := srv.send(http.MethodPost, "/api/auth/mcp/token", "x="+strings.Repeat("x", 65<<10), "Content-Type",
		"application/x-www-form-urlencoded")
	srv.wantError(large, http.StatusRequestEntityTooLarge, "invalid_request")
	srv.wantError(srv.send(http.MethodGet, "/api/auth/mcp/token?"+form, ""), http.StatusMethodNotAllowed,
		"invalid_request")
	r := srv.post("token", c.redemption(srv.code(c)))
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("headers %v", r.header)
	}
}
