package signin_test

import (
	"log/slog"
	"slices"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/secretbox"
	"carrel/internal/signin"
	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	email    = "ada@example.org"
	password = "correct horse battery"
)

// fixture is the service on a database with one user.
type fixture struct {
	*signin.Service
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	audit    *audit.Log
	sessions *credential.Sessions
	accounts *account.Service
	user     account.User
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := openFixture(t, store.Options{Path: kit.SQLite(t)}, testkit.NewClock())
	f.user = f.newUser(email)
	return f
}

// openFixture returns the service on a database that may be shared with other nodes.
func openFixture(t *testing.T, o store.Options, clock *testkit.Clock) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := &fixture{t: t, db: db, clock: clock}
	f.audit = audit.New(audit.Deps{Store: db, Clock: clock, Log: slog.New(slog.DiscardHandler)})
	f.sessions = credential.NewSessions(
		credential.SessionDeps{Store: db, Clock: clock, Audit: f.audit, HashKey: []byte("key")},
	)
	f.Service = signin.NewService(f.deps())
	f.accounts = account.NewService(account.Deps{
		Store: db, Clock: clock, Audit: f.audit, Passwords: f.Passwords, DefaultPlan: core.PlanOpen,
	})
	return f
}

func (f *fixture) deps() signin.Deps {
	f.t.Helper()
	sealer, err := secretbox.New(make([]byte, 32), "authenticator apps")
	if err != nil {
		f.t.Fatal(err)
	}
	return signin.Deps{
		Store: f.db, Clock: f.clock, Audit: f.audit, Sessions: f.sessions, Sealer: sealer,
		Key: []byte("key"), Issuer: "Carrel", OfferTOTP: true, LimitAttempts: true,
	}
}

func (f *fixture) newUser(email string) account.User {
	f.t.Helper()
	u, err := f.accounts.Create(
		f.t.Context(),
		core.Operator(""),
		account.NewUser{Email: email, Name: "Ada", Password: password},
	)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// session signs the user in and returns the actor of the new session.
func (f *fixture) session() core.Actor {
	f.t.Helper()
	_, token, err := f.sessions.Begin(f.t.Context(), f.user.ID, "203.0.113.7", "Browser/1")
	if err != nil {
		f.t.Fatal(err)
	}
	actor, err := f.sessions.Authenticate(f.t.Context(), token)
	if err != nil {
		f.t.Fatal(err)
	}
	return actor
}

// alive reports whether the session of an actor is still active.
func (f *fixture) alive(actor core.Actor) bool {
	f.t.Helper()
	list, err := f.sessions.List(f.t.Context(), actor.UserID)
	if err != nil {
		f.t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(s credential.Session) bool { return s.ID == actor.CredentialID })
}

// events returns the events of the audit log about the user, oldest first.
func (f *fixture) events() []audit.Event {
	f.t.Helper()
	entries, err := f.audit.List(f.t.Context(), f.user.ID, 0, 100)
	if err != nil {
		f.t.Fatal(err)
	}
	var events []audit.Event
	for _, e := range slices.Backward(entries) {
		events = append(events, e.Event)
	}
	return events
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}
