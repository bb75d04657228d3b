package credential_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// world is the service on a database with one user.
type world struct {
	*credential.Service
	db    *store.DB
	clock *testkit.Clock
	user  core.Actor
}

func newWorld(t *testing.T) world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := world{db: db, clock: testkit.NewClock()}
	w.Service = credential.NewService(db, w.clock, []byte("secret"), credential.Prefixes{Key: "crl", Code: "crlc"})
	w.user = core.Operator(w.newUser(t))
	return w
}

func (w world) newUser(t *testing.T) string {
	t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{ID: id, Email: id + "@example.org", Name: "U", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: w.clock.Now()}
	if err := w.db.InsertUser(t.Context(), u, "none"); err != nil {
		t.Fatal(err)
	}
	return id
}

func (w world) key(t *testing.T, n credential.NewKey) (credential.Key, string) {
	t.Helper()
	k, token, err := w.CreateKey(t.Context(), w.user, n)
	if err != nil {
		t.Fatal(err)
	}
	return k, token
}

func TestAKeyActsForItsUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k, token := w.key(t, credential.NewKey{Name: "laptop"})
	if k.Hint != token[len(token)-4:] || k.Kind != core.CredentialKey {
		t.Errorf("made %+v", k)
	}
	actor, err := w.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if actor.UserID != w.user.UserID || actor.CredentialID != k.ID || actor.Plan != core.PlanOpen || actor.Spend.Capped ||
		!slices.Equal(actor.Scopes, []core.Scope{core.ScopeAgents, core.ScopeManage}) || len(actor.Agents) != 0 {
		t.Errorf("it acts as %+v", actor)
	}
	limit := int64(5)
	if err := w.db.SetSpendCap(t.Context(), w.user.UserID, &limit); err != nil {
		t.Fatal(err)
	}
	_, narrow := w.key(t, credential.NewKey{Name: "narrow", Scopes: []core.Scope{core.ScopeAccount}, Agents: []string{"agt_x"}})
	actor, err = w.Authenticate(t.Context(), narrow)
	want := core.Spend{Capped: true, Cap: 5, ResetsAt: time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)}
	if err != nil || actor.Spend != want || !slices.Equal(actor.Scopes, []core.Scope{core.ScopeAccount}) || !slices.Equal(actor.Agents, []string{"agt_x"}) {
		t.Errorf("it acts as %+v, %v", actor, err)
	}
}

func TestABadKeyIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now, past := w.clock.Now(), w.clock.Now().Add(-time.Second)
	for name, n := range map[string]credential.NewKey{
		"no name": {}, "a blank name": {Name: " "}, "a long name": {Name: strings.Repeat("é", 101)}, "a NUL": {Name: "a\x00"},
		"an end that is past": {Name: "n", ExpiresAt: &past}, "an end that is now": {Name: "n", ExpiresAt: &now},
	} {
		if _, _, err := w.CreateKey(t.Context(), w.user, n); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys, err := w.Keys(t.Context(), w.user); err != nil || len(keys) != 0 {
		t.Errorf("there are %d keys, %v", len(keys), err)
	}
	nobody := core.Operator("usr_none")
	if _, _, err := w.CreateKey(t.Context(), nobody, credential.NewKey{Name: "n"}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a key for nobody: %v", err)
	}
	if _, _, err := w.CreateCode(t.Context(), nobody); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a code for nobody: %v", err)
	}
}

func TestKeysAreManagedByTheirUserAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k, token := w.key(t, credential.NewKey{Name: "mine"})
	other := core.Operator(w.newUser(t))
	if err := w.RevokeKey(t.Context(), other, k.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("somebody else revokes it: %v", err)
	}
	if keys, err := w.Keys(t.Context(), other); err != nil || len(keys) != 0 {
		t.Errorf("somebody else sees %v, %v", keys, err)
	}
	actor, err := w.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	_, _, errKey := w.CreateKey(t.Context(), actor, credential.NewKey{Name: "n"})
	_, _, errCode := w.CreateCode(t.Context(), actor)
	_, errList := w.Keys(t.Context(), actor)
	for name, err := range map[string]error{"make": errKey, "code": errCode, "list": errList, "revoke": w.RevokeKey(t.Context(), actor, k.ID)} {
		if e := core.AsError(err); e.Code != "insufficient_scope" || e.Scope != core.ScopeAccount {
			t.Errorf("%s with a key for agents: %v", name, err)
		}
	}
}

func TestAnEndedKeyIsNoCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.clock.Now().Add(time.Minute)
	k, revoked := w.key(t, credential.NewKey{Name: "revoked"})
	_, expiring := w.key(t, credential.NewKey{Name: "expiring", ExpiresAt: &at})
	_, good := w.key(t, credential.NewKey{Name: "good"})
	check := func(name, token string, ok bool) {
		t.Helper()
		_, err := w.Authenticate(t.Context(), token)
		if ok != (err == nil) || !ok && core.AsError(err).Code != "invalid_credential" {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("a good key", revoked, true)
	if err := w.RevokeKey(t.Context(), w.user, k.ID); err != nil {
		t.Fatal(err)
	}
	check("a revoked key", revoked, false)
	check("a key before its end", expiring, true)
	w.clock.Set(at)
	check("a key at its end", expiring, false)
	check("another key", good, true)
	check("junk", "junk", false)
	elsewhere := credential.NewService(w.db, w.clock, []byte("another secret"), credential.Prefixes{Key: "crl", Code: "crlc"})
	if _, err := elsewhere.Authenticate(t.Context(), good); core.AsError(err).Code != "invalid_credential" {
		t.Errorf("with another secret: %v", err)
	}
	if err := w.db.DisableUser(t.Context(), w.user.UserID, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	check("a disabled user's key", good, false)
}

func TestACodeIsExchangedOnceWithin15Minutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code := func() string {
		t.Helper()
		c, token, err := w.CreateCode(t.Context(), w.user)
		if err != nil || c.ExpiresAt != w.clock.Now().Add(15*time.Minute) || !strings.HasPrefix(token, "crlc_") {
			t.Fatalf("made %+v %v", c, err)
		}
		return token
	}
	first, late := code(), code()
	token, err := w.Exchange(t.Context(), first, "editor")
	if err != nil {
		t.Fatal(err)
	}
	if actor, err := w.Authenticate(t.Context(), token); err != nil || actor.Credential != core.CredentialMinted || actor.UserID != w.user.UserID {
		t.Errorf("it acts as %+v, %v", actor, err)
	}
	w.clock.Advance(15 * time.Minute)
	var details []string
	for _, useless := range []string{first, late, token, "junk", ""} {
		_, err := w.Exchange(t.Context(), useless, "editor")
		if e := core.AsError(err); e.Code == "invalid_code" {
			details = append(details, e.Detail)
		}
	}
	if len(details) != 5 || len(slices.Compact(details)) != 1 {
		t.Errorf("useless codes are told apart: %q", details)
	}
	fresh := code()
	for _, name := range []string{"", " ", "a\tb", "\u00ad", "\xff", strings.Repeat("a", 65)} {
		if _, err := w.Exchange(t.Context(), fresh, name); core.AsError(err).Code != "invalid_request" {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if _, err := w.Exchange(t.Context(), fresh, "Éditeur 😀"); err != nil {
		t.Errorf("after bad names: %v", err)
	}
}

func TestUsesThatCouldNotBeWrittenAreNotForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, one := w.key(t, credential.NewKey{Name: "one"})
	_, two := w.key(t, credential.NewKey{Name: "two"})
	use := func(token string) time.Time {
		t.Helper()
		if _, err := w.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		return w.clock.Now()
	}
	early := use(one)
	use(two)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.FlushUses(gone); err == nil {
		t.Fatal("a flush that can't write succeeds")
	}
	w.clock.Advance(time.Hour)
	later := use(two)
	if err := w.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := w.Keys(t.Context(), w.user)
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
