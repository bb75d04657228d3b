package storetest

import (
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/thread"
)

// wantGrant fails the test unless somebody has this grant for an agent; none is a missing agent.
func (w *world) wantGrant(p person, agentID string, want core.Grant) {
	w.t.Helper()
	got, err := w.db.AgentGrant(w.ctx, p.id, agentID)
	if want == core.GrantNone {
		w.wantMissing(err, "agent")
		return
	}
	w.must(err)
	w.same("grant", got, want)
}

// share shares Ada's first agent; with nobody it is with everybody.
func (w *world) share(userID string, g core.Grant) {
	w.t.Helper()
	w.must(w.db.PutShare(w.ctx, w.ada.agent, agent.Share{UserID: userID, Grant: g, CreatedAt: w.now}))
}

// agentsOf lists the ids of the agents that somebody sees.
func (w *world) agentsOf(p person, only []string, before string, n int) []string {
	w.t.Helper()
	agents, err := w.db.Agents(w.ctx, p.id, only, before, n)
	w.must(err)
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	return ids
}

var grantTests = []test{
	{"AnAgentIsSharedWithPeopleAndWithEverybody", func(w *world) {
		w.share(w.bert.id, core.GrantViewer)
		w.wantGrant(w.bert, w.ada.agent, core.GrantViewer)
		w.wantGrant(w.bert, w.ada.second, core.GrantNone)
		w.share("", core.GrantUser)
		w.wantGrant(w.bert, w.ada.agent, core.GrantUser) // the better of the two
		w.wantGrant(w.ada, w.ada.agent, core.GrantOwner)
		w.share(w.bert.id, core.GrantManager)
		w.wantGrant(w.bert, w.ada.agent, core.GrantManager)
		shares, err := w.db.Shares(w.ctx, w.ada.agent)
		w.must(err)
		w.same("shares", shares, []agent.Share{
			{Grant: core.GrantUser, CreatedAt: w.now},
			{UserID: w.bert.id, Name: "Bert", Email: w.bert.user.Email, Grant: core.GrantManager, CreatedAt: w.now},
		})
		w.must(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id))
		w.wantGrant(w.bert, w.ada.agent, core.GrantUser)
		w.must(w.db.DeleteShare(w.ctx, w.ada.agent, ""))
		w.wantGrant(w.bert, w.ada.agent, core.GrantNone)
		w.wantMissing(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id), "grant")
		w.wantMissing(w.db.PutShare(w.ctx, w.ada.agent, agent.Share{UserID: "usr_none", Grant: core.GrantUser}), "user")
	}},
	{"SharedAgentsAreListedAmongOnesOwn", func(w *world) {
		w.share(w.bert.id, core.GrantUser)
		all := []string{w.bert.second, w.bert.agent, w.ada.agent}
		w.same("all", w.agentsOf(w.bert, nil, "", 10), all)
		w.same("a page", w.agentsOf(w.bert, nil, "", 2), all[:2])
		w.same("the next", w.agentsOf(w.bert, nil, all[1], 2), all[2:])
		w.same("of some alone", w.agentsOf(w.bert, []string{w.ada.agent, w.bert.agent}, "", 10), all[1:])
		w.share("", core.GrantViewer)
		w.same("one's own once", w.agentsOf(w.ada, nil, "", 10), []string{w.ada.second, w.ada.agent})
		got, err := w.db.Agent(w.ctx, w.bert.id, w.ada.agent)
		w.must(err)
		w.same("read", []any{got.UserID, got.Grant, len(got.Sources)}, []any{w.ada.id, core.GrantUser, 1})
		w.must(w.db.DeleteShare(w.ctx, w.ada.agent, ""))
	}},
	{"WhatIsWrittenWithASharedAgentIsOnesOwn", func(w *world) {
		t := thread.Thread{ID: core.NewID(core.PrefixThread), AgentID: w.ada.agent, Status: thread.StatusIdle, CreatedAt: w.now, UpdatedAt: w.now}
		m := memory.Memory{ID: core.NewID(core.PrefixMemory), AgentID: w.ada.agent, Text: "t", Status: memory.StatusActive, CreatedAt: w.now, UpdatedAt: w.now}
		f := favourite.Favourite{CardID: "c", Card: []byte(`{}`), CreatedAt: w.now, UpdatedAt: w.now}
		write := func() (errs [3]error) {
			errs[0] = w.db.InsertThread(w.ctx, w.bert.id, t)
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
		w.wantMissing(err, "thread") // it is not the owner's
		w.must(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id))
		_, err = w.db.Thread(w.ctx, w.bert.id, w.ada.agent, t.ID)
		w.must(err) // and stays, though the agent is not shared any more
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.agent))
		_, err = w.db.Thread(w.ctx, w.bert.id, w.ada.agent, t.ID)
		w.wantMissing(err, "thread") // until the agent goes
	}},
	{"OnlyItsOwnerDeletesAnAgent", func(w *world) {
		w.share(w.bert.id, core.GrantManager)
		w.wantMissing(w.db.DeleteAgent(w.ctx, w.bert.id, w.ada.agent), "agent")
		changed, err := w.db.ChangeAgent(w.ctx, w.bert.id, w.ada.agent, func(a *agent.Agent) error { a.Name = "Bert was here"; return nil })
		w.must(err)
		w.same("changed", []any{changed.Name, changed.UserID}, []any{"Bert was here", w.ada.id})
	}},
}
