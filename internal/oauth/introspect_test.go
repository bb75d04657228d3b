package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestClientRevokesOnlyItsOwnTokens(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c, other := srv.register("none"), srv.register("client_secret_basic")
	got := srv.connect(c)
	ok := func(r reply) {
		t.Helper()
		if r.status != http.StatusOK || r.body != "" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %q", r.status, r.body)
		}
	}
	for _, token := range []string{"junk", got.Access[:len(got.Access)-1], "crla_" + strings.Repeat("0", 38)} {
		ok(srv.post("revoke", url.Values{"client_id": {c.id}, "token": {token}}))
	}
	for _, token := range []string{got.Access, got.Refresh} {
		ok(srv.post("revoke", url.Values{"token": {token}}, "Authorization", basic(other.id, other.secret)))
	}
	if !srv.accepts(got.Access) {
		t.Error("another client could revoke it")
	}
	srv.wantError(srv.post("revoke", url.Values{"token": {got.Access}}), http.StatusUnauthorized, "invalid_client")
	srv.wantError(srv.post("revoke", url.Values{"client_id": {c.id}}), http.StatusBadRequest, "invalid_request")
	ok(srv.post("revoke", url.Values{"client_id": {c.id}, "token": {got.Access}, "token_type_hint": {"refresh_token"}}))
	if srv.accepts(got.Access) {
		t.Error("the access token still works")
	}
	next := srv.tokensIn(srv.refresh(c, got.Refresh))
	ok(srv.post("revoke", url.Values{"client_id": {c.id}, "token": {next.Refresh}}))
	if srv.accepts(next.Access) {
		t.Error("the grant's access token still works")
	}
	srv.wantError(srv.refresh(c, next.Refresh), http.StatusBadRequest, "invalid_grant")
}

func TestClientIntrospectsOnlyItsOwnTokens(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c, other, public := srv.register("client_secret_basic"), srv.register("client_secret_basic"), srv.register("none")
	got, theirs := srv.connect(c), srv.connect(public)
	ask := func(c client, token string) map[string]any {
		t.Helper()
		r := srv.post("introspect", url.Values{"token": {token}}, "Authorization", basic(c.id, c.secret))
		if r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
		return r.json(t)
	}
	for _, token := range []string{got.Access, got.Refresh} {
		v := ask(c, token)
		if v["active"] != true || v["sub"] != srv.user.ID || v["client_id"] != c.id || v["iss"] != srv.issuer ||
			v["scope"] == "" || v["exp"] == nil {
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
	srv.wantError(srv.post("introspect", url.Values{"client_id": {public.id}, "token": {theirs.Access}}),
		http.StatusUnauthorized, "invalid_client")
	srv.wantError(srv.post("introspect", url.Values{}, "Authorization", basic(c.id, c.secret)), http.StatusBadRequest,
		"invalid_request")
	srv.tokensIn(srv.refresh(c, got.Refresh))
	inactive(c, got.Refresh)
	srv.clock.Advance(3600e9)
	inactive(c, got.Access)
}
