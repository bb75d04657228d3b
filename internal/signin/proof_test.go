package signin_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

var home = netip.MustParseAddr("203.0.113.7")

// fresh reports whether the session of an actor may perform sensitive operations now.
func (f *fixture) fresh(actor core.Actor) bool {
	f.t.Helper()
	list, err := f.sessions.List(f.t.Context(), actor.UserID)
	f.must(err)
	for _, s := range list {
		if s.ID == actor.CredentialID {
			actor.AuthenticatedAt = s.AuthenticatedAt
		}
	}
	return signin.AllowOwnProved(actor, f.clock.Now()) == nil
}

func TestPasswordProofRefreshesTheSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, session := t.Context(), f.session()
	f.clock.Advance(time.Hour)
	if f.fresh(session) {
		t.Fatal("the session is still fresh after an hour")
	}
	if m, err := f.Proofs.Means(ctx, session); err != nil || !m.Password || m.Code {
		t.Errorf("means %+v, %v", m, err)
	}
	if err := f.Proofs.WithPassword(ctx, session, home, "wrong", ""); !errors.Is(err, signin.ErrProof) ||
		f.fresh(session) {
		t.Errorf("wrong password: %v", err)
	}
	f.must(f.Proofs.WithPassword(ctx, session, home, password, ""))
	if !f.fresh(session) {
		t.Error("the proof did not refresh the session")
	}
	want := []audit.Event{audit.StepUpFailed, audit.SteppedUp}
	if got := f.events(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestPasswordProofRequiresTheSecondFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code, recovery := f.enrol()
	ctx, session := t.Context(), f.session()
	f.clock.Advance(time.Hour)
	if m, err := f.Proofs.Means(ctx, session); err != nil || !m.Password || !m.Code {
		t.Errorf("means %+v, %v", m, err)
	}
	for range 20 { // more than the limit of a session: a missing code is not an attempt
		if err := f.Proofs.WithPassword(ctx, session, home, password, ""); !errors.Is(err, signin.ErrFactorNeeded) {
			t.Fatalf("without a code: %v", err)
		}
	}
	if err := f.Proofs.WithPassword(ctx, session, home, password, "000000"); !core.IsKind(err, core.KindInvalid) ||
		f.fresh(session) {
		t.Errorf("wrong code: %v", err)
	}
	if err := f.Proofs.WithPassword(ctx, session, home, "wrong", code()); !errors.Is(err, signin.ErrProof) ||
		f.fresh(session) {
		t.Errorf("wrong password: %v", err)
	}
	f.must(f.Proofs.WithPassword(ctx, session, home, password, recovery[0]))
	if !f.fresh(session) {
		t.Error("the proof did not refresh the session")
	}
}

func TestProofsAreLimitedPerSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, session := t.Context(), f.session()
	for i := range 10 {
		if err := f.Proofs.WithPassword(ctx, session, home, "wrong", ""); !errors.Is(err, signin.ErrProof) {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
	if err := f.Proofs.WithPassword(ctx, session, home, password, ""); !core.IsKind(err, core.KindRateLimited) {
		t.Errorf("attempt 11: %v", err)
	}
	f.must(f.Proofs.WithPassword(ctx, f.session(), home, password, ""))
	f.clock.Advance(time.Minute)
	f.must(f.Proofs.WithPassword(ctx, session, home, password, ""))
}

func TestProofRequiresASession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.session()
	key.Credential = core.CredentialKey
	for name, actor := range map[string]core.Actor{"an API key": key, "no credential": {}} {
		if err := f.Proofs.WithPassword(t.Context(), actor, home, password, ""); err == nil {
			t.Errorf("%s proves with a password", name)
		}
		if err := f.Proofs.Accept(t.Context(), actor, "passkey"); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := f.Proofs.Means(t.Context(), actor); err == nil {
			t.Errorf("%s reads the means", name)
		}
	}
}
