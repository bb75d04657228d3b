package signin_test

import (
	"encoding/base32"
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

// app computes the codes of an authenticator app from its base32 secret.
func (f *fixture) app(secret string) func() string {
	f.t.Helper()
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	f.must(err)
	return func() string { return signin.TOTPCodeAt(raw, f.clock.Now()) }
}

// enrol adds an authenticator app for the user and returns its code function and the recovery codes. The clock is moved
// to the next time step, because the step of the confirmation is used.
func (f *fixture) enrol() (code func() string, recovery []string) {
	f.t.Helper()
	session := f.session()
	e, err := f.Factors.Begin(f.t.Context(), session)
	f.must(err)
	code = f.app(e.Secret)
	recovery, err = f.Factors.Confirm(f.t.Context(), session, code())
	f.must(err)
	f.clock.Advance(30 * time.Second)
	return code, recovery
}

func TestAuthenticatorAppIsRequiredOnlyAfterConfirmation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, session := t.Context(), f.session()
	needed := func(want bool) {
		t.Helper()
		if got, err := f.Factors.Needed(ctx, f.user.ID); err != nil || got != want {
			t.Errorf("needed: %v, %v, want %v", got, err, want)
		}
	}
	needed(false)
	if _, err := f.Factors.Confirm(ctx, session, "123456"); !core.IsKind(err, core.KindConflict) {
		t.Errorf("confirmation without a secret: %v", err)
	}
	first, err := f.Factors.Begin(ctx, session)
	f.must(err)
	e, err := f.Factors.Begin(ctx, session)
	if err != nil || e.Secret == first.Secret || !strings.Contains(e.URI, e.Secret) {
		t.Errorf("second secret %+v after %+v, %v", e, first, err)
	}
	if again, err := f.Factors.Unconfirmed(ctx, session); err != nil || again != e {
		t.Errorf("shown again as %+v, %v", again, err)
	}
	needed(false)
	code := f.app(e.Secret)
	if _, err := f.Factors.Confirm(ctx, session, f.app(first.Secret)()); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a code of the replaced secret: %v", err)
	}
	typed := code()[:3] + " " + code()[3:]
	recovery, err := f.Factors.Confirm(ctx, session, typed)
	if err != nil || len(recovery) != 10 || len(slices.Compact(slices.Sorted(slices.Values(recovery)))) != 10 {
		t.Errorf("recovery codes %v, %v", recovery, err)
	}
	needed(true)
	if _, err := f.Factors.Begin(ctx, session); !core.IsKind(err, core.KindConflict) {
		t.Errorf("a second app: %v", err)
	}
	if _, err := f.Factors.Unconfirmed(ctx, session); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("the secret of a confirmed app: %v", err)
	}
	if s, err := f.Factors.Status(ctx, session); err != nil || !s.Offered || s.Since == nil || s.RecoveryCodes != 10 {
		t.Errorf("status %+v, %v", s, err)
	}
	f.must(f.Factors.Remove(ctx, session))
	needed(false)
	if err := f.Factors.Check(ctx, f.user.ID, recovery[0]); !errors.Is(err, signin.ErrCode) {
		t.Errorf("a recovery code after the removal: %v", err)
	}
	want := []audit.Event{audit.TOTPAdded, audit.TOTPRemoved}
	if got := f.events(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestCodeIsAcceptedOnceAndNeverAnOlderOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code, _ := f.enrol()
	ctx := t.Context()
	before := code()
	f.clock.Advance(30 * time.Second)
	current := code()
	f.must(f.Factors.Check(ctx, f.user.ID, current))
	for name, bad := range map[string]string{
		"used code": current, "code of an earlier step": before, "empty": "", "too short": current[:5], "letters": "abcdef",
	} {
		if err := f.Factors.Check(ctx, f.user.ID, bad); !errors.Is(err, signin.ErrCode) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.clock.Advance(30 * time.Second)
	next := code()
	f.clock.Advance(90 * time.Second)
	if err := f.Factors.Check(ctx, f.user.ID, next); !errors.Is(err, signin.ErrCode) {
		t.Errorf("expired code: %v", err)
	}
	if err := f.Factors.Check(ctx, "usr_none", code()); !errors.Is(err, signin.ErrCode) {
		t.Errorf("user without an app: %v", err)
	}
}

func TestConcurrentUsesOfACodeSucceedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code, recovery := f.enrol()
	for name, typed := range map[string]string{"app": code(), "recovery code": recovery[0]} {
		var accepted atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch err := f.Factors.Check(t.Context(), f.user.ID, typed); {
				case err == nil:
					accepted.Add(1)
				case !errors.Is(err, signin.ErrCode):
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
		if n := accepted.Load(); n != 1 {
			t.Errorf("%s: accepted %d times", name, n)
		}
	}
}

func TestRecoveryCodeWorksOnceForItsUserOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, recovery := f.enrol()
	ctx := t.Context()
	other := f.newUser("bert@example.org")
	if err := f.Factors.Check(ctx, other.ID, recovery[0]); !errors.Is(err, signin.ErrCode) {
		t.Errorf("for another user: %v", err)
	}
	typed := strings.ToLower(strings.ReplaceAll(recovery[0], "-", " "))
	f.must(f.Factors.Check(ctx, f.user.ID, typed))
	if err := f.Factors.Check(ctx, f.user.ID, recovery[0]); !errors.Is(err, signin.ErrCode) {
		t.Errorf("a second time: %v", err)
	}
	session := f.session()
	if s, err := f.Factors.Status(ctx, session); err != nil || s.RecoveryCodes != 9 {
		t.Errorf("%d codes are left, %v", s.RecoveryCodes, err)
	}
	renewed, err := f.Factors.Renew(ctx, session)
	if err != nil || len(renewed) != 10 {
		t.Fatalf("renewed %v, %v", renewed, err)
	}
	if err := f.Factors.Check(ctx, f.user.ID, recovery[1]); !errors.Is(err, signin.ErrCode) {
		t.Errorf("a replaced code: %v", err)
	}
	f.must(f.Factors.Check(ctx, f.user.ID, renewed[1]))
	want := []audit.Event{audit.TOTPAdded, audit.RecoveryCodeUsed, audit.RecoveryCodesMade, audit.RecoveryCodeUsed}
	if got := f.events(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestSecretsAreStoredEncryptedAndCodesHashed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session := f.session()
	e, err := f.Factors.Begin(t.Context(), session)
	f.must(err)
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(e.Secret)
	f.must(err)
	stored, err := f.db.TOTP(t.Context(), f.user.ID)
	if err != nil || strings.Contains(string(stored.Secret), string(raw)) {
		t.Errorf("stored in clear text, %v", err)
	}
}

func TestInstallationWithoutTOTPStillChecksExistingApps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code, _ := f.enrol()
	deps := f.deps()
	deps.OfferTOTP = false
	off := signin.NewService(deps)
	if needed, err := off.Factors.Needed(t.Context(), f.user.ID); err != nil || !needed {
		t.Errorf("needed: %v, %v", needed, err)
	}
	f.must(off.Factors.Check(t.Context(), f.user.ID, code()))
	session := f.session()
	f.must(off.Factors.Remove(t.Context(), session))
	if _, err := off.Factors.Begin(t.Context(), session); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a new app: %v", err)
	}
	if _, err := off.Factors.Renew(t.Context(), session); !core.IsKind(err, core.KindConflict) {
		t.Errorf("recovery codes without an app: %v", err)
	}
}
