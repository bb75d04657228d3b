package agent_test

import (
	"fmt"
	"slices"
	"testing"

	"carrel/internal/core"
)

// events returns the entries of a user's audit log, oldest first.
func (f fixture) events(t *testing.T, userID string) []string {
	t.Helper()
	entries, err := f.audit.List(t.Context(), userID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range slices.Backward(entries) {
		out = append(out, fmt.Sprintf("%s by %s from %q %s", e.Event, e.Actor, e.Address, e.Detail))
	}
	return out
}

func TestSharesAreRecordedForOwnerAndRecipient(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	f.ada.CredentialID, f.bob.CredentialID = "crd_ada", "crd_bob"
	f.ada.Role = core.RoleAdmin
	id := f.newAgent(t, f.ada, "Mine").ID
	bob, bobsAddress := session(f.bob), f.bob.UserID+"@example.org"
	admin := f.ada
	admin.Credential, admin.Scopes = core.CredentialSession, core.RoleAdmin.Scopes()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	accept := func() {
		t.Helper()
		_, err := f.Accept(ctx, bob, id)
		must(err)
	}
	must(f.Share(ctx, f.ada, id, bobsAddress, "viewer"))
	accept()
	must(f.Share(ctx, f.ada, id, f.bob.UserID, "user")) // takes effect at once
	must(f.Unshare(ctx, f.ada, id, bobsAddress))
	must(f.Share(ctx, f.ada, id, f.bob.UserID, "manager"))
	accept()
	must(f.Decline(ctx, bob, id)) // gives up the grant
	must(f.Share(ctx, f.ada, id, "nobody@example.org", "user"))
	must(f.Unshare(ctx, f.ada, id, "nobody@example.org"))
	must(f.Share(ctx, admin, id, "", "viewer"))
	must(f.Unshare(ctx, f.ada, id, ""))
	entry := func(event, actor, address, grant, with string) string {
		detail := fmt.Sprintf(`{"agent":%q`, id)
		if grant != "" {
			detail += fmt.Sprintf(`,"grant":%q`, grant)
		}
		if with != "" {
			detail += fmt.Sprintf(`,"with":%q`, with)
		}
		return fmt.Sprintf("%s by %s from %q %s}", event, actor, address, detail)
	}
	const here = "203.0.113.7"
	owners := []string{
		entry("agent_shared", "crd_ada", here, "viewer", "address"),
		entry("agent_shared", f.bob.UserID, "", "viewer", f.bob.UserID),
		entry("agent_shared", "crd_ada", here, "user", f.bob.UserID),
		entry("agent_unshared", "crd_ada", here, "", "address"),
		entry("agent_shared", "crd_ada", here, "manager", f.bob.UserID),
		entry("agent_shared", f.bob.UserID, "", "manager", f.bob.UserID),
		entry("agent_unshared", f.bob.UserID, "", "", f.bob.UserID),
		entry("agent_shared", "crd_ada", here, "user", "address"),
		entry("agent_unshared", "crd_ada", here, "", "address"),
		entry("agent_shared", "crd_ada", here, "viewer", "everybody"),
		entry("agent_unshared", "crd_ada", here, "", "everybody"),
	}
	recipients := []string{
		entry("agent_shared", "crd_bob", here, "viewer", ""),
		entry("agent_shared", f.ada.UserID, "", "user", ""),
		entry("agent_unshared", f.ada.UserID, "", "", ""),
		entry("agent_shared", "crd_bob", here, "manager", ""),
		entry("agent_unshared", "crd_bob", here, "", ""),
	}
	for _, c := range []struct {
		userID string
		want   []string
	}{{f.ada.UserID, owners}, {f.bob.UserID, recipients}} {
		got := f.events(t, c.userID)
		for i := range max(len(got), len(c.want)) {
			g, w := at(got, i), at(c.want, i)
			if g != w {
				t.Errorf("entry %d of %s:\n got %s\nwant %s", i, c.userID, g, w)
			}
		}
	}
}

// at returns an element, or "" beyond the end.
func at(list []string, i int) string {
	if i >= len(list) {
		return ""
	}
	return list[i]
}

func TestDeclinedAndRejectedSharesAreNotRecorded(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	id := f.newAgent(t, f.ada, "Mine").ID
	if err := f.Share(ctx, f.ada, id, f.bob.UserID, "user"); err != nil {
		t.Fatal(err)
	}
	before := f.events(t, f.ada.UserID)
	if err := f.Decline(ctx, session(f.bob), id); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"accepted after it was declined": errorOf(f.Accept(ctx, session(f.bob), id)),
		"shared with the owner":          f.Share(ctx, f.ada, id, f.ada.UserID, "user"),
		"shared by another user":         f.Share(ctx, f.bob, id, f.bob.UserID, "user"),
		"unshared without a share":       f.Unshare(ctx, f.ada, id, "other@example.org"),
		"unshared from everybody":        f.Unshare(ctx, f.ada, id, ""),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if after := f.events(t, f.ada.UserID); !slices.Equal(after, before) {
		t.Errorf("the owner's entries are %v, were %v", after, before)
	}
	if got := f.events(t, f.bob.UserID); len(got) != 0 {
		t.Errorf("the recipient's entries are %v", got)
	}
}

func errorOf[T any](_ T, err error) error { return err }
