package importer_test

import (
	"testing"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/source"
)

// The protocol layers check access before they call a service; a service must not rely on that.
func TestTheServicesOfSourcesAskForTheGrant(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	name := "x"
	uploadTarget := func(op core.Operation) func(core.Actor) error {
		return func(a core.Actor) error {
			_, err := w.importer.UploadTarget(ctx, a, op, w.agent, w.upload.ID)
			return err
		}
	}
	read := map[string]func(core.Actor) error{
		"list":    func(a core.Actor) error { _, err := w.sources.List(ctx, a, w.agent); return err },
		"get":     func(a core.Actor) error { _, err := w.sources.Get(ctx, a, w.agent, w.upload.ID); return err },
		"default": func(a core.Actor) error { _, err := w.sources.Default(ctx, a, w.agent); return err },
		"files": func(a core.Actor) error {
			_, _, err := w.importer.Files(ctx, a, w.agent, w.upload.ID, core.Page{})
			return err
		},
		"imports": func(a core.Actor) error { _, err := w.importer.Imports(ctx, a, w.agent, w.upload.ID); return err },
		"events": func(a core.Actor) error {
			_, err := w.importer.Events(ctx, a, w.agent, w.upload.ID, nil)
			return err
		},
	}
	manage := map[string]func(core.Actor) error{
		"add": func(a core.Actor) error {
			_, err := w.sources.Add(ctx, a, w.agent, source.New{Name: "New", Kind: source.KindUpload})
			return err
		},
		"add or find": func(a core.Actor) error {
			_, err := w.sources.AddOrFind(ctx, a, w.agent, source.New{Name: "New", Kind: source.KindUpload})
			return err
		},
		"change": func(a core.Actor) error {
			_, err := w.sources.Change(ctx, a, w.agent, w.upload.ID, source.Change{Name: &name})
			return err
		},
		"delete": func(a core.Actor) error { return w.sources.Delete(ctx, a, w.agent, w.upload.ID, "") },
		"sync": func(a core.Actor) error {
			_, err := w.importer.Sync(ctx, a, w.agent, w.upload.ID)
			return err
		},
		"create upload": uploadTarget(core.OpCreateUpload),
		"append upload": uploadTarget(core.OpAppendUpload),
		"upload files":  uploadTarget(core.OpUploadFiles),
		"cancel upload": uploadTarget(core.OpCancelUpload),
		"results of uploads": func(a core.Actor) error {
			_, err := w.importer.Uploads(ctx, a, w.agent, w.upload.ID, []string{"upl_none"})
			return err
		},
		"delete file": func(a core.Actor) error {
			return w.importer.DeleteFile(ctx, a, w.agent, w.upload.ID, "fil_none")
		},
	}
	for _, grant := range []core.Grant{core.GrantNone, core.GrantViewer, core.GrantUser} {
		other := w.shared(grant)
		for what, call := range manage {
			want := "forbidden"
			if grant == core.GrantNone {
				want = "not_found"
			}
			if got := codeOf(call(other)); got != want {
				t.Errorf("%s with the grant %q: %q, want %s", what, grant, got, want)
			}
		}
		for what, call := range read {
			want := ""
			if grant == core.GrantNone {
				want = "not_found"
			}
			if got := codeOf(call(other)); got != want {
				t.Errorf("%s with the grant %q: %q, want %q", what, grant, got, want)
			}
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return core.AsError(err).Code
}

// shared creates another user who has a grant for the agent.
func (w *fixture) shared(g core.Grant) core.Actor {
	w.t.Helper()
	user := account.User{
		ID: core.NewID(core.PrefixUser), Email: "other" + g.String() + "@example.org", Name: "Other",
		Role: core.RoleMember, Plan: core.PlanOpen,
		CreatedAt: w.clock.Now(),
	}
	w.must(w.db.InsertUser(w.t.Context(), user, "hash"))
	other := core.Actor{
		UserID: user.ID, Role: user.Role, Plan: core.PlanOpen, Credential: core.CredentialKey,
		Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage},
	}
	if g != core.GrantNone {
		now := w.clock.Now()
		offer := agent.Offer{Invitee: other.UserID, Grant: g, At: now}
		_, err := w.db.Offer(w.t.Context(), w.actor.UserID, w.agent, offer, agent.MaxInvitations)
		w.must(err)
		_, err = w.db.AcceptInvitation(w.t.Context(), other.UserID, w.agent, now, now)
		w.must(err)
	}
	return other
}
