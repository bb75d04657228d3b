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
