package signin_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

func TestResetCodeSetsThePasswordOnceAndEndsAllSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, operator, session := t.Context(), core.Operator(""), f.session()
	_, replaced, err := f.Resets.Issue(ctx, operator, f.user.ID, false)
	f.must(err)
	reset, code, err := f.Resets.Issue(ctx, operator, f.user.ID, false)
	f.must(err)
	if !reset.ExpiresAt.Equal(f.clock.Now().Add(24 * time.Hour)) {
		t.Errorf("expires at %v", reset.ExpiresAt)
	}
	for name, bad := range map[string]string{"replaced": replaced, "empty": "", "unknown": "0000-0000-0000-0000", "junk": "\x00\xff"} {
		if _, err := f.Resets.Redeem(ctx, bad, "another password"); !errors.Is(err, signin.ErrReset) {
			t.Errorf("%s code: %v", name, err)
		}
	}
	userID, err := f.Resets.Redeem(ctx, strings.ToLower(code), "another password")
	if err != nil || userID != f.user.ID {
		t.Fatalf("redeemed for %q, %v", userID, err)
	}
	if f.alive(session) {
		t.Error("the session is still active")
	}
	if _, _, err := f.Passwords.Verify(ctx, email, "another password"); err != nil {
		t.Errorf("new password: %v", err)
	}
	if _, err := f.Resets.Redeem(ctx, code, "a third password"); !errors.Is(err, signin.ErrReset) {
		t.Errorf("used code: %v", err)
	}
	want := []audit.Event{audit.ResetIssued, audit.ResetIssued, audit.PasswordReset}
	if got := f.events(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestResetCodeExpiresAfterADay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, code, err := f.Resets.Issue(t.Context(), core.Operator(""), f.user.ID, false)
	f.must(err)
	f.clock.Advance(signin.ResetLife)
	if _, err := f.Resets.Redeem(t.Context(), code, "another password"); !errors.Is(err, signin.ErrReset) {
		t.Errorf("after a day: %v", err)
	}
}

func TestConcurrentRedemptionsOfAResetSucceedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, code, err := f.Resets.Issue(t.Context(), core.Operator(""), f.user.ID, false)
	f.must(err)
	var redeemed atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			switch _, err := f.Resets.Redeem(t.Context(), code, "another password"); {
			case err == nil:
				redeemed.Add(1)
			case !errors.Is(err, signin.ErrReset):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := redeemed.Load(); n != 1 {
		t.Errorf("redeemed %d times", n)
	}
}

func TestResetRemovesFactorsOnlyIfIssuedSo(t *testing.T) {
	t.Parallel()
	for name, clearFactors := range map[string]bool{"keeps": false, "removes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.enrol()
			_, code, err := f.Resets.Issue(t.Context(), core.Operator(""), f.user.ID, clearFactors)
			f.must(err)
			_, err = f.Resets.Redeem(t.Context(), code, "another password")
			f.must(err)
			if needed, err := f.Factors.Needed(t.Context(), f.user.ID); err != nil || needed == clearFactors {
				t.Errorf("second factor needed: %v, %v", needed, err)
			}
		})
	}
}

func TestOnlyAdministratorsIssueResets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, _, err := f.Resets.Issue(t.Context(), f.session(), f.user.ID, false); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member: %v", err)
	}
	_, _, err := f.Resets.Issue(t.Context(), core.Operator(""), "usr_none", false)
	if !core.IsKind(err, core.KindNotFound) {
		t.Errorf("for a missing user: %v", err)
	}
}
