package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/agent"
	"carrel/internal/core"
)

func TestGrantsOfASharedAgent(t *testing.T) {
	t.Parallel()
	f, ctx, name := newFixture(t), t.Context(), "x"
	mine := f.newAgent(t, f.ada, "Mine")
	code := codeOf
	for _, c := range []struct {
		grant                      string
		read, chat, change, delete string
	}{
		{"", "not_found", "not_found", "not_found", "not_found"},
		{"viewer", "", "forbidden", "forbidden", "forbidden"},
		{"user", "", "", "forbidden", "forbidden"},
		{"manager", "", "", "", "forbidden"},
	} {
		if c.grant != "" {
			if err := f.Share(ctx, f.ada, mine.ID, f.bob.UserID, c.grant); err != nil {
				t.Fatal(err)
			}
			// Only the first grant is an invitation; the others change it.
			if _, err := f.Accept(ctx, session(f.bob), mine.ID); (err == nil) != (c.grant == "viewer") {
				t.Fatal(err)
			}
		}
		_, read := f.Get(ctx, f.bob, mine.ID)
		_, change := f.Change(ctx, f.bob, mine.ID, agent.Change{Name: &name})
		for what, got := range map[string][2]string{
			"read": {code(read), c.read}, "chat": {code(f.Allow(ctx, f.bob, core.OpSendMessage, mine.ID)), c.chat},
			"change": {code(change), c.change}, "delete": {code(f.Delete(ctx, f.bob, mine.ID)), c.delete},
		} {
			if got[0] != got[1] {
				t.Errorf("with the grant %q, %s: %q, want %q", c.grant, what, got[0], got[1])
			}
		}
	}
	for _, c := range []struct {
		who               core.Actor
		user, grant, want string
	}{
		{f.bob, "", "user", "forbidden"},
		{f.ada, f.bob.UserID, "owner", "invalid_request"},
		{f.ada, "somebody", "user", "not_found"},
		{f.ada, "some@body@example.org", "user", "invalid_request"},
		{f.ada, strings.Repeat("a", 250) + "@example.org", "user", "invalid_request"},
		{f.ada, f.ada.UserID, "user", "invalid_request"},
		{f.ada, strings.ToUpper(f.ada.UserID) + "@example.org", "user", "invalid_request"},
	} {
		if err := f.Share(ctx, c.who, mine.ID, c.user, c.grant); code(err) != c.want {
			t.Errorf("%q as %q: %v, want %s", c.user, c.grant, err, c.want)
		}
	}
	shares, err := f.Shares(ctx, f.ada, mine.ID)
	if err != nil || len(shares) != 1 || shares[0].Grant != core.GrantManager {
		t.Errorf("shared with %+v, %v", shares, err)
	}
	if err := f.Unshare(ctx, f.ada, mine.ID, f.bob.UserID); err != nil {
		t.Error(err)
	}
	if _, err := f.Get(ctx, f.bob, mine.ID); code(err) != "not_found" {
		t.Errorf("after it was unshared: %v", err)
	}
}

// session returns the same user with a browser session.
func session(who core.Actor) core.Actor {
	who.Credential, who.Scopes = core.CredentialSession, core.RoleMember.Scopes()
	return who
}

