package upstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/secretbox"
	"carrel/internal/signin"
	"carrel/internal/signin/upstream"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/testkit/oidcfake"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const email = "ada@example.org"

// testService is the service with a provider, on a database with one user.
type testService struct {
	*upstream.Service
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	audit    *audit.Log
	provider *oidcfake.Provider
	deps     upstream.Deps
	user     account.User
}

func newTestService(t *testing.T, signUp bool) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	f := &testService{t: t, db: db, clock: testkit.NewClock()}
	f.audit = audit.New(audit.Deps{Store: db, Clock: f.clock, Log: slog.New(slog.DiscardHandler)})
	f.provider = oidcfake.New(t, f.clock.Now)
	sealer, err := secretbox.New(make([]byte, 32), "test")
	f.must(err)
	signIn := signin.NewService(signin.Deps{
		Store:  db,
		Clock:  f.clock,
		Audit:  f.audit,
		Sealer: sealer,
		Key:    []byte("key"),
		Sessions: credential.NewSessions(credential.SessionDeps{
			Store: db, Clock: f.clock, Audit: f.audit, HashKey: []byte("key"),
		}),
	})
	f.deps = upstream.Deps{
		Store: db, Pending: signIn.Pending, Clock: f.clock, Audit: f.audit, Log: slog.New(slog.DiscardHandler),
		Options: upstream.Options{
			Issuer: f.provider.URL, ClientID: oidcfake.ClientID, ClientSecret: oidcfake.ClientSecret, Name: "Example University",
			RedirectURL: "https://carrel.test/back", SignUp: signUp, Plan: "free",
		},
	}
	f.Service = upstream.New(f.deps)
	t.Cleanup(f.Close)
	f.user = f.newUser(email, true)
	return f
}

func (f *testService) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *testService) newUser(email string, verified bool) account.User {
	f.t.Helper()
	u := account.User{
		ID: core.NewID(core.PrefixUser), Email: email, EmailVerified: verified, Name: "Ada", Role: core.RoleMember,
		Plan: core.PlanOpen, CreatedAt: f.clock.Now(),
	}
	f.must(f.db.InsertUser(f.t.Context(), u, "hash"))
	return u
}

// signIn completes an authorization request for a user with these claims.
func (f *testService) signIn(actor core.Actor, claims map[string]any) (upstream.Arrival, error) {
	f.t.Helper()
	f.provider.SetClaims(claims)
	to, token, err := f.Begin(f.t.Context(), actor, "/after")
	f.must(err)
	return f.Finish(f.t.Context(), token, f.provider.Visit(to))
}

func ada() map[string]any {
	return map[string]any{"sub": "s-1", "email": email, "email_verified": true, "name": "Ada Lovelace"}
}

// code returns the code of an error, or "".
func code(err error) string {
	if err == nil {
		return ""
	}
	return core.AsError(err).Code
}

func TestVerifiedAddressIsLinkedOnceAndTheSubjectCountsAfterwards(t *testing.T) {
	t.Parallel()
	f := newTestService(t, false)
	arrival, err := f.signIn(core.Actor{}, ada())
	if err != nil || arrival.User.ID != f.user.ID || arrival.ReturnTo != "/after" || arrival.Proof ||
		arrival.Unlinked != (upstream.Identity{}) {
		t.Fatalf("first sign-in: %+v, %v", arrival, err)
	}
	if q := f.provider.LastRequest(); q.Has("prompt") || q.Has("max_age") {
		t.Errorf("a sign-in asks for a new authentication: %v", q)
	}
	moved := map[string]any{"sub": "s-1", "email": "new@example.org", "email_verified": false}
	arrival, err = f.signIn(core.Actor{}, moved)
	if err != nil || arrival.User.ID != f.user.ID {
		t.Errorf("linked subject with another address: %+v, %v", arrival, err)
	}
	_, err = f.signIn(core.Actor{}, map[string]any{"sub": "s-2", "email": email, "email_verified": true})
	if code(err) != "upstream_other" {
		t.Errorf("another subject with the address: %v", err)
	}
	entries, err := f.audit.List(t.Context(), f.user.ID, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Event != audit.UpstreamLinked {
		t.Errorf("audit entries %+v, %v", entries, err)
	}
	f.must(f.db.DisableUser(t.Context(), f.user.ID, f.clock.Now()))
	if _, err := f.signIn(core.Actor{}, ada()); code(err) != "upstream_disabled" {
		t.Errorf("disabled account: %v", err)
	}
}

func TestUnverifiedAddressOfAnAccountIsNotLinked(t *testing.T) {
	t.Parallel()
	f := newTestService(t, true)
	chosen := f.newUser("chosen@example.org", false)
	claims := map[string]any{"sub": "s-9", "email": chosen.Email, "email_verified": true}
	arrival, err := f.signIn(core.Actor{}, claims)
	want := upstream.Identity{Issuer: f.provider.URL, Subject: "s-9"}
	if err != nil || arrival.User.ID != chosen.ID || arrival.Unlinked != want {
		t.Fatalf("arrival %+v, %v", arrival, err)
	}
	if _, err := f.db.UserByIdentity(t.Context(), want); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("linked without the password: %v", err)
	}
	f.must(f.Link(t.Context(), arrival.Unlinked, chosen.ID))
	if arrival, err := f.signIn(core.Actor{}, claims); err != nil || arrival.User.ID != chosen.ID ||
		arrival.Unlinked != (upstream.Identity{}) {
		t.Errorf("after linking: %+v, %v", arrival, err)
	}
}

