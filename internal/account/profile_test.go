package account_test

import (
	"slices"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// user creates an account with a role.
func (f *testService) user(t *testing.T, email string, role core.Role) account.User {
	t.Helper()
	u, err := f.Create(t.Context(), operator, account.NewUser{
		Email: email, Name: "Ada", Password: "correct horse", Role: role,
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// session returns the actor of a user who has just signed in.
func (f *testService) session(u account.User) core.Actor {
	return core.Actor{
		UserID: u.ID, Role: u.Role, Plan: core.PlanOpen, Credential: core.CredentialSession, CredentialID: "ses",
		Scopes: u.Role.Scopes(), AuthenticatedAt: f.clock.Now(),
	}
}

// events returns the events about a user, oldest first.
func (f *testService) events(t *testing.T, userID string) []audit.Event {
	t.Helper()
	entries, err := f.audit.List(t.Context(), userID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var events []audit.Event
	for _, e := range slices.Backward(entries) {
		events = append(events, e.Event)
	}
	return events
}

func TestMemberRequestsAnAddressAndAdministratorChangesTheirOwn(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	owner, member := f.user(t, "owner@example.org", core.RoleOwner), f.user(t, "ada@example.org", core.RoleMember)
	change := func(u account.User, name, email *string) account.User {
		t.Helper()
		got, err := f.ChangeProfile(ctx, f.session(u), account.ProfileChange{Name: name, Email: email})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	// An address in use and a free one look the same to a member.
	for _, address := range []string{" OWNER@example.org ", "free@example.org"} {
		if u := change(member, nil, &address); u.Email != member.Email || u.PendingEmail != account.NormalEmail(address) {
			t.Errorf("after requesting %q: %+v", address, u)
		}
	}
	if u := change(member, nil, &member.Email); u.PendingEmail != "" {
		t.Errorf("after withdrawing the request: %+v", u)
	}
	if u := change(member, new(" Augusta "), nil); u.Name != "Augusta" || !u.EmailVerified {
		t.Errorf("after changing the name: %+v", u)
	}
	change(member, new("Augusta"), &member.Email) // changes nothing and records nothing
	want := []audit.Event{audit.EmailRequested, audit.EmailRequested, audit.EmailRequested, audit.NameChanged}
	if got := f.events(t, member.ID); !slices.Equal(got, want) {
		t.Errorf("events of the member %v, want %v", got, want)
	}
	if u := change(owner, nil, new("boss@example.org")); u.Email != "boss@example.org" || u.EmailVerified {
		t.Errorf("the owner's new address: %+v", u)
	}
	_, err := f.ChangeProfile(ctx, f.session(owner), account.ProfileChange{Email: &member.Email})
	if !core.IsKind(err, core.KindConflict) {
		t.Errorf("the owner takes an address in use: %v", err)
	}
}

func TestProfileChangeIsValidatedAndNeedsAFreshSessionForTheAddress(t *testing.T) {
	t.Parallel()
	f, ctx := newTestService(t), t.Context()
	u := f.user(t, "ada@example.org", core.RoleMember)
	session := f.session(u)
	_, err := f.ChangeProfile(ctx, session, account.ProfileChange{Name: new(" "), Email: new("x")})
	fields := core.AsError(err).Fields
	if len(fields) != 2 || fields[0].Pointer != "/name" || fields[1].Pointer != "/email" {
		t.Errorf("invalid change: %v", err)
	}
	key := session
	key.Credential = core.CredentialKey
	f.clock.Advance(core.ProofLife)
	for name, actor := range map[string]core.Actor{"an API key": key, "a stale session": session} {
		_, err := f.ChangeProfile(ctx, actor, account.ProfileChange{Email: new("new@example.org")})
		if !core.IsKind(err, core.KindForbidden) {
			t.Errorf("%s changes the address: %v", name, err)
		}
		if _, err := f.ChangeProfile(ctx, actor, account.ProfileChange{Name: new("N " + name)}); err != nil {
			t.Errorf("%s changes the name: %v", name, err)
		}
	}
	if _, err := f.Profile(ctx, core.Actor{}); err == nil {
		t.Error("the zero actor reads a profile")
	}
	if got, err := f.Profile(ctx, session); err != nil || got.ID != u.ID || got.Email != u.Email {
		t.Errorf("profile %+v, %v", got, err)
	}
}
