package store_test

import (
	"errors"
	"strconv"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

// agentIDs pages through a user's agents and calls between before each further page.
func (w *fixture) agentIDs(userID string, only []string, size int, between func()) []string {
	w.t.Helper()
	ids := []string{}
	for after := (agent.Position{}); ; after.ID = ids[len(ids)-1] {
		page, err := w.db.Agents(w.ctx, userID, only, after, size)
		w.must(err)
		for _, a := range page {
			ids = append(ids, a.ID)
		}
		if len(page) < size {
			return ids
		}
		if between != nil {
			between()
		}
	}
}

var agentTests = []test{
	{"AgentRoundTrips", func(w *fixture) {
		a := agentOf(w.ada.id, "Reader", w.now)
		a.Description, a.Instructions, a.Model = "Reads.", "Read\nslowly.", "some/model"
		a.UpdatedAt = w.after(1)
		a.Sources = append(a.Sources,
			agent.Source{ID: core.NewID(core.PrefixSource), Name: "More", Kind: "upload", Status: "ready"})
		w.must(w.db.InsertAgent(w.ctx, a))
		got, err := w.db.Agent(w.ctx, w.ada.id, a.ID)
		w.must(err)
		w.same("agent", got, a)
		w.wantGrant(w.ada, a.ID, core.GrantOwner)
	}},
	{"AgentIsHiddenFromOtherUsers", func(w *fixture) {
		_, err := w.db.Agent(w.ctx, w.bert.id, w.ada.agent)
		w.wantMissing(err, "agent")
		w.wantGrant(w.bert, w.ada.agent, core.GrantNone)
		w.wantGrant(w.ada, "agt_none", core.GrantNone)
		w.wantMissing(w.db.DeleteAgent(w.ctx, w.bert.id, w.ada.agent), "agent")
		_, err = w.db.ChangeAgent(w.ctx, w.bert.id, w.ada.agent, func(*agent.Agent) error {
			w.t.Error("the change was asked for")
			return nil
		})
		w.wantMissing(err, "agent")
		w.wantGrant(w.ada, w.ada.agent, core.GrantOwner)
	}},
	{"InsertWithTheSameIDChangesNothing", func(w *fixture) {
		a := agentOf(w.ada.id, "Once", w.now)
		w.must(w.db.InsertAgent(w.ctx, a))
		again := agentOf(w.ada.id, "Twice", w.now)
		again.ID = a.ID
		w.must(w.db.InsertAgent(w.ctx, again))
		got, err := w.db.Agent(w.ctx, w.ada.id, a.ID)
		w.must(err)
		w.same("agent", got, a)
		again.UserID = w.bert.id
		w.wantMissing(w.db.InsertAgent(w.ctx, again), "agent")
	}},
	{"AnAgentNeedsItsUserAndOneDefaultSource", func(w *fixture) {
		w.wantMissing(w.db.InsertAgent(w.ctx, agentOf("usr_none", "Nobody's", w.now)), "user")
		a := agentOf(w.ada.id, "Two defaults", w.now)
		a.Sources = append(a.Sources, a.Sources[0])
		if err := w.db.InsertAgent(w.ctx, a); err == nil {
			w.t.Error("two defaults were accepted")
		}
		a.Sources = nil
		if err := w.db.InsertAgent(w.ctx, a); err == nil {
			w.t.Error("no source was accepted")
		}
	}},
	{"AgentsArePagedNewestFirstWhileOthersInsert", func(w *fixture) {
		u := w.user("Pager")
		var want []string
		for i := range 7 {
			want = append([]string{w.newAgent(u.ID, strconv.Itoa(i)).ID}, want...)
		}
		w.same("all", w.agentIDs(u.ID, nil, 50, nil), want)
		w.same("pages", w.agentIDs(u.ID, nil, 3, func() { w.newAgent(u.ID, "new") }), want)
		all, err := w.db.Agents(w.ctx, u.ID, nil, agent.Position{}, 50)
		w.must(err)
		for _, a := range all {
			if len(a.Sources) != 1 || a.DefaultSource() == "" {
				w.t.Errorf("agent %s has sources %v", a.Name, a.Sources)
			}
		}
	}},
	{"AgentsCanBeFilteredByID", func(w *fixture) {
		u := w.user("Limited")
		var ids []string
		for i := range 5 {
			ids = append(ids, w.newAgent(u.ID, strconv.Itoa(i)).ID)
		}
		only := []string{ids[0], w.bert.agent, ids[3], "agt_none", ids[2]}
		w.same("limited", w.agentIDs(u.ID, only, 2, nil), []string{ids[3], ids[2], ids[0]})
		page, err := w.db.Agents(w.ctx, u.ID, only, agent.Position{}, 10)
		w.must(err)
		for _, a := range page {
			w.same("sources of "+a.Name, len(a.Sources), 1)
		}
	}},
	{"FailedChangeStoresNothing", func(w *fixture) {
		changed, err := w.db.ChangeAgent(w.ctx, w.ada.id, w.ada.agent, func(a *agent.Agent) error {
			a.Name, a.Description, a.Instructions, a.Model, a.UpdatedAt = "N", "D", "I", "M", w.after(5)
			return nil
		})
		w.must(err)
		refusal := core.InvalidField("/name", "No.")
		_, err = w.db.ChangeAgent(w.ctx, w.ada.id, w.ada.agent, func(a *agent.Agent) error {
			a.Name = "other"
			return refusal
		})
		if !errors.Is(err, refusal) {
			w.t.Errorf("got %v, want the refusal", err)
		}
		_, err = w.db.ChangeAgent(w.ctx, w.ada.id, w.ada.agent, func(*agent.Agent) error { panic("at the disco") })
		if err == nil {
			w.t.Error("a panic went unnoticed")
		}
		got, err := w.db.Agent(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("stored", got, changed)
		w.same("name", got.Name, "N")
		w.same("updated", got.UpdatedAt, w.after(5))
	}},
	{"ConcurrentChangesAreNotLost", func(w *fixture) {
		_, err := w.db.ChangeAgent(w.ctx, w.ada.id, w.ada.agent, func(a *agent.Agent) error {
			a.Name = "0"
			return nil
		})
		w.must(err)
		const writers, rounds = 8, 10
		testkit.Concurrently(writers, func(int) {
			for range rounds {
				_, err := w.db.ChangeAgent(w.ctx, w.ada.id, w.ada.agent, func(a *agent.Agent) error {
					n, err := strconv.Atoi(a.Name)
					a.Name = strconv.Itoa(n + 1)
					return err
				})
				if err != nil {
					w.t.Error(err)
				}
			}
		})
		got, err := w.db.Agent(w.ctx, w.ada.id, w.ada.agent)
		w.must(err)
		w.same("count", got.Name, strconv.Itoa(writers*rounds))
	}},
}
