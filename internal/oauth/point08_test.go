package oauth_test

import (
	"net/http"
	"slices"
	"testing"

	"carrel/internal/core"
)

func TestPoint08ATokenWorksForItsAudienceAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	api, mcp := w.issuer, w.issuer+"/mcp"
	for _, try := range []struct {
		resource string
		works    []string
	}{
		{"", []string{api, mcp}}, {api, []string{api}}, {api + "/", []string{api}}, {mcp, []string{mcp}},
	} {
		got := w.connect(c, "resource", try.resource)
		for _, at := range []string{api, mcp, "", "https://other.example"} {
			if works := w.works(got.Access, at); works != slices.Contains(try.works, at) {
				t.Errorf("a token for %q works at %q: %t", try.resource, at, works)
			}
		}
		if _, err := w.credentials.Authenticate(t.Context(), got.Access); err == nil {
			t.Error("a token works where nobody named a resource")
		}
	}
}

func TestPoint08ATokenMayDoWhatAMintedKeyMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	actor, err := w.credentials.AuthenticateFor(t.Context(), got.Access, w.issuer)
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
	if !w.works(got.Access, w.issuer) {
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
	if err := w.service.RevokeGrant(t.Context(), core.Operator(w.user.ID), grants[0].ID); err != nil || w.works(got.Access, w.issuer) {
		t.Errorf("after revoking: %v", err)
	}
}

func TestPoint08ADisabledUsersTokensFailAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	got := w.connect(c)
	if !w.works(got.Access, w.issuer) {
		t.Fatal("it does not work")
	}
	if err := w.db.DisableUser(t.Context(), w.user.ID, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if w.works(got.Access, w.issuer) {
		t.Error("the token still works")
	}
	w.wantError(w.refresh(c, got.Refresh), http.StatusBadRequest, "invalid_grant")
	w.wantError(w.send(http.MethodGet, "/api/auth/mcp/userinfo", "", "Authorization", "Bearer "+got.Access), http.StatusUnauthorized, "invalid_token")
}