func TestAddressMustBeVerifiedByTheProvider(t *testing.T) {
	t.Parallel()
	f := newTestService(t, true)
	for name, verified := range map[string]any{
		"false": false, "text false": "false", "number": 1, "null": nil, "text 1": "1",
	} {
		claims := map[string]any{"sub": "s-" + name, "email": email, "email_verified": verified}
		if _, err := f.signIn(core.Actor{}, claims); code(err) != "upstream_unverified" {
			t.Errorf("email_verified is %s: %v", name, err)
		}
	}
	for name, claims := range map[string]map[string]any{
		"claim missing":   {"sub": "s", "email": email},
		"address missing": {"sub": "s", "email_verified": true},
	} {
		if _, err := f.signIn(core.Actor{}, claims); code(err) != "upstream_unverified" {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := map[string]any{"sub": "s-1", "email": "ADA@example.org", "email_verified": "true"}
	if arrival, err := f.signIn(core.Actor{}, text); err != nil ||
		arrival.User.ID != f.user.ID {
		t.Errorf("verified as text: %+v, %v", arrival, err)
	}
}

func TestSignUpCreatesAMemberOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	claims := map[string]any{"sub": "s-7", "email": "New@Example.org", "email_verified": true}
	if _, err := newTestService(t, false).signIn(core.Actor{}, claims); code(err) != "upstream_unknown" {
		t.Errorf("sign-up not allowed: %v", err)
	}
	f := newTestService(t, true)
	arrival, err := f.signIn(core.Actor{}, claims)
	if u := arrival.User; err != nil || u.Email != "new@example.org" || u.Name != "New" || u.Role != core.RoleMember ||
		u.Plan != "free" ||
		!u.EmailVerified {
		t.Fatalf("created %+v, %v", arrival.User, err)
	}
	if again, err := f.signIn(core.Actor{}, claims); err != nil || again.User.ID != arrival.User.ID {
		t.Errorf("second sign-in: %+v, %v", again.User, err)
	}
	for name, bad := range map[string]map[string]any{
		"address": {"sub": "s-8", "email": "not an address", "email_verified": true},
		"name":    {"sub": "s-8", "email": "x@example.org", "email_verified": true, "name": strings.Repeat("x", 201)},
	} {
		if _, err := f.signIn(core.Actor{}, bad); code(err) != "upstream_unverified" {
			t.Errorf("invalid %s: %v", name, err)
		}
	}
}

// TestInvalidResponsesAreRefused covers responses and ID tokens that must not sign anyone in.
func TestInvalidResponsesAreRefused(t *testing.T) {
	t.Parallel()
	f := newTestService(t, true)
	past := f.clock.Now().Add(-time.Hour).Unix()
	for name, change := range map[string]map[string]any{
		"issuer": {"iss": "https://evil.example"}, "audience": {"aud": "another client"}, "nonce": {"nonce": "replayed"},
		"expired": {"exp": past}, "no subject": {"sub": ""},
	} {
		claims := ada()
		for k, v := range change {
			claims[k] = v
		}
		if _, err := f.signIn(core.Actor{}, claims); code(err) != "upstream_refused" {
			t.Errorf("ID token with a wrong %s: %v", name, err)
		}
	}
	public, err := f.provider.PublicKey().Bytes()
	f.must(err)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	f.must(err)
	for name, spoil := range map[string]func(*jose.SigningKey){
		"another key":       func(k *jose.SigningKey) { k.Key = jose.JSONWebKey{Key: stranger, KeyID: "1"} },
		"an unknown key id": func(k *jose.SigningKey) { k.Key = jose.JSONWebKey{Key: stranger, KeyID: "2"} },
		"the client secret": func(k *jose.SigningKey) {
			*k = jose.SigningKey{Algorithm: jose.HS256, Key: []byte(oidcfake.ClientSecret + strings.Repeat("x", 32))}
		},
		"the public key, HMAC": func(k *jose.SigningKey) { *k = jose.SigningKey{Algorithm: jose.HS256, Key: public} },
	} {
		f.provider.SpoilSignatures(spoil)
		if _, err := f.signIn(core.Actor{}, ada()); code(err) != "upstream_refused" {
			t.Errorf("signed with %s: %v", name, err)
		}
	}
	f.provider.SpoilSignatures(nil)
	f.provider.SetClaims(ada())
	for name, change := range map[string]func(url.Values){
		"another state":    func(q url.Values) { q.Set("state", "x") },
		"no state":         func(q url.Values) { q.Del("state") },
		"another issuer":   func(q url.Values) { q.Set("iss", "https://evil.example") },
		"an error":         func(q url.Values) { q.Set("error", "access_denied") },
		"no code":          func(q url.Values) { q.Del("code") },
		"an invented code": func(q url.Values) { q.Set("code", "x") },
	} {
		to, token, err := f.Begin(t.Context(), core.Actor{}, "/")
		f.must(err)
		q := f.provider.Visit(to)
		change(q)
		if _, err := f.Finish(t.Context(), token, q); code(err) != "upstream_refused" {
			t.Errorf("response with %s: %v", name, err)
		}
	}
	if _, err := f.signIn(core.Actor{}, ada()); err != nil {
		t.Errorf("a valid response afterwards: %v", err)
	}
}

func TestResponseIsUsedOnceByTheBrowserThatBegan(t *testing.T) {
	t.Parallel()
	f := newTestService(t, false)
	f.provider.SetClaims(ada())
	to, token, err := f.Begin(t.Context(), core.Actor{}, "/")
	f.must(err)
	q := f.provider.Visit(to)
	_, other, err := f.Begin(t.Context(), core.Actor{}, "/")
	f.must(err)
	if _, err := f.Finish(t.Context(), other, q); code(err) != "upstream_refused" {
		t.Errorf("with the token of another request: %v", err)
	}
	if _, err := f.Finish(t.Context(), token, q); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Finish(t.Context(), token, q); code(err) != "expired" {
		t.Errorf("a second time: %v", err)
	}
}

func TestStepUpRequiresANewAuthenticationOfTheSameUser(t *testing.T) {
	t.Parallel()
	f := newTestService(t, false)
	if _, err := f.signIn(core.Actor{}, ada()); err != nil {
		t.Fatal(err)
	}
	actor := core.Actor{UserID: f.user.ID, Credential: core.CredentialSession, CredentialID: "ses_1"}
	arrival, err := f.signIn(actor, ada())
	if err != nil || !arrival.Proof || arrival.UserID != f.user.ID || arrival.SessionID != "ses_1" ||
		arrival.User.ID != f.user.ID {
		t.Errorf("arrival %+v, %v", arrival, err)
	}
	if q := f.provider.LastRequest(); q.Get("prompt") != "login" || q.Get("max_age") != "0" {
		t.Errorf("request %v", q)
	}
	stale := ada()
	stale["auth_time"] = f.clock.Now().Add(-2 * time.Minute).Unix()
	if _, err := f.signIn(actor, stale); code(err) != "upstream_refused" {
		t.Errorf("an older authentication: %v", err)
	}
	missing := ada()
	missing["auth_time"] = nil
	if _, err := f.signIn(actor, missing); code(err) != "upstream_refused" {
		t.Errorf("without auth_time: %v", err)
	}
	_, err = f.signIn(actor, map[string]any{"sub": "s-2", "email": email, "email_verified": true})
	if code(err) != "upstream_refused" {
		t.Errorf("another user of the provider: %v", err)
	}
}

func TestProviderOutageIsRetriedOnTheNextSignIn(t *testing.T) {
	t.Parallel()
	f := newTestService(t, false)
	f.provider.SetDown(true)
	if _, _, err := f.Begin(t.Context(), core.Actor{}, "/"); code(err) != "upstream_away" {
		t.Errorf("during the outage: %v", err)
	}
	f.provider.SetDown(false)
	if _, err := f.signIn(core.Actor{}, ada()); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

func TestNewPanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	testkit.RequiresDeps(t, newTestService(t, false).deps, func(d upstream.Deps) { upstream.New(d) })
}
