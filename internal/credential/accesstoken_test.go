package credential_test

import (
	"slices"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

const resource = "https://carrel.test"

// grant stores a grant of the user for the client "Editor" and returns its id and an access token for the resources.
func (f fixture) grant(t *testing.T, scopes []string, resources ...string) (grantID, token string) {
	t.Helper()
	ctx, now := t.Context(), f.clock.Now()
	client := oauth.Client{
		ID: core.NewID("cli"), Kind: oauth.ClientRegistered, Name: "Editor", AuthMethod: oauth.AuthNone, CreatedAt: now,
	}
	if err := f.db.PutClient(ctx, client, 100); err != nil {
		t.Fatal(err)
	}
	grantID, token = core.NewID(core.PrefixCredential), credential.NewSecret("crla")
	code := oauth.Code{
		GrantID: grantID, UserID: f.user.UserID, ClientID: client.ID, Scopes: scopes, Resources: resources,
		AuthTime: now, ExpiresAt: now.Add(time.Minute),
	}
	if err := f.db.InsertAuthCode(ctx, code, []byte(grantID)); err != nil {
		t.Fatal(err)
	}
	_, err := f.db.RedeemAuthCode(ctx, f.clock, oauth.Redemption{
		CodeHash: []byte(grantID), ClientID: client.ID,
		Narrow:     func(g oauth.Grant) (_, _ []string, err error) { return g.Scopes, g.Resources, nil },
		AccessHash: credential.Hash([]byte("secret"), token),
	})
	if err != nil {
		t.Fatal(err)
	}
	return grantID, token
}

func TestAccessTokenActsForItsUserWithTheScopesOfItsGrant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, tc := range map[string]struct {
		scopes []string
		want   []core.Scope
	}{
		"both":             {[]string{"agents", "manage", "openid"}, []core.Scope{core.ScopeAgents, core.ScopeManage}},
		"one":              {[]string{"agents"}, []core.Scope{core.ScopeAgents}},
		"none":             {[]string{"openid"}, nil},
		"never the others": {[]string{"account", "admin", "manage"}, []core.Scope{core.ScopeManage}},
	} {
		grantID, token := f.grant(t, tc.scopes, resource+"/mcp", resource)
		actor, err := f.Authenticate(t.Context(), token)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if actor.UserID != f.user.UserID || actor.CredentialID != grantID || actor.Credential != core.CredentialOAuth ||
			actor.Role != core.RoleMember || !slices.Equal(actor.Scopes, tc.want) {
			t.Errorf("%s: %+v", name, actor)
		}
	}
}

func TestAccessTokenForAnotherResourceIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, resources := range map[string][]string{
		"another resource":          {"https://other.test"},
		"no resource":               {},
		"a path of this resource":   {resource + "/other"},
		"a prefix of this resource": {"https://carrel"},
		"other spelling":            {"https://CARREL.test"},
	} {
		_, token := f.grant(t, []string{"agents"}, resources...)
		_, err := f.Authenticate(t.Context(), token)
		if e := core.AsError(err); e.Kind != core.KindUnauthenticated || e.Code != "invalid_credential" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAccessTokenEndsWithItsLifetimeGrantAndUser(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, f fixture, grantID string){
		"after an hour": func(_ *testing.T, f fixture, _ string) { f.clock.Advance(time.Hour) },
		"with its grant": func(t *testing.T, f fixture, grantID string) {
			t.Helper()
			if ended, err := f.db.RevokeGrant(t.Context(), f.user.UserID, grantID, f.clock.Now()); err != nil || !ended {
				t.Fatal(ended, err)
			}
		},
		"with its user": func(t *testing.T, f fixture, _ string) {
			t.Helper()
			if err := f.db.DisableUser(t.Context(), f.user.UserID, f.clock.Now()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		f := newFixture(t)
		grantID, token := f.grant(t, []string{"agents"}, resource)
		f.clock.Advance(time.Hour - time.Millisecond)
		if _, err := f.Authenticate(t.Context(), token); err != nil {
			t.Errorf("%s: before the end: %v", name, err)
		}
		f.clock.Advance(time.Millisecond - time.Hour)
		end(t, f, grantID)
		if _, err := f.Authenticate(t.Context(), token); !core.IsKind(err, core.KindUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A prefix decides where a token is looked up. A secret with the prefix of another kind must not be found there.
func TestTokenIsLookedUpOnlyByItsOwnKind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, key := f.key(t, credential.NewKey{Name: "k"})
	_, token := f.grant(t, []string{"agents"}, resource)
	_, code, err := f.CreateCode(t.Context(), f.user)
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{
		"a key as an access token": "crla_" + key[len("crl_"):],
		"an access token as a key": "crl_" + token[len("crla_"):],
		"a connect code":           code,
		"a connect code as a key":  "crl_" + code[len("crlc_"):],
		"an unknown token":         credential.NewSecret("crla"),
	} {
		if _, err := f.Authenticate(t.Context(), secret); !core.IsKind(err, core.KindUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Exchange(t.Context(), "crlc_"+key[len("crl_"):], "editor"); core.AsError(err).Code != "invalid_code" {
		t.Errorf("a key as a connect code: %v", err)
	}
}