func TestOnlyAdministratorsShareWithEverybody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.newAgent(t, f.ada, "Mine")
	for _, c := range []struct {
		name   string
		role   core.Role
		kind   core.CredentialKind
		scopes []core.Scope
		want   string
	}{
		{"a member's session", core.RoleMember, core.CredentialSession, core.RoleMember.Scopes(), "insufficient_scope"},
		{"a member's key that claims the scope", core.RoleMember, core.CredentialKey, core.RoleAdmin.Scopes(), "forbidden"},
		{
			"an admin's key without the scope", core.RoleAdmin, core.CredentialKey, core.RoleMember.Scopes(),
			"insufficient_scope",
		},
		{"an admin's connected program", core.RoleAdmin, core.CredentialOAuth, core.RoleAdmin.Scopes(), "insufficient_scope"},
		{"an admin's minted key", core.RoleAdmin, core.CredentialMinted, core.RoleAdmin.Scopes(), "insufficient_scope"},
		{"an admin's key with the scope", core.RoleAdmin, core.CredentialKey, core.RoleAdmin.Scopes(), ""},
		{"an admin's session", core.RoleAdmin, core.CredentialSession, core.RoleAdmin.Scopes(), ""},
		{"the owner's session", core.RoleOwner, core.CredentialSession, core.RoleOwner.Scopes(), ""},
	} {
		who := f.ada
		who.Role, who.Credential, who.Scopes = c.role, c.kind, c.scopes
		err := f.Share(t.Context(), who, mine.ID, "", "user")
		var e *core.Error
		if errors.As(err, &e); c.want == "" && err != nil || c.want != "" && (e == nil || e.Code != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		_, read := f.Get(t.Context(), f.bob, mine.ID)
		if (read == nil) != (c.want == "") {
			t.Errorf("%s: another user reads the agent: %v", c.name, read)
		}
		if c.want == "" {
			// The agent's owner may end it without being an administrator.
			if err := f.Unshare(t.Context(), f.ada, mine.ID, ""); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestInvitationsAreAnsweredInABrowserAlone(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	mine := f.newAgent(t, f.ada, "Mine")
	if err := f.Share(ctx, f.ada, mine.ID, f.bob.UserID, "user"); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[core.CredentialKind][2]string{ // for reading the list, and for responding
		core.CredentialKey: {"", "session_required"}, core.CredentialMinted: {"insufficient_scope", "insufficient_scope"},
		core.CredentialOAuth: {"insufficient_scope", "insufficient_scope"},
	} {
		who := session(f.bob)
		who.Credential = kind
		_, list := f.Invitations(ctx, who)
		_, accept := f.Accept(ctx, who, mine.ID)
		decline := f.Decline(ctx, who, mine.ID)
		for i, err := range []error{list, accept, decline} {
			if got := codeOf(err); got != want[min(i, 1)] {
				t.Errorf("%s, call %d: %v, want %q", kind, i, err, want[min(i, 1)])
			}
		}
	}
	if _, err := f.Get(ctx, f.bob, mine.ID); codeOf(err) != "not_found" {
		t.Errorf("an agent that was not accepted: %v", err)
	}
	if a, err := f.Accept(ctx, session(f.bob), mine.ID); err != nil || a.ID != mine.ID || a.Grant != core.GrantUser ||
		a.Owner != "U" {
		t.Errorf("accepted %+v, %v", a, err)
	}
	if err := f.Decline(ctx, session(f.bob), mine.ID); err != nil {
		t.Error(err)
	}
	if _, err := f.Get(ctx, f.bob, mine.ID); codeOf(err) != "not_found" {
		t.Errorf("an agent that was declined: %v", err)
	}
}

func TestInvitationsOfADeclinedOwnerAreHiddenForThirtyDays(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	first, second := f.newAgent(t, f.ada, "First"), f.newAgent(t, f.ada, "Second")
	if err := f.Share(ctx, f.ada, first.ID, f.bob.UserID, "user"); err != nil {
		t.Fatal(err)
	}
	if err := f.Decline(ctx, session(f.bob), first.ID); err != nil {
		t.Fatal(err)
	}
	if err := f.Share(ctx, f.ada, second.ID, f.bob.UserID, "user"); err != nil {
		t.Errorf("the owner notices the decline: %v", err)
	}
	for _, c := range []struct {
		pass time.Duration
		want []string
	}{{0, nil}, {30*24*time.Hour - time.Second, nil}, {time.Second, []string{second.ID}}} {
		f.clock.Advance(c.pass)
		list, err := f.Invitations(ctx, session(f.bob))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range list {
			got = append(got, i.AgentID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("after another %s: %v, want %v", c.pass, got, c.want)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return core.AsError(err).Code
}
