package credential_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/testkit"
)

// fields returns the pointers of an invalid_request error.
func fields(err error) []string {
	var out []string
	for _, f := range core.AsError(err).Fields {
		out = append(out, f.Pointer)
	}
	return out
}

// keyActor creates an API key with the account scope and returns its actor. The clock does not move, so the operator's
// proof still counts as recent.
func (f fixture) keyActor(t *testing.T, n credential.NewKey) core.Actor {
	t.Helper()
	n.Name, n.Scopes = "maker", []core.Scope{core.ScopeAgents, core.ScopeManage, core.ScopeAccount}
	_, token := f.key(t, n)
	actor, err := f.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return actor
}

func TestCreatedKeyHasNoMoreAccessThanItsCreator(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	end := f.clock.Now().Add(time.Hour)
	maker := f.keyActor(t, credential.NewKey{ExpiresAt: &end})
	k, token, err := f.CreateKey(ctx, maker, credential.NewKey{Name: "child"})
	if err != nil || k.MadeWith != maker.CredentialID || k.ExpiresAt == nil || !k.ExpiresAt.Equal(end) {
		t.Fatalf("created %+v, %v", k, err)
	}
	later := end.Add(time.Second)
	_, _, err = f.CreateKey(ctx, maker, credential.NewKey{Name: "n", ExpiresAt: &later})
	if !slices.Equal(fields(err), []string{"/expiresAt"}) {
		t.Errorf("expires after its creator: %v", err)
	}
	scopes := []core.Scope{core.ScopeAgents, core.ScopeAdmin}
	_, _, err = f.CreateKey(ctx, maker, credential.NewKey{Name: "n", Scopes: scopes})
	if !slices.Equal(fields(err), []string{"/scopes/1"}) {
		t.Errorf("a scope that the creator lacks: %v", err)
	}
	capped := maker
	capped.CredentialSpend = core.Spend{Capped: true, Cap: 5}
	_, _, errKey := f.CreateKey(ctx, capped, credential.NewKey{Name: "n"})
	_, _, errCode := f.CreateCode(ctx, capped)
	for name, err := range map[string]error{"key": errKey, "code": errCode} {
		if !core.IsKind(err, core.KindForbidden) {
			t.Errorf("a %s from a key with a spend cap: %v", name, err)
		}
	}
	if err := f.RevokeKey(ctx, f.user, maker.CredentialID); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authenticate(ctx, token); core.AsError(err).Code != "invalid_credential" {
		t.Errorf("the created key after its creator was revoked: %v", err)
	}
}

func TestDuplicateScopesAreStoredOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	scopes := []core.Scope{core.ScopeManage, core.ScopeAgents, core.ScopeManage}
	k, _ := f.key(t, credential.NewKey{Name: " laptop ", Scopes: scopes})
	if k.Name != "laptop" || !slices.Equal(k.Scopes, []core.Scope{core.ScopeAgents, core.ScopeManage}) {
		t.Errorf("created %+v", k)
	}
	_, _, err := f.CreateKey(t.Context(), f.user, credential.NewKey{Name: "n", Agents: make([]string, 101)})
	if !slices.Equal(fields(err), []string{"/agents"}) {
		t.Errorf("101 agents: %v", err)
	}
}

