package passkey_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/secretbox"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// testService is the service on a database with one user.
type testService struct {
	*passkey.Service
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	audit    *audit.Log
	sessions *credential.Sessions
	deps     passkey.Deps
	user     account.User
}

func newTestService(t *testing.T) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	f := &testService{t: t, db: db, clock: testkit.NewClock()}
	f.audit = audit.New(audit.Deps{Store: db, Clock: f.clock, Log: slog.New(slog.DiscardHandler)})
	f.sessions = credential.NewSessions(
		credential.SessionDeps{Store: db, Clock: f.clock, Audit: f.audit, HashKey: []byte("key")},
	)
	sealer, err := secretbox.New(make([]byte, 32), "test")
	f.must(err)
	signIn := signin.NewService(signin.Deps{
		Store: db, Clock: f.clock, Audit: f.audit, Sessions: f.sessions, Sealer: sealer, Key: []byte("key"),
	})
	f.deps = passkey.Deps{
		Store:   db,
		Pending: signIn.Pending,
		Clock:   f.clock,
		Audit:   f.audit,
		BaseURL: "https://carrel.test",
	}
	f.Service, err = passkey.New(f.deps)
	f.must(err)
	f.user = f.newUser("ada@example.org")
	return f
}

func (f *testService) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *testService) newUser(email string) account.User {
	f.t.Helper()
	u := account.User{
		ID:        core.NewID(core.PrefixUser),
		Email:     email,
		Name:      "Ada",
		Role:      core.RoleMember,
		Plan:      core.PlanOpen,
		CreatedAt: f.clock.Now(),
	}
	f.must(f.db.InsertUser(f.t.Context(), u, "hash"))
	return u
}

// session begins a session of a user and returns its actor.
func (f *testService) session(u account.User) core.Actor {
	f.t.Helper()
	_, token, err := f.sessions.Begin(f.t.Context(), u.ID, "", "")
	f.must(err)
	actor, err := f.sessions.Authenticate(f.t.Context(), token)
	f.must(err)
	return actor
}

// enrol registers a passkey for the user of an actor.
func (f *testService) enrol(actor core.Actor, a *authenticator) passkey.Passkey {
	f.t.Helper()
	c, err := f.BeginEnrol(f.t.Context(), actor)
	f.must(err)
	k, err := f.FinishEnrol(f.t.Context(), actor, c.Token, " Laptop ", a.register(c))
	f.must(err)
	return k
}

