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

func TestASharedAgentIsUsedAsItsOwnerAllows(t *testing.T) {
	t.Parallel()
	w, ctx, name := newWorld(t), t.Context(), "x"
	mine := w.make(t, w.ada, "Mine")
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
			if err := w.Share(ctx, w.ada, mine.ID, w.bob.UserID, c.grant); err != nil {
				t.Fatal(err)
			}
			// Only the first grant is an invitation; the others change it.
			if _, err := w.Accept(ctx, session(w.bob), mine.ID); (err == nil) != (c.grant == "viewer") {
				t.Fatal(err)
			}
		}
		_, read := w.Get(ctx, w.bob, mine.ID)
		_, change := w.Change(ctx, w.bob, mine.ID, agent.Change{Name: &name})
		for what, got := range map[string][2]string{
			"read": {code(read), c.read}, "chat": {code(w.Allow(ctx, w.bob, core.OpSendMessage, mine.ID)), c.chat},
			"change": {code(change), c.change}, "delete": {code(w.Delete(ctx, w.bob, mine.ID)), c.delete},
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
		{w.bob, "", "user", "forbidden"},
		{w.ada, w.bob.UserID, "owner", "invalid_request"},
		{w.ada, "somebody", "user", "not_found"},
		{w.ada, "some@body@example.org", "user", "invalid_request"},
		{w.ada, strings.Repeat("a", 250) + "@example.org", "user", "invalid_request"},
		{w.ada, w.ada.UserID, "user", "invalid_request"},
		{w.ada, strings.ToUpper(w.ada.UserID) + "@example.org", "user", "invalid_request"},
	} {
		if err := w.Share(ctx, c.who, mine.ID, c.user, c.grant); code(err) != c.want {
			t.Errorf("%q as %q: %v, want %s", c.user, c.grant, err, c.want)
		}
	}
	if shares, err := w.Shares(ctx, w.ada, mine.ID); err != nil || len(shares) != 1 || shares[0].Grant != core.GrantManager {
		t.Errorf("shared with %+v, %v", shares, err)
	}
	if err := w.Unshare(ctx, w.ada, mine.ID, w.bob.UserID); err != nil {
		t.Error(err)
	}
	if _, err := w.Get(ctx, w.bob, mine.ID); code(err) != "not_found" {
		t.Errorf("after it was taken away: %v", err)
	}
}

// session is the same user in a browser.
func session(who core.Actor) core.Actor {
	who.Credential, who.Scopes = core.CredentialSession, core.RoleMember.Scopes()
	return who
}

func TestOnlyAdministratorsShareWithEverybody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.make(t, w.ada, "Mine")
	for _, c := range []struct {
		name   string
		role   core.Role
		kind   core.CredentialKind
		scopes []core.Scope
		want   string
	}{
		{"a member's session", core.RoleMember, core.CredentialSession, core.RoleMember.Scopes(), "insufficient_scope"},
		{"a member's key that claims the scope", core.RoleMember, core.CredentialKey, core.RoleAdmin.Scopes(), "forbidden"},
		{"an admin's key without the scope", core.RoleAdmin, core.CredentialKey, core.RoleMember.Scopes(), "insufficient_scope"},
		{"an admin's connected program", core.RoleAdmin, core.CredentialOAuth, core.RoleAdmin.Scopes(), "insufficient_scope"},
		{"an admin's minted key", core.RoleAdmin, core.CredentialMinted, core.RoleAdmin.Scopes(), "insufficient_scope"},
		{"an admin's key with the scope", core.RoleAdmin, core.CredentialKey, core.RoleAdmin.Scopes(), ""},
		{"an admin's session", core.RoleAdmin, core.CredentialSession, core.RoleAdmin.Scopes(), ""},
		{"the owner's session", core.RoleOwner, core.CredentialSession, core.RoleOwner.Scopes(), ""},
	} {
		who := w.ada
		who.Role, who.Credential, who.Scopes = c.role, c.kind, c.scopes
		err := w.Share(t.Context(), who, mine.ID, "", "user")
		var e *core.Error
		if errors.As(err, &e); c.want == "" && err != nil || c.want != "" && (e == nil || e.Code != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		_, read := w.Get(t.Context(), w.bob, mine.ID)
		if (read == nil) != (c.want == "") {
			t.Errorf("%s: another user reads the agent: %v", c.name, read)
		}
		if c.want == "" {
			// Any owner ends it, whatever became of their role.
			if err := w.Unshare(t.Context(), w.ada, mine.ID, ""); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestInvitationsAreAnsweredInABrowserAlone(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	mine := w.make(t, w.ada, "Mine")
	if err := w.Share(ctx, w.ada, mine.ID, w.bob.UserID, "user"); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[core.CredentialKind][2]string{ // to read the list, and to answer
		core.CredentialKey: {"", "session_required"}, core.CredentialMinted: {"insufficient_scope", "insufficient_scope"},
		core.CredentialOAuth: {"insufficient_scope", "insufficient_scope"},
	} {
		who := session(w.bob)
		who.Credential = kind
		_, list := w.Invitations(ctx, who)
		_, accept := w.Accept(ctx, who, mine.ID)
		decline := w.Decline(ctx, who, mine.ID)
		for i, err := range []error{list, accept, decline} {
			if got := codeOf(err); got != want[min(i, 1)] {
				t.Errorf("%s, call %d: %v, want %q", kind, i, err, want[min(i, 1)])
			}
		}
	}
	if _, err := w.Get(ctx, w.bob, mine.ID); codeOf(err) != "not_found" {
		t.Errorf("an agent that was not accepted: %v", err)
	}
	if a, err := w.Accept(ctx, session(w.bob), mine.ID); err != nil || a.ID != mine.ID || a.Grant != core.GrantUser || a.Owner != "U" {
		t.Errorf("accepted %+v, %v", a, err)
	}
	if err := w.Decline(ctx, session(w.bob), mine.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.Get(ctx, w.bob, mine.ID); codeOf(err) != "not_found" {
		t.Errorf("an agent that was left: %v", err)
	}
}

func TestADeclinedOwnerInvitesAgainAfterThirtyDays(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	first, second := w.make(t, w.ada, "First"), w.make(t, w.ada, "Second")
	if err := w.Share(ctx, w.ada, first.ID, w.bob.UserID, "user"); err != nil {
		t.Fatal(err)
	}
	if err := w.Decline(ctx, session(w.bob), first.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Share(ctx, w.ada, second.ID, w.bob.UserID, "user"); err != nil {
		t.Errorf("the owner learns of it: %v", err)
	}
	for _, c := range []struct {
		pass time.Duration
		want []string
	}{{0, nil}, {30*24*time.Hour - time.Second, nil}, {time.Second, []string{second.ID}}} {
		w.clock.Advance(c.pass)
		list, err := w.Invitations(ctx, session(w.bob))
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
