package store_test

import (
	"slices"

	"carrel/internal/core"
	"carrel/internal/thread"
)

// threadIDs pages through the threads of the person's first agent and calls between before each further page.
func (w *fixture) threadIDs(p person, size int, between func()) []string {
	w.t.Helper()
	ids := []string{}
	for after := (*thread.Key)(nil); ; {
		page, err := w.db.Threads(w.ctx, p.id, p.agent, after, size)
		w.must(err)
		for _, t := range page {
			ids = append(ids, t.ID)
			after = &thread.Key{Activity: t.CreatedAt, ID: t.ID}
			if t.LastMessageAt != nil {
				after.Activity = *t.LastMessageAt
			}
		}
		if len(page) < size {
			return ids
		}
		if between != nil {
			between()
		}
	}
}

// scopes are the pairs of user and agent that must not reach Ada's first agent.
func (w *fixture) scopes() [][2]string {
	return [][2]string{{w.bert.id, w.bert.agent}, {w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}}
}

var threadTests = []test{
	{"ThreadRoundTrips", func(w *fixture) {
		th := w.thread(w.ada, "Title", w.now)
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", got, th)
	}},
	{"InsertWithTheSameIDChangesNothing", func(w *fixture) {
		th := w.thread(w.ada, "Once", w.now)
		again := th
		again.Title = "Twice"
		w.must(w.db.InsertThread(w.ctx, w.ada.id, again))
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", got, th)
		again.AgentID = w.bert.agent
		w.wantMissing(w.db.InsertThread(w.ctx, w.bert.id, again), "thread")
		again.AgentID = w.ada.second
		w.wantMissing(w.db.InsertThread(w.ctx, w.ada.id, again), "thread")
	}},
	{"AThreadNeedsAnAgentOfItsUser", func(w *fixture) {
		th := thread.Thread{ID: core.NewID(core.PrefixThread), AgentID: w.ada.agent, CreatedAt: w.now, UpdatedAt: w.now}
		w.wantMissing(w.db.InsertThread(w.ctx, w.bert.id, th), "agent")
		th.AgentID = "agt_none"
		w.wantMissing(w.db.InsertThread(w.ctx, w.ada.id, th), "agent")
	}},
	{"ThreadIsHiddenFromOtherUsersAndAgents", func(w *fixture) {
		th := w.thread(w.ada, "Mine", w.now)
		for _, who := range w.scopes() {
			_, err := w.db.Thread(w.ctx, who[0], who[1], th.ID)
			w.wantMissing(err, "thread")
			_, err = w.db.RenameThread(w.ctx, who[0], who[1], th.ID, "Theirs", w.now)
			w.wantMissing(err, "thread")
			w.wantMissing(w.db.DeleteThread(w.ctx, who[0], who[1], th.ID), "thread")
			q, r := w.exchange(th.ID, "hello", 1)
			w.wantMissing(w.append(who[0], who[1], th.ID, "", q, r), "thread")
			list, err := w.db.Threads(w.ctx, who[0], who[1], nil, 10)
			w.must(err)
			w.same("listed", list, []thread.Thread{})
		}
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", got, th)
	}},
	{"ThreadsArePagedByActivityWhileOthersInsert", func(w *fixture) {
		var ids []string
		for i := range 6 {
			ids = append(ids, w.thread(w.ada, "", w.after(i/2)).ID) // pairs with the same time
		}
		want := slices.Clone(ids)
		slices.Reverse(want)
		w.same("by creation", w.threadIDs(w.ada, 50, nil), want)
		q, r := w.exchange(ids[1], "hello", 50)
		w.must(w.append(w.ada.id, w.ada.agent, ids[1], "", q, r))
		want = []string{ids[1], ids[5], ids[4], ids[3], ids[2], ids[0]}
		w.same("by activity", w.threadIDs(w.ada, 50, nil), want)
		w.same("pages", w.threadIDs(w.ada, 2, func() { w.thread(w.ada, "", w.after(100)) }), want)
	}},
	{"RenamingKeepsTheOrder", func(w *fixture) {
		first, second := w.thread(w.ada, "1", w.now), w.thread(w.ada, "2", w.after(1))
		got, err := w.db.RenameThread(w.ctx, w.ada.id, w.ada.agent, first.ID, "new", w.after(9))
		w.must(err)
		first.Title, first.UpdatedAt = "new", w.after(9)
		w.same("renamed", got, first)
		w.same("order", w.threadIDs(w.ada, 10, nil), []string{second.ID, first.ID})
		_, err = w.db.RenameThread(w.ctx, w.ada.id, w.ada.agent, "thr_none", "x", w.now)
		w.wantMissing(err, "thread")
	}},
	{"ThreadIsDeletedWithItsMessages", func(w *fixture) {
		th, other := w.thread(w.ada, "", w.now), w.thread(w.ada, "", w.now)
		turn := w.turn(w.ada, th.ID, "hello")
		w.turn(w.ada, other.ID, "hello")
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID))
		w.wantMissing(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID), "thread")
		_, err := w.db.Reply(w.ctx, th.ID, turn)
		w.wantMissing(err, "reply")
		left, err := w.db.Messages(w.ctx, other.ID, 0, 10)
		w.must(err)
		w.same("messages of the other", len(left), 2)
	}},
}
