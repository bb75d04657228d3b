package credential_test

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

func newSessions(f fixture, hashKey string) *credential.Sessions {
	return credential.NewSessions(
		credential.SessionDeps{Store: f.db, Clock: f.clock, Audit: f.audit, HashKey: []byte(hashKey)},
	)
}

func TestSessionIsFoundBySecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := newSessions(f, "secret")
	made, token, err := s.Begin(t.Context(), f.user.UserID, "203.0.113.7", "Browser/1\x00\n\xff"+strings.Repeat("é", 300))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(made.Agent, "Browser/1é") || len([]rune(made.Agent)) != 200 {
		t.Errorf("user agent %q", made.Agent)
	}
	found, err := s.Find(t.Context(), token)
	if err != nil || found.Session != made || found.User.ID != f.user.UserID {
		t.Errorf("found %+v, %v", found, err)
	}
	_, key := f.key(t, credential.NewKey{Name: "k"})
	other := newSessions(f, "another secret")
	_, foreign := other.Find(t.Context(), token)
	if !core.IsKind(foreign, core.KindUnauthenticated) {
		t.Errorf("with another hash key: %v", foreign)
	}
	for _, bad := range []string{"", "x", key, token[:len(token)-1], token + "0", "crls_" + strings.Repeat("0", 38)} {
		if _, err := s.Find(t.Context(), bad); !core.IsKind(err, core.KindUnauthenticated) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := f.Authenticate(t.Context(), token); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("session accepted as a key: %v", err)
	}
}

func TestSessionUseIsStoredEveryFiveMinutesAndProofImmediately(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := newSessions(f, "secret")
	made, token, err := s.Begin(t.Context(), f.user.UserID, "", "")
	if err != nil {
		t.Fatal(err)
	}
	seen := func() time.Time {
		t.Helper()
		if _, err := s.Find(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), f.user.UserID)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].SeenAt
	}
	f.clock.Advance(4 * time.Minute)
	if got := seen(); !got.Equal(made.SeenAt) {
		t.Errorf("every use is stored: %v", got)
	}
	at := f.clock.Advance(time.Minute)
	if got := seen(); !got.Equal(at) {
		t.Errorf("last used at %v, want %v", got, at)
	}
	if err := s.StepUp(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(t.Context(), token); err != nil || !found.Session.AuthenticatedAt.Equal(at) {
		t.Errorf("authenticated at %v, error %v", found.Session.AuthenticatedAt, err)
	}
	f.clock.Advance(credential.SessionLife)
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), token); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("after its lifetime: %v", err)
	}
}

func TestSessionExpiresWhenIdleAndAfterItsLifetime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := newSessions(f, "secret")
	begin := func() string {
		t.Helper()
		_, token, err := s.Begin(t.Context(), f.user.UserID, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	idle, used := begin(), begin()
	for range 8 { // 8 times 11 days are less than 90
		f.clock.Advance(11 * 24 * time.Hour)
		if _, err := s.Find(t.Context(), used); err != nil {
			t.Fatalf("a session in use: %v", err)
		}
	}
	if _, err := s.Find(t.Context(), idle); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("an idle session: %v", err)
	}
	f.clock.Advance(2 * 24 * time.Hour)
	if _, err := s.Find(t.Context(), used); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("a session in use after 90 days: %v", err)
	}
}

func TestUserEndsTheirOwnSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, ctx := newSessions(f, "secret"), t.Context()
	begin := func(userID string) core.Actor {
		t.Helper()
		_, token, err := s.Begin(ctx, userID, "", "")
		if err != nil {
			t.Fatal(err)
		}
		actor, err := s.Authenticate(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return actor
	}
	count := func(actor core.Actor) int {
		t.Helper()
		list, err := s.Own(ctx, actor)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	current, second, third := begin(f.user.UserID), begin(f.user.UserID), begin(f.user.UserID)
	stranger := begin(f.newUser(t))
	if err := s.EndOwn(ctx, stranger, current.CredentialID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user ends it: %v", err)
	}
	if err := s.EndOwn(ctx, current, second.CredentialID); err != nil || count(current) != 2 {
		t.Errorf("%d sessions are left, %v", count(current), err)
	}
	if err := s.EndOwnOthers(ctx, third); err != nil || count(third) != 1 {
		t.Errorf("%d sessions are left, %v", count(third), err)
	}
	key := third
	key.Credential, key.CredentialID = core.CredentialKey, "crd_key"
	if err := s.EndOwnOthers(ctx, key); err != nil || count(key) != 0 {
		t.Errorf("%d sessions are left after a key ended all, %v", count(key), err)
	}
	if count(stranger) != 1 {
		t.Error("the session of another user was ended")
	}
	entries, err := f.audit.List(ctx, f.user.UserID, 0, 10)
	if err != nil || len(entries) != 3 || entries[0].Event != "session_ended" {
		t.Errorf("audit entries %+v, %v", entries, err)
	}
}

// Browsers accept the prefix __Host- only over HTTPS.
func TestSessionCookieHasTheHostPrefixOverHTTPS(t *testing.T) {
	t.Parallel()
	if https, plain := credential.SessionCookie(true), credential.SessionCookie(false); https != "__Host-carrel" ||
		plain != "carrel" {
		t.Errorf("%s and %s", https, plain)
	}
}
