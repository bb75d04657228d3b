package account_test

import (
	"context"
	"path/filepath"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// silent is a recorder for tests that do not read the audit log.
type silent struct{}

func (silent) Note(context.Context, audit.Record) {}

// TestEveryWayToSetAPasswordRefusesAGuessableOne has one line for each function that stores a password.
func TestEveryWayToSetAPasswordRefusesAGuessableOne(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ctx, clock := t.Context(), testkit.NewClock()
	s := account.NewService(db, clock, core.PlanOpen)
	resets := account.NewResets(db, s, clock, []byte("key"), silent{})
	first := func(password string) error {
		_, err := s.CreateFirst(ctx, account.NewUser{Email: "grace@example.org", Name: "Grace", Password: password})
		return err
	}
	for _, weak := range []string{"password", "Grace-1906", "carrel123"} {
		if err := first(weak); core.AsError(err).Fields[0].Pointer != "/password" {
			t.Errorf("the first account with %s: %v", weak, err)
		}
	}
	u, err := s.Create(ctx, operator, ada())
	if err != nil {
		t.Fatal(err)
	}
	session := core.Actor{UserID: u.ID, Credential: core.CredentialSession, Scopes: u.Role.Scopes(), AuthenticatedAt: clock.Now()}
	for name, set := range map[string]func(password string) error{
		"user create": func(password string) error {
			n := ada()
			n.Email, n.Password = "second@example.org", password
			return second(s.Create(ctx, operator, n))
		},
		"user password":   func(password string) error { return s.SetPassword(ctx, operator, u.ID, password, "") },
		"change password": func(password string) error { return s.ChangePassword(ctx, session, password) },
		"reset": func(password string) error {
			_, code, err := resets.Issue(ctx, operator, u.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			return second(resets.Redeem(ctx, code, password))
		},
	} {
		for _, weak := range []string{"password", "Password2026!", "ada@example", "carrel123", "12345678"} {
			err := set(weak)
			if e := core.AsError(err); !core.IsKind(err, core.KindInvalid) || len(e.Fields) != 1 || e.Fields[0].Pointer != "/password" {
				t.Errorf("%s with %s: %v", name, weak, err)
			}
		}
		if err := set("a few words of mine"); err != nil {
			t.Errorf("%s with a good password: %v", name, err)
		}
	}
}

func TestAWeakPasswordFromBeforeStillSignsIn(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := account.NewService(db, testkit.NewClock(), core.PlanOpen)
	u, err := s.Create(t.Context(), operator, ada())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := account.HashPassword("password")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.SetPassword(t.Context(), u.ID, hash, "", u.CreatedAt); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.SignIn(t.Context(), u.Email, "password"); err != nil {
		t.Errorf("it does not: %v", err)
	}
}
