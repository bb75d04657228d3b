package credential_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

// fixture is the service on a database with one user.
type fixture struct {
	*credential.Service
	db    *store.DB
	clock *testkit.Clock
	audit *audit.Log
	user  core.Actor
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	return openFixture(t, kit.SQLite(t))
}

// openFixture returns the service on the SQLite database of a file.
func openFixture(t *testing.T, path string) fixture {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := fixture{db: db, clock: testkit.NewClock()}
	f.audit = audit.New(audit.Deps{Store: db, Clock: f.clock, Log: slog.New(slog.DiscardHandler)})
	f.Service = credential.NewService(f.deps("secret"))
	f.user = core.Operator(f.newUser(t))
	return f
}

// deps returns the dependencies of a service that hashes with this key.
func (f fixture) deps(hashKey string) credential.Deps {
	return credential.Deps{
		Store: f.db, Clock: f.clock, Audit: f.audit, HashKey: []byte(hashKey),
		Prefixes: credential.Prefixes{Key: "crl", Code: "crlc"},
		Agents:   agent.NewService(agent.Deps{Store: f.db, Clock: f.clock, Audit: f.audit}), Grants: noGrants{},
		OAuth: credential.TokenDeps{Store: f.db, Prefix: "crla", Audience: []string{"https://carrel.test"}},
	}
}

// noGrants is an authorization server without grants.
type noGrants struct{}

func (noGrants) RevokeGrant(context.Context, core.Actor, string) error { return core.NotFound("grant") }

func (f fixture) newUser(t *testing.T) string {
	t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{
		ID:        id,
		Email:     id + "@example.org",
		Name:      "U",
		Role:      core.RoleMember,
		Plan:      core.PlanOpen,
		CreatedAt: f.clock.Now(),
	}
	if err := f.db.InsertUser(t.Context(), u, "none"); err != nil {
		t.Fatal(err)
	}
	return id
}

func (f fixture) key(t *testing.T, n credential.NewKey) (credential.Key, string) {
	t.Helper()
	k, token, err := f.CreateKey(t.Context(), f.user, n)
	if err != nil {
		t.Fatal(err)
	}
	return k, token
}

func TestKeyActsForItsUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k, token := f.key(t, credential.NewKey{Name: "laptop"})
	if k.Hint != token[len(token)-4:] || k.Kind != core.CredentialKey {
		t.Errorf("created %+v", k)
	}
	actor, err := f.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if actor.UserID != f.user.UserID || actor.CredentialID != k.ID || actor.Plan != core.PlanOpen || actor.Spend.Capped ||
		!slices.Equal(actor.Scopes, []core.Scope{core.ScopeAgents, core.ScopeManage}) || len(actor.Agents) != 0 {
		t.Errorf("actor %+v", actor)
	}
	limit := int64(5)
	if err := f.db.SetSpendCap(t.Context(), f.user.UserID, &limit); err != nil {
		t.Fatal(err)
	}
	agentID := core.NewID(core.PrefixAgent)
	if err := f.db.InsertAgent(t.Context(), agent.Agent{
		ID: agentID, UserID: f.user.UserID, Sources: []agent.Source{{ID: core.NewID(core.PrefixSource), Default: true}},
	}); err != nil {
		t.Fatal(err)
	}
	_, narrow := f.key(
		t,
		credential.NewKey{Name: "narrow", Scopes: []core.Scope{core.ScopeAccount}, Agents: []string{agentID}},
	)
	actor, err = f.Authenticate(t.Context(), narrow)
	want := core.Spend{Capped: true, Cap: 5, ResetsAt: time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)}
	if err != nil || actor.Spend != want || !slices.Equal(actor.Scopes, []core.Scope{core.ScopeAccount}) ||
		!slices.Equal(actor.Agents, []string{agentID}) {
		t.Errorf("actor %+v, error %v", actor, err)
	}
}

func TestInvalidKeyIsRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now, past := f.clock.Now(), f.clock.Now().Add(-time.Second)
	for name, n := range map[string]credential.NewKey{
		"no name": {}, "a blank name": {Name: " "}, "a long name": {Name: strings.Repeat("é", 101)},
		"a NUL":   {Name: "a\x00"},
		"expired": {Name: "n", ExpiresAt: &past}, "expires now": {Name: "n", ExpiresAt: &now},
		"an agent that does not exist": {Name: "n", Agents: []string{"agt_none"}},
	} {
		if _, _, err := f.CreateKey(t.Context(), f.user, n); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys, err := f.Keys(t.Context(), f.user); err != nil || len(keys) != 0 {
		t.Errorf("%d keys were stored, error %v", len(keys), err)
	}
	missing := core.Operator("usr_none")
	if _, _, err := f.CreateKey(t.Context(), missing, credential.NewKey{Name: "n"}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("key for a missing user: %v", err)
	}
	if _, _, err := f.CreateCode(t.Context(), missing); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("code for a missing user: %v", err)
	}
}

func TestOnlyTheOwnerManagesKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k, token := f.key(t, credential.NewKey{Name: "mine"})
	other := core.Operator(f.newUser(t))
	if err := f.RevokeKey(t.Context(), other, k.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user revokes it: %v", err)
	}
	if keys, err := f.Keys(t.Context(), other); err != nil || len(keys) != 0 {
		t.Errorf("another user sees %v, %v", keys, err)
	}
	actor, err := f.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	_, _, errKey := f.CreateKey(t.Context(), actor, credential.NewKey{Name: "n"})
	_, _, errCode := f.CreateCode(t.Context(), actor)
	_, errList := f.Keys(t.Context(), actor)
	for name, err := range map[string]error{
		"create": errKey, "code": errCode, "list": errList, "revoke": f.RevokeKey(t.Context(), actor, k.ID),
	} {
		if e := core.AsError(err); e.Code != "insufficient_scope" || e.Scope != core.ScopeAccount {
			t.Errorf("%s with a key without the account scope: %v", name, err)
		}
	}
}

func TestRevokedAndExpiredKeysAreRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := f.clock.Now().Add(time.Minute)
	k, revoked := f.key(t, credential.NewKey{Name: "revoked"})
	_, expiring := f.key(t, credential.NewKey{Name: "expiring", ExpiresAt: &at})
	_, good := f.key(t, credential.NewKey{Name: "good"})
	check := func(name, token string, ok bool) {
		t.Helper()
		_, err := f.Authenticate(t.Context(), token)
		if ok != (err == nil) || !ok && core.AsError(err).Code != "invalid_credential" {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("a valid key", revoked, true)
	if err := f.RevokeKey(t.Context(), f.user, k.ID); err != nil {
		t.Fatal(err)
	}
	check("a revoked key", revoked, false)
	check("a key before it expires", expiring, true)
	f.clock.Set(at)
	check("a key when it expires", expiring, false)
	check("another key", good, true)
	check("junk", "junk", false)
	elsewhere := credential.NewService(f.deps("another secret"))
	if _, err := elsewhere.Authenticate(t.Context(), good); core.AsError(err).Code != "invalid_credential" {
		t.Errorf("with another secret: %v", err)
	}
	if err := f.db.DisableUser(t.Context(), f.user.UserID, f.clock.Now()); err != nil {
		t.Fatal(err)
	}
	check("a disabled user's key", good, false)
}

func TestConnectCodeIsExchangedOnceWithin15Minutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code := func() string {
		t.Helper()
		c, token, err := f.CreateCode(t.Context(), f.user)
		if err != nil || c.ExpiresAt != f.clock.Now().Add(15*time.Minute) || !strings.HasPrefix(token, "crlc_") {
			t.Fatalf("created %+v, error %v", c, err)
		}
		return token
	}
	first, late := code(), code()
	token, err := f.Exchange(t.Context(), first, "editor")
	if err != nil {
		t.Fatal(err)
	}
	if actor, err := f.Authenticate(t.Context(), token); err != nil || actor.Credential != core.CredentialMinted ||
		actor.UserID != f.user.UserID {
		t.Errorf("actor %+v, error %v", actor, err)
	}
	f.clock.Advance(15 * time.Minute)
	var details []string
	for _, invalid := range []string{first, late, token, "junk", ""} {
		_, err := f.Exchange(t.Context(), invalid, "editor")
		if e := core.AsError(err); e.Code == "invalid_code" {
			details = append(details, e.Detail)
		}
	}
	if len(details) != 5 || len(slices.Compact(details)) != 1 {
		t.Errorf("invalid codes are distinguishable: %q", details)
	}
	fresh := code()
	for _, name := range []string{"", " ", "a\tb", "\u00ad", "\xff", strings.Repeat("a", 65)} {
		if _, err := f.Exchange(t.Context(), fresh, name); core.AsError(err).Code != "invalid_request" {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if _, err := f.Exchange(t.Context(), fresh, "Éditeur 😀"); err != nil {
		t.Errorf("after bad names: %v", err)
	}
}

func TestFailedFlushKeepsUses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, one := f.key(t, credential.NewKey{Name: "one"})
	_, two := f.key(t, credential.NewKey{Name: "two"})
	use := func(token string) time.Time {
		t.Helper()
		if _, err := f.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		return f.clock.Now()
	}
	early := use(one)
	use(two)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.FlushUses(gone); err == nil {
		t.Fatal("a flush with a cancelled context succeeds")
	}
	f.clock.Advance(time.Hour)
	later := use(two)
	if err := f.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := f.Keys(t.Context(), f.user)
	if err != nil || len(keys) != 2 {
		t.Fatal(keys, err)
	}
	for _, k := range keys {
		want := map[string]time.Time{"one": early, "two": later}[k.Name]
		if k.LastUsedAt == nil || !k.LastUsedAt.Equal(want) {
			t.Errorf("%s was last used at %v, want %v", k.Name, k.LastUsedAt, want)
		}
	}
}

func TestConstructorsPanicWithoutADependency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deps := f.deps("secret")
	testkit.RequiresDeps(t, deps, func(d credential.Deps) { credential.NewService(d) })
	testkit.RequiresDeps(t, deps.OAuth, func(d credential.TokenDeps) {
		withTokens := deps
		withTokens.OAuth = d
		credential.NewService(withTokens)
	})
	testkit.RequiresDeps(t, credential.SessionDeps{
		Store: f.db, Clock: f.clock, Audit: f.audit, HashKey: []byte("secret"),
	}, func(d credential.SessionDeps) { credential.NewSessions(d) })
}