func TestPasskeySignsInWithoutAUserName(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, session, device := t.Context(), f.session(f.user), newAuthenticator(t)
	k := f.enrol(session, device)
	if k.Name != "Laptop" || k.UserID != f.user.ID || k.LastUsedAt != nil {
		t.Errorf("registered %+v", k)
	}
	c, err := f.BeginSignIn(ctx)
	f.must(err)
	if o := parse(t, c); len(o.Allow) != 0 || o.Verification != "required" {
		t.Errorf("options %+v", o)
	}
	f.clock.Advance(time.Minute)
	answer := device.assert(c)
	u, err := f.FinishSignIn(ctx, c.Token, answer)
	if err != nil || u.ID != f.user.ID {
		t.Fatalf("signed in as %q, %v", u.ID, err)
	}
	if _, err := f.FinishSignIn(ctx, c.Token, answer); !errors.Is(err, signin.ErrPending) {
		t.Errorf("replayed response: %v", err)
	}
	list, err := f.List(ctx, session)
	if err != nil || len(list) != 1 || list[0].LastUsedAt == nil || !list[0].LastUsedAt.Equal(f.clock.Now()) {
		t.Errorf("list %+v, %v", list, err)
	}
	entries, err := f.audit.List(ctx, f.user.ID, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Event != audit.PasskeyAdded ||
		!strings.Contains(entries[0].Detail, k.ID) {
		t.Errorf("audit entries %+v, %v", entries, err)
	}
}

// TestInvalidResponsesAreRejected misuses a registered authenticator in every way that the server must detect.
func TestInvalidResponsesAreRejected(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, device, other := t.Context(), newAuthenticator(t), newAuthenticator(t)
	f.enrol(f.session(f.user), device)
	sibling := f.newUser("bert@example.org")
	for name, misuse := range map[string]func(a *authenticator){
		"another origin":            func(a *authenticator) { a.origin = "https://evil.example" },
		"another port":              func(a *authenticator) { a.origin = "https://carrel.test:8443" },
		"another relying party":     func(a *authenticator) { a.rpID = "evil.example" },
		"no user verification":      func(a *authenticator) { a.flags = userPresent },
		"no user presence":          func(a *authenticator) { a.flags = userVerified },
		"another key":               func(a *authenticator) { a.key = other.key },
		"an unknown credential":     func(a *authenticator) { a.id = other.id },
		"the handle of another":     func(a *authenticator) { a.handle = []byte(sibling.ID) },
		"an unknown handle":         func(a *authenticator) { a.handle = []byte("usr_none") },
		"a counter that went back":  func(a *authenticator) { a.count = 0 },
		"the flags of registration": func(a *authenticator) { a.flags |= attestedData },
	} {
		c, err := f.BeginSignIn(ctx)
		f.must(err)
		copied := *device
		copied.count += 10
		misuse(&copied)
		if u, err := f.FinishSignIn(ctx, c.Token, copied.assert(c)); !isErrPasskey(err) || u.ID != "" {
			t.Errorf("%s: user %q, %v", name, u.ID, err)
		}
	}
	first, err := f.BeginSignIn(ctx)
	f.must(err)
	second, err := f.BeginSignIn(ctx)
	f.must(err)
	if _, err := f.FinishSignIn(ctx, second.Token, device.assert(first)); !isErrPasskey(err) {
		t.Errorf("the response to another challenge: %v", err)
	}
	for _, junk := range []string{"", "{}", "[]", "null", `{"id":"x"}`, "\x00\xff"} {
		c, err := f.BeginSignIn(ctx)
		f.must(err)
		if _, err := f.FinishSignIn(ctx, c.Token, []byte(junk)); !isErrPasskey(err) {
			t.Errorf("%q: %v", junk, err)
		}
	}
	c, err := f.BeginSignIn(ctx)
	f.must(err)
	if _, err := f.FinishSignIn(ctx, c.Token, device.assert(c)); err != nil {
		t.Errorf("the honest authenticator afterwards: %v", err)
	}
}

func TestSignInWithAPasskeyOfADisabledAccountFails(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, device := t.Context(), newAuthenticator(t)
	f.enrol(f.session(f.user), device)
	f.must(f.db.DisableUser(ctx, f.user.ID, f.clock.Now()))
	c, err := f.BeginSignIn(ctx)
	f.must(err)
	if _, err := f.FinishSignIn(ctx, c.Token, device.assert(c)); !isErrPasskey(err) {
		t.Errorf("%v", err)
	}
}

func TestProofIsBoundToItsSession(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, session, device := t.Context(), f.session(f.user), newAuthenticator(t)
	if _, err := f.BeginProof(ctx, session); !core.IsKind(err, core.KindConflict) {
		t.Errorf("without a passkey: %v", err)
	}
	k := f.enrol(session, device)
	c, err := f.BeginProof(ctx, session)
	f.must(err)
	if o := parse(t, c); len(o.Allow) != 1 || o.Allow[0].ID != encode(k.CredentialID) {
		t.Errorf("allowed credentials %+v", o.Allow)
	}
	if err := f.FinishProof(ctx, f.session(f.user), c.Token, device.assert(c)); !errors.Is(err, signin.ErrPending) {
		t.Errorf("in another session of the user: %v", err)
	}
	c, err = f.BeginProof(ctx, session)
	f.must(err)
	f.must(f.FinishProof(ctx, session, c.Token, device.assert(c)))
	stranger := f.session(f.newUser("bert@example.org"))
	theirs := newAuthenticator(t)
	f.enrol(stranger, theirs)
	c, err = f.BeginProof(ctx, session)
	f.must(err)
	if err := f.FinishProof(ctx, session, c.Token, theirs.assert(c)); !isErrPasskey(err) {
		t.Errorf("with the passkey of another user: %v", err)
	}
	c, err = f.BeginSignIn(ctx)
	f.must(err)
	if err := f.FinishProof(ctx, session, c.Token, device.assert(c)); !errors.Is(err, signin.ErrPending) {
		t.Errorf("with the challenge of a sign-in: %v", err)
	}
}

func TestRegistrationVerifiesTheResponse(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, session := t.Context(), f.session(f.user)
	for name, misuse := range map[string]func(a *authenticator){
		"another origin":        func(a *authenticator) { a.origin = "https://evil.example" },
		"another relying party": func(a *authenticator) { a.rpID = "evil.example" },
		"no user verification":  func(a *authenticator) { a.flags = userPresent },
	} {
		c, err := f.BeginEnrol(ctx, session)
		f.must(err)
		device := newAuthenticator(t)
		misuse(device)
		if _, err := f.FinishEnrol(ctx, session, c.Token, "n", device.register(c)); !isErrPasskey(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	device := newAuthenticator(t)
	k := f.enrol(session, device)
	c, err := f.BeginEnrol(ctx, session)
	f.must(err)
	if o := parse(t, c); len(o.Exclude) != 1 || o.Exclude[0].ID != encode(k.CredentialID) {
		t.Errorf("excluded credentials %+v", o.Exclude)
	}
	if _, err := f.FinishEnrol(ctx, session, c.Token, "again", device.register(c)); !core.IsKind(err, core.KindConflict) {
		t.Errorf("a registered credential: %v", err)
	}
	for _, name := range []string{"", " ", strings.Repeat("é", 101), "a\x00"} {
		if _, err := f.FinishEnrol(ctx, session, "unused", name, nil); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestPasskeysAreRenamedAndRemovedByTheirOwner(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, session, device := t.Context(), f.session(f.user), newAuthenticator(t)
	stranger := f.session(f.newUser("bert@example.org"))
	k := f.enrol(session, device)
	if _, err := f.Rename(ctx, stranger, k.ID, "Mine"); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("renamed by another user: %v", err)
	}
	if err := f.Remove(ctx, stranger, k.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("removed by another user: %v", err)
	}
	if got, err := f.Rename(ctx, session, k.ID, " Phone "); err != nil || got.Name != "Phone" {
		t.Errorf("renamed to %+v, %v", got, err)
	}
	f.must(f.Remove(ctx, session, k.ID))
	c, err := f.BeginSignIn(ctx)
	f.must(err)
	if _, err := f.FinishSignIn(ctx, c.Token, device.assert(c)); !isErrPasskey(err) {
		t.Errorf("a removed passkey: %v", err)
	}
}

func TestPasskeySettingsRequireAFreshSession(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	ctx, stale := t.Context(), f.session(f.user)
	k := f.enrol(stale, newAuthenticator(t))
	key := stale
	key.Credential = core.CredentialKey
	f.clock.Advance(core.ProofLife)
	for name, actor := range map[string]core.Actor{"stale session": stale, "API key": key, "no credential": {}} {
		_, begin := f.BeginEnrol(ctx, actor)
		_, finish := f.FinishEnrol(ctx, actor, "", "n", nil)
		for operation, err := range map[string]error{"begin": begin, "finish": finish, "remove": f.Remove(ctx, actor, k.ID)} {
			if !core.IsKind(err, core.KindForbidden) && !core.IsKind(err, core.KindUnauthenticated) {
				t.Errorf("%s, %s: %v", name, operation, err)
			}
		}
	}
	if list, err := f.List(ctx, stale); err != nil || len(list) != 1 {
		t.Errorf("list in a stale session: %v, %v", list, err)
	}
}

func TestUserHasAtMostTwentyPasskeys(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	session := f.session(f.user)
	for range 20 {
		f.enrol(session, newAuthenticator(t))
	}
	if _, err := f.BeginEnrol(t.Context(), session); !core.IsKind(err, core.KindConflict) {
		t.Errorf("passkey 21: %v", err)
	}
}

func TestPasskeysNeedASecureContextAndAHostName(t *testing.T) {
	t.Parallel()
	f := newTestService(t)
	session := f.session(f.user)
	var available []string
	for _, base := range []string{
		"https://carrel.test", "https://carrel.test:8443/x", "http://localhost:8080", "http://carrel.localhost",
		"http://carrel.test", "https://192.0.2.1", "https://[2001:db8::1]", "http://127.0.0.1:8080",
	} {
		deps := f.deps
		deps.BaseURL = base
		s, err := passkey.New(deps)
		f.must(err)
		_, begin := s.BeginEnrol(t.Context(), session)
		_, signIn := s.BeginSignIn(t.Context())
		if ok := s.Available(); ok != (begin == nil) || ok != (signIn == nil) {
			t.Errorf("%s: available %v, but %v and %v", base, ok, begin, signIn)
		}
		if s.Available() {
			available = append(available, base)
		}
	}
	want := []string{
		"https://carrel.test",
		"https://carrel.test:8443/x",
		"http://localhost:8080",
		"http://carrel.localhost",
	}
	if !slices.Equal(available, want) {
		t.Errorf("available at %v", available)
	}
}

func TestNewPanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	testkit.RequiresDeps(t, newTestService(t).deps, func(d passkey.Deps) { _, _ = passkey.New(d) })
}

// isErrPasskey reports whether err is ErrPasskey with any cause.
func isErrPasskey(err error) bool {
	e := core.AsError(err)
	return e.Code == passkey.ErrPasskey.Code && e.Detail == passkey.ErrPasskey.Detail
}
