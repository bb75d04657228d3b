package signin_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/store"
)

func second[T any](_ T, err error) error { return err }

// TestEveryWayToSetAPasswordRejectsWeakOnes has one case for each function that stores a password.
func TestEveryWayToSetAPasswordRejectsWeakOnes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, operator, session := t.Context(), core.Operator(""), f.session()
	for name, set := range map[string]func(password string) error{
		"first account": func(password string) error {
			n := account.NewUser{Email: "first@example.org", Name: "Ada", Password: password}
			err := second(f.accounts.CreateFirst(ctx, n))
			if core.IsKind(err, core.KindConflict) {
				return nil // the password was accepted; only the account exists already
			}
			return err
		},
		"user create": func(password string) error {
			n := account.NewUser{Email: "second@example.org", Name: "Ada", Password: password}
			return second(f.accounts.Create(ctx, operator, n))
		},
		"user password": func(password string) error {
			return f.Passwords.Set(ctx, operator, f.user.ID, password, session.CredentialID)
		},
		"change password": func(password string) error { return f.Passwords.Change(ctx, session, password) },
		"reset": func(password string) error {
			_, code, err := f.Resets.Issue(ctx, operator, f.user.ID, false)
			f.must(err)
			return second(f.Resets.Redeem(ctx, code, password))
		},
	} {
		for _, weak := range []string{"password", "Password2026!", "ada@example", "carrel123", "12345678"} {
			err := set(weak)
			if e := core.AsError(err); !core.IsKind(err, core.KindInvalid) || len(e.Fields) != 1 ||
				e.Fields[0].Pointer != "/password" {
				t.Errorf("%s with %s: %v", name, weak, err)
			}
		}
		if err := set("a few words of mine"); err != nil {
			t.Errorf("%s with a good password: %v", name, err)
		}
	}
}

func TestExistingWeakPasswordStillSignsIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hash, err := signin.HashPassword("password")
	f.must(err)
	f.must(f.db.SetPassword(t.Context(), f.user.ID, hash, "", f.clock.Now()))
	if _, _, err := f.Passwords.Verify(t.Context(), email, "password"); err != nil {
		t.Error(err)
	}
}

// TestFailedSignInsAreIndistinguishable checks that only the audit log learns why a sign-in failed.
func TestFailedSignInsAreIndistinguishable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	without, err := account.NewMemberWithoutPassword("upstream@example.org", "U", core.PlanOpen, f.clock.Now())
	f.must(err)
	f.must(f.db.InsertUser(ctx, without, ""))
	disabled := f.newUser("disabled@example.org")
	f.must(f.accounts.Disable(ctx, core.Operator(""), disabled.ID))
	if u, failure, err := f.Passwords.Verify(ctx, " ADA@Example.org ", password); err != nil || u.ID != f.user.ID ||
		failure != (signin.Failure{}) {
		t.Errorf("right password: %+v, %+v, %v", u, failure, err)
	}
	for name, c := range map[string]struct{ email, password, reason, userID string }{
		"wrong password":      {email, "wrong", "wrong password", f.user.ID},
		"empty password":      {email, "", "wrong password", f.user.ID},
		"unknown address":     {"nobody@example.org", password, "unknown account", ""},
		"empty address":       {"", password, "unknown account", ""},
		"NUL in the address":  {"a\x00@example.org", password, "unknown account", ""},
		"invalid UTF-8":       {"\xff@example.org", password, "unknown account", ""},
		"without a password":  {without.Email, "", "wrong password", without.ID},
		"disabled, right one": {disabled.Email, password, "disabled account", disabled.ID},
		"disabled, wrong one": {disabled.Email, "wrong", "wrong password", disabled.ID},
	} {
		u, failure, err := f.Passwords.Verify(ctx, c.email, c.password)
		if !errors.Is(err, signin.ErrSignIn) || u.ID != "" || failure.Reason != c.reason || failure.User.ID != c.userID {
			t.Errorf("%s: user %q, failure %q of %q, error %v", name, u.ID, failure.Reason, failure.User.ID, err)
		}
	}
}

