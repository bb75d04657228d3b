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

// REST and MCP are one protected resource with two names. The e2e suite sends such tokens to both over HTTP.
func TestPoint08ATokenWorksWhicheverNameOfTheResourceWasAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("client_secret_post")
	api, mcp := w.issuer, w.issuer+"/mcp"
	for _, asked := range [][]string{nil, {api}, {api + "/"}, {mcp}, {api, mcp}, {mcp, api + "/"}} {
		q := c.request()
		q["resource"] = asked
		_, answer := w.consent(q, "allow")
		got := w.tokensIn(w.post("token", c.redemption(answer.Get("code"))))
		for _, narrowed := range []string{"", api, api + "/", mcp} {
			if !w.works(got.Access) {
				t.Errorf("a token for %q does not work", asked)
			}
			token := w.post("introspect", url.Values{"client_id": {c.id}, "client_secret": {c.secret}, "token": {got.Access}}).json(t)
			if aud := token["aud"].([]any); len(aud) != 2 || aud[0] != api || aud[1] != mcp {
				t.Errorf("the audience of a token for %q is %v", asked, aud)
			}
			got = w.tokensIn(w.refresh(c, got.Refresh, "resource", narrowed))
		}
	}
}

func TestPoint08ATokenForAnotherAudienceIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	for _, try := range []struct {
		stored []string
		works  bool
	}{
		{[]string{w.issuer}, true},
		{[]string{w.issuer + "/mcp"}, true},
		{[]string{w.issuer + "/mcp", w.issuer}, true}, // all that was ever stored
		{[]string{"https://former.example"}, false},
		{[]string{"https://former.example", "https://former.example/mcp"}, false},
		{[]string{w.issuer + ".former.example"}, false},
		{[]string{w.issuer + "/"}, false},
		{[]string{""}, false},
		{nil, false},
	} {
		code := credential.NewSecret("crlz")
		err := w.db.InsertAuthCode(t.Context(), oauth.Code{
			GrantID: core.NewID(core.PrefixGrant), UserID: w.user.ID, ClientID: c.id, RedirectURI: redirectURI, Challenge: challengeOf(verifier),
			Scopes: []string{"agents", "offline_access"}, Resources: try.stored, AuthTime: w.clock.Now(), ExpiresAt: w.clock.Now().Add(time.Minute),
		}, credential.Hash(secret, code))
		if err != nil {
			t.Fatal(err)
		}
		got := w.tokensIn(w.post("token", c.redemption(code)))
		if w.works(got.Access) != try.works {
			t.Errorf("a token for %q works: %t", try.stored, !try.works)
		}
		// A refresh never widens: neither silently nor by asking.
		got = w.tokensIn(w.refresh(c, got.Refresh))
		if w.works(got.Access) != try.works {
			t.Errorf("after a refresh a token for %q works: %t", try.stored, !try.works)
		}
		for _, asked := range []string{w.issuer, w.issuer + "/", w.issuer + "/mcp"} {
			r := w.refresh(c, got.Refresh, "resource", asked)
			if !try.works {
				w.wantError(r, http.StatusBadRequest, "invalid_target")
				continue
			}
			if got = w.tokensIn(r); !w.works(got.Access) {
				t.Errorf("a grant for %q refreshed for %s does not work", try.stored, asked)
			}
		}
	}
}

func TestPoint08ATokenMayDoWhatAMintedKeyMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	actor, err := w.credentials.Authenticate(t.Context(), got.Access)
	if err != nil || actor.Credential != core.CredentialOAuth || actor.UserID != w.user.ID {
		t.Fatalf("%+v, %v", actor, err)
	}
	for op, want := range map[core.Operation]bool{
		core.OpListAgents: true, core.OpCreateAgent: true, core.OpSearch: true, core.OpSendMessage: true, core.OpAddMemory: true,
		core.OpSaveFavourite: true, core.OpAccount: false, core.OpAdmin: false,
	} {
		if allowed := actor.Allow(op) == nil; allowed != want {
			t.Errorf("%s: %t", op, allowed)
		}
	}
	// What it used is seen on the list of connections.
	w.clock.Advance(5e9)
	if !w.works(got.Access) {
		t.Fatal("it does not work")
	}
	if err := w.credentials.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	grants, err := w.service.Grants(t.Context(), core.Operator(w.user.ID))
	if err != nil || len(grants) != 1 || !grants[0].LastUsedAt.Equal(w.clock.Now()) || grants[0].ClientName != "App" {
		t.Errorf("%+v, %v", grants, err)
	}
	if err := w.service.RevokeGrant(t.Context(), actor, grants[0].ID); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a token could revoke: %v", err)
	}
	if err := w.service.RevokeGrant(t.Context(), core.Operator(w.user.ID), grants[0].ID); err != nil || w.works(got.Access) {
		t.Errorf("after revoking: %v", err)
	}
}

func TestPoint08ADisabledUsersTokensFailAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	if !w.works(got.Access) {
		t.Fatal("it does not work")
	}
	if err := w.db.DisableUser(t.Context(), w.user.ID, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if w.works(got.Access) {
		t.Error("the token still works")
	}
	w.wantError(w.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
	w.wantError(w.send(http.MethodGet, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+got.Access), http.StatusUnauthorized, "invalid_token")
}
