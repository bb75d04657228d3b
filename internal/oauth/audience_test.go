package oauth_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

// REST and MCP are one protected resource with two identifiers. The e2e suite sends such tokens to both over HTTP.
func TestTokenWorksForBothNamesOfTheResource(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("client_secret_post")
	api, mcp := srv.issuer, srv.issuer+"/mcp"
	for _, requested := range [][]string{nil, {api}, {api + "/"}, {mcp}, {api, mcp}, {mcp, api + "/"}} {
		q := c.request()
		q["resource"] = requested
		_, answer := srv.consent(q, "allow")
		got := srv.tokensIn(srv.post("token", c.redemption(answer.Get("code"))))
		for _, narrowed := range []string{"", api, api + "/", mcp} {
			if !srv.accepts(got.Access) {
				t.Errorf("a token for %q does not work", requested)
			}
			token := srv.post("introspect", url.Values{
				"client_id": {c.id}, "client_secret": {c.secret},
				"token": {got.Access},
			}).json(t)
			if aud := token["aud"].([]any); len(aud) != 2 || aud[0] != api || aud[1] != mcp {
				t.Errorf("the audience of a token for %q is %v", requested, aud)
			}
			got = srv.tokensIn(srv.refresh(c, got.Refresh, "resource", narrowed))
		}
	}
}

func TestTokenForAnotherAudienceIsRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	for _, try := range []struct {
		stored []string
		works  bool
	}{
		{[]string{srv.issuer}, true},
		{[]string{srv.issuer + "/mcp"}, true},
		{[]string{srv.issuer + "/mcp", srv.issuer}, true}, // every form that was ever stored
		{[]string{"https://former.example"}, false},
		{[]string{"https://former.example", "https://former.example/mcp"}, false},
		{[]string{srv.issuer + ".former.example"}, false},
		{[]string{srv.issuer + "/"}, false},
		{[]string{""}, false},
		{nil, false},
	} {
		code := credential.NewSecret("crlz")
		err := srv.db.InsertAuthCode(t.Context(), oauth.Code{
			GrantID: core.NewID(core.PrefixGrant), UserID: srv.user.ID, ClientID: c.id, RedirectURI: redirectURI,
			Challenge: challengeOf(verifier), Scopes: []string{"agents", "offline_access"}, Resources: try.stored,
			AuthTime:  srv.clock.Now(),
			ExpiresAt: srv.clock.Now().Add(time.Minute),
		}, credential.Hash(secret, code))
		if err != nil {
			t.Fatal(err)
		}
		got := srv.tokensIn(srv.post("token", c.redemption(code)))
		if srv.accepts(got.Access) != try.works {
			t.Errorf("a token for %q works: %t", try.stored, !try.works)
		}
		// A refresh never widens the audience, with or without the resource parameter.
		got = srv.tokensIn(srv.refresh(c, got.Refresh))
		if srv.accepts(got.Access) != try.works {
			t.Errorf("after a refresh a token for %q works: %t", try.stored, !try.works)
		}
		for _, requested := range []string{srv.issuer, srv.issuer + "/", srv.issuer + "/mcp"} {
			r := srv.refresh(c, got.Refresh, "resource", requested)
			if !try.works {
				srv.wantError(r, http.StatusBadRequest, "invalid_target")
				continue
			}
			if got = srv.tokensIn(r); !srv.accepts(got.Access) {
				t.Errorf("a grant for %q refreshed for %s does not work", try.stored, requested)
			}
		}
	}
}

func TestTokenHasTheAccessOfAConnectedKey(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	got := srv.connect(c)
	actor, err := srv.credentials.Authenticate(t.Context(), got.Access)
	if err != nil || actor.Credential != core.CredentialOAuth || actor.UserID != srv.user.ID {
		t.Fatalf("%+v, %v", actor, err)
	}
	for op, want := range map[core.Operation]bool{
		core.OpListAgents: true, core.OpCreateAgent: true, core.OpSearch: true, core.OpSendMessage: true,
		core.OpAddMemory:     true,
		core.OpSaveFavourite: true, core.OpAccount: false, core.OpAdmin: false,
	} {
		if allowed := actor.Allow(op) == nil; allowed != want {
			t.Errorf("%s: %t", op, allowed)
		}
	}
	// The last use is shown in the list of connections.
	srv.clock.Advance(5e9)
	if !srv.accepts(got.Access) {
		t.Fatal("the token does not work")
	}
	if err := srv.credentials.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	grants, err := srv.service.Grants(t.Context(), core.Operator(srv.user.ID))
	if err != nil || len(grants) != 1 || !grants[0].LastUsedAt.Equal(srv.clock.Now()) || grants[0].ClientName != "App" {
		t.Errorf("%+v, %v", grants, err)
	}
	if err := srv.service.RevokeGrant(t.Context(), actor, grants[0].ID); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a token could revoke: %v", err)
	}
	if err := srv.service.RevokeGrant(t.Context(), core.Operator(srv.user.ID), grants[0].ID); err != nil ||
		srv.accepts(got.Access) {
		t.Errorf("after revoking: %v", err)
	}
}

func TestTokensOfADisabledUserFailImmediately(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	got := srv.connect(c)
	if !srv.accepts(got.Access) {
		t.Fatal("the token does not work")
	}
	if err := srv.db.DisableUser(t.Context(), srv.user.ID, srv.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if srv.accepts(got.Access) {
		t.Error("the token still works")
	}
	srv.wantError(srv.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
	srv.wantError(srv.send(http.MethodGet, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+got.Access),
		http.StatusUnauthorized, "invalid_token")
}