// lookupCounter counts the password lookups in the database.
type lookupCounter struct {
	*store.DB
	lookups int
}

func (c *lookupCounter) PasswordHash(ctx context.Context, email string) (account.User, string, error) {
	c.lookups++
	return c.DB.PasswordHash(ctx, email)
}

// The time of a failed sign-in must not reveal whether an account exists. Time cannot be measured reliably on a loaded
// machine, so the test counts the work: database lookups, and argon2id evaluations by their 19 MiB of memory. It is not
// parallel, because the runtime counts the allocations of all goroutines.
func TestFailedSignInsCostTheSameWork(t *testing.T) { //nolint:paralleltest // see above
	f := newFixture(t)
	without, err := account.NewMemberWithoutPassword("upstream@example.org", "U", core.PlanOpen, f.clock.Now())
	f.must(err)
	f.must(f.db.InsertUser(t.Context(), without, ""))
	disabled := f.newUser("disabled@example.org")
	f.must(f.accounts.Disable(t.Context(), core.Operator(""), disabled.ID))
	counter := &lookupCounter{DB: f.db}
	deps := f.deps()
	deps.Store = counter
	passwords := signin.NewService(deps).Passwords
	for _, address := range []string{email, "nobody@example.org", without.Email, disabled.Email} {
		var before, after runtime.MemStats
		counter.lookups = 0
		runtime.ReadMemStats(&before)
		_, _, err := passwords.Verify(t.Context(), address, "wrong password")
		runtime.ReadMemStats(&after)
		if !errors.Is(err, signin.ErrSignIn) {
			t.Errorf("%s: %v", address, err)
		}
		const hash = 19456 << 10 // memory of one evaluation
		if n := (after.TotalAlloc - before.TotalAlloc) / hash; n != 1 || counter.lookups != 1 {
			t.Errorf("%s costs %d lookups and %d hashes, want one each", address, counter.lookups, n)
		}
	}
	stored, err := signin.HashPassword(password)
	f.must(err)
	cost := func(hash string) string { return hash[:strings.LastIndex(hash[:strings.LastIndex(hash, "$")], "$")] }
	if got, want := cost(signin.DecoyHash), cost(stored); got != want || len(signin.DecoyHash) != len(stored) {
		t.Errorf("the decoy hash has the parameters %s, a stored one %s", got, want)
	}
}

func TestChangedPasswordEndsOtherSessionsAndIsRecorded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, current, other := t.Context(), f.session(), f.session()
	f.must(f.Passwords.Change(ctx, current, "another password"))
	if !f.alive(current) || f.alive(other) {
		t.Errorf("current session alive: %v, other: %v", f.alive(current), f.alive(other))
	}
	if _, _, err := f.Passwords.Verify(ctx, email, password); !errors.Is(err, signin.ErrSignIn) {
		t.Errorf("old password: %v", err)
	}
	if _, _, err := f.Passwords.Verify(ctx, email, "another password"); err != nil {
		t.Errorf("new password: %v", err)
	}
	if events := f.events(); len(events) != 1 || events[0] != audit.PasswordChanged {
		t.Errorf("events: %v", events)
	}
	f.must(f.Passwords.Set(ctx, core.Operator(""), f.user.ID, password, ""))
	if f.alive(current) {
		t.Error("a password set by the operator leaves sessions active")
	}
}

func TestPasswordChangeRequiresAFreshSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session := f.session()
	key := session
	key.Credential = core.CredentialKey
	f.clock.Advance(24 * time.Hour)
	for name, actor := range map[string]core.Actor{"a stale session": session, "an API key": key, "no credential": {}} {
		if err := f.Passwords.Change(t.Context(), actor, "another password"); err == nil {
			t.Errorf("%s changes the password", name)
		}
	}
	err := f.Passwords.Set(t.Context(), session, f.user.ID, "another password", "")
	if !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member sets a password as an administrator: %v", err)
	}
}

func TestVerifyStopsWaitingWhenTheRequestIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.Passwords.Verify(ctx, email, password); err == nil {
		t.Error("a cancelled request is verified")
	}
}