func TestAPIKeysAreListedInPagesWithoutMintedAndRevokedOnes(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	var want []string
	for range 5 {
		k, _ := f.key(t, credential.NewKey{Name: "k"})
		want = append(want, k.ID)
	}
	if err := f.DeleteKey(ctx, f.user, want[2]); err != nil {
		t.Fatal(err)
	}
	want = slices.Delete(want, 2, 3)
	slices.Reverse(want)
	minted := f.mint(t, "editor")
	var got []string
	for _, k := range testkit.AllPages(t, 3, func(p core.Page) ([]credential.Key, string, error) {
		return f.APIKeys(ctx, f.user, p)
	}) {
		got = append(got, k.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if err := f.DeleteKey(ctx, f.user, minted.CredentialID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("deleting a minted key as an API key: %v", err)
	}
	if all, err := f.Keys(ctx, f.user); err != nil || len(all) != 6 {
		t.Errorf("%d keys in total, %v", len(all), err)
	}
}

// mint exchanges a connect code and returns the actor of the minted key.
func (f fixture) mint(t *testing.T, client string) core.Actor {
	t.Helper()
	_, code, err := f.CreateCode(t.Context(), f.user)
	if err != nil {
		t.Fatal(err)
	}
	token, err := f.Exchange(t.Context(), code, client)
	if err != nil {
		t.Fatal(err)
	}
	actor, err := f.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return actor
}

func TestConnectCodeStates(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	state := func(id string) credential.CodeState {
		t.Helper()
		c, err := f.Code(ctx, f.user, id)
		if err != nil {
			t.Fatal(err)
		}
		return c.State(f.clock.Now())
	}
	waiting, _, err := f.CreateCode(ctx, f.user)
	if err != nil || state(waiting.ID) != credential.CodeWaiting {
		t.Fatalf("new code: %v", err)
	}
	used, secret, err := f.CreateCode(ctx, f.user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Exchange(ctx, secret, "editor"); err != nil {
		t.Fatal(err)
	}
	c, err := f.Code(ctx, f.user, used.ID)
	if err != nil || state(used.ID) != credential.CodeClaimed || c.ClientName != "editor" || c.KeyID == "" {
		t.Errorf("used code %+v, %v", c, err)
	}
	if err := f.CancelCode(ctx, f.user, used.ID); !core.IsKind(err, core.KindConflict) {
		t.Errorf("cancelling a used code: %v", err)
	}
	other := core.Operator(f.newUser(t))
	if err := f.CancelCode(ctx, other, waiting.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user cancels it: %v", err)
	}
	if _, err := f.Code(ctx, other, waiting.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user reads it: %v", err)
	}
	f.clock.Advance(15 * time.Minute)
	if state(waiting.ID) != credential.CodeExpired {
		t.Errorf("after 15 minutes the code is %s", state(waiting.ID))
	}
	if err := f.CancelCode(ctx, f.user, waiting.ID); err != nil {
		t.Errorf("cancelling an expired code: %v", err)
	}
	if codes, _, err := f.Codes(ctx, f.user, core.Page{}); err != nil || len(codes) != 1 || codes[0].ID != used.ID {
		t.Errorf("codes %+v, %v", codes, err)
	}
	f.clock.Advance(31 * 24 * time.Hour)
	if err := f.PruneCodes(ctx); err != nil {
		t.Fatal(err)
	}
	if codes, _, err := f.Codes(ctx, f.user, core.Page{}); err != nil || len(codes) != 0 {
		t.Errorf("after pruning: %+v, %v", codes, err)
	}
}

func TestConnectionsAreRenamedAndRevoked(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	minted := f.mint(t, "editor")
	f.key(t, credential.NewKey{Name: "an API key is not a connection"})
	list, next, err := f.Connections(ctx, f.user, core.Page{})
	if err != nil || next != "" || len(list) != 1 || list[0].ID != minted.CredentialID || list[0].Name != "editor" {
		t.Fatalf("connections %+v, %v", list, err)
	}
	c, err := f.RenameConnection(ctx, f.user, minted.CredentialID, " Work laptop ")
	if err != nil || c.Name != "Work laptop" || c.ClientName != "editor" {
		t.Errorf("renamed to %+v, %v", c, err)
	}
	if _, err := f.RenameConnection(ctx, f.user, minted.CredentialID, " "); !slices.Equal(fields(err), []string{"/name"}) {
		t.Errorf("a blank name: %v", err)
	}
	other := core.Operator(f.newUser(t))
	if err := f.RevokeConnection(ctx, other, minted.CredentialID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user revokes it: %v", err)
	}
	if err := f.RevokeConnection(ctx, f.user, minted.CredentialID); err != nil {
		t.Fatal(err)
	}
	if list, _, err := f.Connections(ctx, f.user, core.Page{}); err != nil || len(list) != 0 {
		t.Errorf("after revoking: %+v, %v", list, err)
	}
	entries, err := f.audit.List(ctx, f.user.UserID, 0, 2)
	if err != nil || len(entries) != 2 || entries[0].Event != "key_revoked" || entries[1].Event != "connection_named" {
		t.Errorf("audit entries %+v, %v", entries, err)
	}
}

func TestDerivedSecretDependsOnKeyPrefixAndInput(t *testing.T) {
	t.Parallel()
	derive := func(key, prefix, from string) string { return credential.DeriveSecret([]byte(key), prefix, from) }
	secret := derive("key", "crlr", "from")
	if secret != derive("key", "crlr", "from") || !credential.IsSecret("crlr", secret) {
		t.Errorf("derived %s", secret)
	}
	body := func(s string) string { return s[strings.Index(s, "_"):] }
	for name, other := range map[string]string{
		"key": derive("other", "crlr", "from"), "prefix": derive("key", "crlx", "from"),
		"input": derive("key", "crlr", "other"),
	} {
		if body(other) == body(secret) {
			t.Errorf("another %s derives the same secret", name)
		}
	}
}
