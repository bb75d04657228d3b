package credential_test

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

func newSessions(w world) *credential.Sessions {
	return credential.NewSessions(w.db, w.clock, []byte("secret"))
}

func TestASessionIsKnownByItsSecretAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newSessions(w)
	made, token, err := s.Begin(t.Context(), w.user.UserID, "203.0.113.7", "Browser/1\x00\n\xff"+strings.Repeat("é", 300))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(made.Agent, "Browser/1é") || len([]rune(made.Agent)) != 200 {
		t.Errorf("the browser calls itself %q", made.Agent)
	}
	found, err := s.Find(t.Context(), token)
	if err != nil || found.Session != made || found.User.ID != w.user.UserID {
		t.Errorf("found %+v, %v", found, err)
	}
	_, key := w.key(t, credential.NewKey{Name: "k"})
	other := credential.NewSessions(w.db, w.clock, []byte("another secret"))
	_, foreign := other.Find(t.Context(), token)
	if !core.IsKind(foreign, core.KindUnauthenticated) {
		t.Errorf("with another key of the hashes: %v", foreign)
	}
	for _, bad := range []string{"", "x", key, token[:len(token)-1], token + "0", "crls_" + strings.Repeat("0", 38)} {
		if _, err := s.Find(t.Context(), bad); !core.IsKind(err, core.KindUnauthenticated) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := w.Authenticate(t.Context(), token); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("a session passes for a key: %v", err)
	}
}

func TestUseIsNotedNowAndThenAndAProofAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newSessions(w)
	made, token, err := s.Begin(t.Context(), w.user.UserID, "", "")
	if err != nil {
		t.Fatal(err)
	}
	seen := func() time.Time {
		t.Helper()
		if _, err := s.Find(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), w.user.UserID)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].SeenAt
	}
	w.clock.Advance(4 * time.Minute)
	if got := seen(); !got.Equal(made.SeenAt) {
		t.Errorf("each use is written: %v", got)
	}
	at := w.clock.Advance(time.Minute)
	if got := seen(); !got.Equal(at) {
		t.Errorf("last used at %v, want %v", got, at)
	}
	if err := s.StepUp(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(t.Context(), token); err != nil || !found.Session.AuthenticatedAt.Equal(at) {
		t.Errorf("proved at %v, %v", found.Session.AuthenticatedAt, err)
	}
	w.clock.Advance(credential.SessionLife)
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), token); !core.IsKind(err, core.KindUnauthenticated) {
		t.Errorf("after its life: %v", err)
	}
}
