package store_test

import (
	"strconv"
	"time"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/thread"
)

// wantGrant fails the test unless the person has this grant for an agent. Without a grant the agent must be not found.
func (w *fixture) wantGrant(p person, agentID string, want core.Grant) {
	w.t.Helper()
	got, err := w.db.AgentGrant(w.ctx, p.id, agentID)
	if want == core.GrantNone {
		w.wantMissing(err, "agent")
		return
	}
	w.must(err)
	w.same("grant", got, want)
}

// offer invites a user to an agent of Ada's.
func (w *fixture) offer(agentID, invitee string, g core.Grant, at time.Time) error {
	offer := agent.Offer{Invitee: invitee, Grant: g, At: at}
	return errorOf(w.db.Offer(w.ctx, w.ada.id, agentID, offer, agent.MaxInvitations))
}

// share grants a user access to Ada's first agent through an accepted invitation. Without a user it grants access to
// all.
func (w *fixture) share(userID string, g core.Grant) {
	w.t.Helper()
	if userID == "" {
		w.must(w.db.ShareWithAll(w.ctx, w.ada.agent, g, w.now))
		return
	}
	w.must(w.offer(w.ada.agent, userID, g, w.now))
	_, err := w.db.AcceptInvitation(w.ctx, userID, w.ada.agent, w.now, w.now)
	if !core.IsKind(err, core.KindNotFound) { // an existing grant is changed at once
		w.must(err)
	}
}

// agentsOf lists the ids of the agents that a person can access.
func (w *fixture) agentsOf(p person, only []string, after agent.Position, n int) []string {
	w.t.Helper()
	agents, err := w.db.Agents(w.ctx, p.id, only, after, n)
	w.must(err)
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}

var grantTests = []test{
	{"AgentIsSharedWithUsersAndWithAll", func(w *fixture) {
		w.share(w.bert.id, core.GrantViewer)
		w.wantGrant(w.bert, w.ada.agent, core.GrantViewer)
		w.wantGrant(w.bert, w.ada.second, core.GrantNone)
		w.share("", core.GrantUser)
		w.wantGrant(w.bert, w.ada.agent, core.GrantUser) // the higher of the two grants
		w.wantGrant(w.ada, w.ada.agent, core.GrantOwner)
		w.share(w.bert.id, core.GrantManager)
		w.wantGrant(w.bert, w.ada.agent, core.GrantManager)
		shares, err := w.db.Shares(w.ctx, w.ada.agent)
		w.must(err)
		w.same("shares", shares, []agent.Share{
			{Grant: core.GrantUser, CreatedAt: w.now},
			{UserID: w.bert.id, Name: "Bert", Email: w.bert.user.Email, Grant: core.GrantManager, CreatedAt: w.now},
		})
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)))
		w.wantGrant(w.bert, w.ada.agent, core.GrantUser)
		w.must(w.db.DeleteShareWithAll(w.ctx, w.ada.agent, w.now))
		w.wantGrant(w.bert, w.ada.agent, core.GrantNone)
		w.wantMissing(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)), "grant")
		w.wantMissing(w.db.DeleteShareWithAll(w.ctx, w.ada.agent, w.now), "grant")
	}},
	{"OwnAgentsAreListedBeforeSharedOnes", func(w *fixture) {
		// Bert's agents are older than the shared one, which would come first by age.
		newest := w.newAgent(w.ada.id, "Newest").ID
		w.share(w.bert.id, core.GrantUser)
		w.must(w.db.ShareWithAll(w.ctx, newest, core.GrantViewer, w.now))
		all := []string{w.bert.second, w.bert.agent, newest, w.ada.agent}
		w.same("all", w.agentsOf(w.bert, nil, agent.Position{}, 10), all)
		for i := range all {
			after := agent.Position{ID: all[i], Shared: i >= 2}
			w.same("after "+strconv.Itoa(i), w.agentsOf(w.bert, nil, after, 10), all[i+1:])
			w.same("a page of one", w.agentsOf(w.bert, nil, after, 1), all[i+1:min(i+2, len(all))])
		}
		w.same("only some", w.agentsOf(w.bert, []string{w.ada.agent, w.bert.agent}, agent.Position{}, 10),
			[]string{w.bert.agent, w.ada.agent})
		w.same("an owner sees it once", w.agentsOf(w.ada, nil, agent.Position{}, 10),
			[]string{newest, w.ada.second, w.ada.agent})
		got, err := w.db.Agent(w.ctx, w.bert.id, w.ada.agent)
		w.must(err)
		w.same("read", []any{got.UserID, got.Owner, got.Grant, got.Shared(), len(got.Sources)},
			[]any{w.ada.id, "Ada", core.GrantUser, true, 1})
		listed, err := w.db.Agents(w.ctx, w.bert.id, nil, agent.Position{ID: newest, Shared: true}, 1)
		w.must(err)
		w.same("listed", listed, []agent.Agent{got})
		w.must(w.db.DeleteShareWithAll(w.ctx, newest, w.now))
	}},
	{"ThreadsOfASharedAgentBelongToTheirWriter", func(w *fixture) {
		t := thread.Thread{
			ID: core.NewID(core.PrefixThread), AgentID: w.ada.agent, Status: thread.StatusIdle,
			CreatedAt: w.now, UpdatedAt: w.now,
		}
		m := memory.Memory{
			ID: core.NewID(core.PrefixMemory), AgentID: w.ada.agent, Text: "t",
			Status: memory.StatusActive, CreatedAt: w.now, UpdatedAt: w.now,
		}
		f := favourite.Favourite{CardID: "c", Card: []byte(`{}`), CreatedAt: w.now, UpdatedAt: w.now}
		write := func() (errs [3]error) {
			_, errs[0] = w.db.InsertThread(w.ctx, w.bert.id, t)
			_, errs[1] = w.db.InsertMemory(w.ctx, w.bert.id, m, "t")
			_, errs[2] = w.db.SaveFavourite(w.ctx, w.bert.id, w.ada.agent, f)
			return errs
		}
		for _, err := range write() {
			w.wantMissing(err, "agent")
		}
		w.share(w.bert.id, core.GrantUser)
		for _, err := range write() {
			w.must(err)
		}
		_, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, t.ID)
		w.wantMissing(err, "thread") // hidden from the owner of the agent
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)))
		_, err = w.db.Thread(w.ctx, w.bert.id, w.ada.agent, t.ID)
		w.must(err) // kept although the agent is no longer shared
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.agent))
		_, err = w.db.Thread(w.ctx, w.bert.id, w.ada.agent, t.ID)
		w.wantMissing(err, "thread") // deleted with the agent
	}},
	{"OnlyItsOwnerDeletesAnAgent", func(w *fixture) {
		w.share(w.bert.id, core.GrantManager)
		w.wantMissing(w.db.DeleteAgent(w.ctx, w.bert.id, w.ada.agent), "agent")
		changed, err := w.db.ChangeAgent(w.ctx, w.bert.id, w.ada.agent,
			func(a *agent.Agent) error { a.Name = "Bert was here"; return nil })
		w.must(err)
		w.same("changed", []any{changed.Name, changed.UserID}, []any{"Bert was here", w.ada.id})
	}},
}

// errorOf returns the error of a call whose other result is not used.
func errorOf[T any](_ T, err error) error { return err }
