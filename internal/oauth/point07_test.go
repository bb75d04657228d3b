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

func TestPoint07BasicIsFormDecoded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("client_secret_basic")
	escape := func(s string) string { return strings.ReplaceAll(s, "_", "%5F") }
	got := w.connect(c)
	for _, header := range []string{basic(c.id, c.secret), basic(escape(c.id), escape(c.secret)), strings.Replace(basic(c.id, c.secret), "Basic", "basic", 1)} {
		got = w.tokensIn(w.post("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}}, "Authorization", header))
	}
}

func TestPoint07AClientProvesItselfInOneWayOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, public := w.register("client_secret_basic"), w.register("none")
	secret := w.connect(c)
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secret.Refresh}}
	with := func(pairs ...string) url.Values {
		f := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secret.Refresh}}
		for i := 0; i < len(pairs); i += 2 {
			f.Add(pairs[i], pairs[i+1])
		}
		return f
	}
	for name, r := range map[string]reply{
		"nobody":              w.post("token", form),
		"no secret":           w.post("token", with("client_id", c.id)),
		"a wrong secret":      w.post("token", with("client_id", c.id, "client_secret", c.secret[:len(c.secret)-1]+"x")),
		"another's secret":    w.post("token", with("client_id", c.id, "client_secret", w.register("client_secret_post").secret)),
		"an unknown client":   w.post("token", with("client_id", "cli_x", "client_secret", c.secret)),
		"an odd client":       w.post("token", with("client_id", "x\ny")),
		"a bad header":        w.post("token", with("client_id", c.id, "client_secret", c.secret), "Authorization", "Basic !"),
		"a bearer header":     w.post("token", with("client_id", c.id, "client_secret", c.secret), "Authorization", "Bearer x"),
		"bad escapes":         w.post("token", form, "Authorization", basic("%zz", c.secret)),
		"no colon":            w.post("token", form, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.id))),
		"two headers":         w.post("token", form, "Authorization", basic(c.id, c.secret), "Authorization", basic(c.id, c.secret)),
		"a public one's word": w.post("token", with("client_id", public.id, "client_secret", c.secret)),
	} {
		if w.wantError(r, http.StatusUnauthorized, "invalid_client"); !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Basic ") || w.Failed() {
			t.Fatalf("%s: %v", name, r.header)
		}
	}
	w.wantError(w.post("token", with("client_secret", c.secret), "Authorization", basic(c.id, c.secret)), http.StatusBadRequest, "invalid_request")
	w.wantError(w.post("token", with("client_id", public.id), "Authorization", basic(c.id, c.secret)), http.StatusBadRequest, "invalid_request")
	w.tokensIn(w.post("token", with("client_id", c.id), "Authorization", basic(c.id, c.secret)))
	// Go's own client tries the header first, also for a client without a secret.
	open := w.connect(public)
	w.tokensIn(w.post("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {open.Refresh}}, "Authorization", basic(public.id, "")))
}

func TestPoint07TheTokenEndpointTakesOnlyGoodForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	form := c.redemption("x").Encode()
	for name, r := range map[string]reply{
		"JSON":         w.send(http.MethodPost, "/api/auth/mcp/token", `{"grant_type":"x"}`, "Content-Type", "application/json"),
		"no type":      w.send(http.MethodPost, "/api/auth/mcp/token", form),
		"twice":        w.send(http.MethodPost, "/api/auth/mcp/token", form+"&code=y", "Content-Type", "application/x-www-form-urlencoded"),
		"bad escapes":  w.send(http.MethodPost, "/api/auth/mcp/token", form+"&x=%zz", "Content-Type", "application/x-www-form-urlencoded"),
		"a NUL":        w.send(http.MethodPost, "/api/auth/mcp/token", form+"&x=%00", "Content-Type", "application/x-www-form-urlencoded"),
		"not UTF-8":    w.send(http.MethodPost, "/api/auth/mcp/token", form+"&x=%ff", "Content-Type", "application/x-www-form-urlencoded"),
		"no grant":     w.post("token", c.redemption("x", "grant_type", "")),
		"in the query": w.send(http.MethodPost, "/api/auth/mcp/token?grant_type=refresh_token", "client_id="+c.id, "Content-Type", "application/x-www-form-urlencoded"),
	} {
		if w.wantError(r, http.StatusBadRequest, "invalid_request"); w.Failed() {
			t.Fatal(name)
		}
	}
	large := w.send(http.MethodPost, "/api/auth/mcp/token", "x="+strings.Repeat("x", 65<<10), "Content-Type", "application/x-www-form-urlencoded")
	w.wantError(large, http.StatusRequestEntityTooLarge, "invalid_request")
	w.wantError(w.send(http.MethodGet, "/api/auth/mcp/token?"+form, ""), http.StatusMethodNotAllowed, "invalid_request")
	r := w.post("token", c.redemption(w.code(c)))
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("headers %v", r.header)
	}
}

func TestPoint07RevocationWorksForOnesOwnTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.register("none"), w.register("client_secret_basic")
	got := w.connect(c)
	ok := func(r reply) {
		t.Helper()
		if r.status != http.StatusOK || r.body != "" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %q", r.status, r.body)
		}
	}
	for _, token := range []string{"junk", got.Access[:len(got.Access)-1], "crla_" + strings.Repeat("0", 38)} {
		ok(w.post("revoke", url.Values{"client_id": {c.id}, "token": {token}}))
	}
	for _, token := range []string{got.Access, got.Refresh} {
		ok(w.post("revoke", url.Values{"token": {token}}, "Authorization", basic(other.id, other.secret)))
	}
	if !w.works(got.Access) {
		t.Error("another client could revoke it")
	}
	w.wantError(w.post("revoke", url.Values{"token": {got.Access}}), http.StatusUnauthorized, "invalid_client")
	w.wantError(w.post("revoke", url.Values{"client_id": {c.id}}), http.StatusBadRequest, "invalid_request")
	ok(w.post("revoke", url.Values{"client_id": {c.id}, "token": {got.Access}, "token_type_hint": {"refresh_token"}}))
	if w.works(got.Access) {
		t.Error("the access token still works")
	}
	next := w.tokensIn(w.refresh(c, got.Refresh))
	ok(w.post("revoke", url.Values{"client_id": {c.id}, "token": {next.Refresh}}))
	if w.works(next.Access) {
		t.Error("the grant's access token still works")
	}
	w.wantError(w.refresh(c, next.Refresh), http.StatusBadRequest, "invalid_grant")
}

func TestPoint07IntrospectionTellsAClientOfItsOwnTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other, public := w.register("client_secret_basic"), w.register("client_secret_basic"), w.register("none")
	got, theirs := w.connect(c), w.connect(public)
	ask := func(c client, token string) map[string]any {
		t.Helper()
		r := w.post("introspect", url.Values{"token": {token}}, "Authorization", basic(c.id, c.secret))
		if r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		return r.json(t)
	}
	for _, token := range []string{got.Access, got.Refresh} {
		v := ask(c, token)
		if v["active"] != true || v["sub"] != w.user.ID || v["client_id"] != c.id || v["iss"] != w.issuer || v["scope"] == "" || v["exp"] == nil {
			t.Errorf("%v", v)
		}
	}
	inactive := func(c client, token string) {
		t.Helper()
		if v := ask(c, token); len(v) != 1 || v["active"] != false {
			t.Errorf("%v", v)
		}
	}
	inactive(c, "junk")
	inactive(c, theirs.Access)
	inactive(other, got.Access)
	w.wantError(w.post("introspect", url.Values{"client_id": {public.id}, "token": {theirs.Access}}), http.StatusUnauthorized, "invalid_client")
	w.wantError(w.post("introspect", url.Values{}, "Authorization", basic(c.id, c.secret)), http.StatusBadRequest, "invalid_request")
	w.tokensIn(w.refresh(c, got.Refresh))
	inactive(c, got.Refresh)
	w.clock.Advance(3600e9)
	inactive(c, got.Access)
}
