package signin_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// invited returns the account that redeems an invitation.
func (f *fixture) invited(email string) account.User {
	return account.User{
		ID: core.NewID(core.PrefixUser), Email: email, Name: "Grace", Role: core.RoleMember, Plan: core.PlanOpen,
		CreatedAt: f.clock.Now(),
	}
}

func TestInvitationCreatesOneAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, operator := t.Context(), core.Operator("")
	i, code, err := f.Invitations.Issue(ctx, operator, signin.NewInvitation{Email: " Grace@Example.org "})
	f.must(err)
	if i.Email != "grace@example.org" || i.Role != core.RoleMember || !i.ExpiresAt.Equal(i.CreatedAt.AddDate(0, 0, 7)) {
		t.Errorf("the invitation is %+v", i)
	}
	for name, bad := range map[string]string{"empty": "", "unknown": "0000-0000-0000-0000", "junk": "\x00\xff"} {
		if _, err := f.Invitations.Find(ctx, bad); !errors.Is(err, signin.ErrInvitation) {
			t.Errorf("%s code: %v", name, err)
		}
	}
	if _, err := f.Resets.Redeem(ctx, code, "another password"); !errors.Is(err, signin.ErrReset) {
		t.Errorf("the code resets a password: %v", err)
	}
	found, err := f.Invitations.Find(ctx, strings.ToLower(code))
	f.must(err)
	f.must(f.Invitations.Redeem(ctx, code, found, f.invited("grace@example.org"), "hash"))
	err = f.Invitations.Redeem(ctx, code, found, f.invited("other@example.org"), "hash")
	if !errors.Is(err, signin.ErrInvitation) {
		t.Errorf("the invitation is used twice: %v", err)
	}
	entries, _, err := f.audit.All(ctx, operator, "", core.Page{})
	f.must(err)
	var got []audit.Event
	for _, e := range slices.Backward(entries) {
		got = append(got, e.Event)
	}
	if want := []audit.Event{audit.InvitationCreated, audit.UserCreated}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestInvitationIsRevokedOrExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, operator := t.Context(), core.Operator("")
	first, revoked, err := f.Invitations.Issue(ctx, operator, signin.NewInvitation{})
	f.must(err)
	_, expired, err := f.Invitations.Issue(ctx, operator, signin.NewInvitation{Days: 1})
	f.must(err)
	list, err := f.Invitations.List(ctx, operator)
	if err != nil || len(list) != 2 {
		t.Errorf("listed %+v, %v", list, err)
	}
	f.must(f.Invitations.Revoke(ctx, operator, first.ID))
	f.clock.Advance(signin.ResetLife)
	for name, code := range map[string]string{"revoked": revoked, "expired": expired} {
		if _, err := f.Invitations.Find(ctx, code); !errors.Is(err, signin.ErrInvitation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Invitations.Revoke(ctx, operator, first.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("revoked again: %v", err)
	}
}

func TestOnlyAdministratorsInvite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	fresh := core.Actor{UserID: f.user.ID, Credential: core.CredentialSession, AuthenticatedAt: f.clock.Now()}
	as := func(role core.Role) core.Actor {
		a := fresh
		a.Role, a.Scopes = role, role.Scopes()
		return a
	}
	for _, c := range []struct {
		name  string
		actor core.Actor
		n     signin.NewInvitation
		want  core.Kind
	}{
		{"nobody", core.Actor{}, signin.NewInvitation{}, core.KindForbidden},
		{"a member", as(core.RoleMember), signin.NewInvitation{}, core.KindForbidden},
		{"an admin invites an admin", as(core.RoleAdmin), signin.NewInvitation{Role: core.RoleAdmin}, core.KindForbidden},
		{"an owner", as(core.RoleOwner), signin.NewInvitation{Role: core.RoleOwner}, core.KindInvalid},
		{"too long", as(core.RoleOwner), signin.NewInvitation{Days: 31}, core.KindInvalid},
		{"no address", as(core.RoleOwner), signin.NewInvitation{Email: "grace"}, core.KindInvalid},
	} {
		if _, _, err := f.Invitations.Issue(ctx, c.actor, c.n); !core.IsKind(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := f.Invitations.List(ctx, as(core.RoleMember)); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member lists: %v", err)
	}
	if err := f.Invitations.Revoke(ctx, as(core.RoleMember), "inv_x"); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("a member revokes: %v", err)
	}
}
