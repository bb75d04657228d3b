package store_test

import (
	"slices"

	"carrel/internal/bin"
	"carrel/internal/core"
	"carrel/internal/thread"
)

// threadIDs pages through the threads of the person's first agent and calls between before each further page.
func (w *fixture) threadIDs(p person, size int, between func()) []string {
	w.t.Helper()
	ids := []string{}
	for after := (*thread.Key)(nil); ; {
		page, err := w.db.Threads(w.ctx, p.id, p.agent, thread.Filter{}, after, size)
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
	{"ThreadsAreFilteredAndOrdered", func(w *fixture) {
		b := w.thread(w.ada, "B relational", w.now)
		a := w.thread(w.ada, "A über", w.after(1))
		w.turn(w.ada, b.ID, "Who proposed the Hash join?")
		other := w.thread(w.bert, "B relational", w.now)
		w.turn(w.bert, other.ID, "hash")
		find := func(f thread.Filter, after *thread.Key, n int) []string {
			list, err := w.db.Threads(w.ctx, w.ada.id, w.ada.agent, f, after, n)
			w.must(err)
			ids := []string{}
			for _, t := range list {
				ids = append(ids, t.ID)
			}
			return ids
		}
		w.same("words of the title", find(thread.Filter{Words: []string{"RELAT"}}, nil, 9), []string{b.ID})
		w.same("of a message", find(thread.Filter{Words: []string{"hash"}}, nil, 9), []string{b.ID})
		w.same("of both", find(thread.Filter{Words: []string{"hash", "relational"}}, nil, 9), []string{b.ID})
		w.same("beyond ASCII", find(thread.Filter{Words: []string{"Über"}}, nil, 9), []string{a.ID})
		w.same("of different threads", find(thread.Filter{Words: []string{"hash", "über"}}, nil, 9), []string{})
		w.same("a wildcard", find(thread.Filter{Words: []string{"h_sh"}}, nil, 9), []string{})
		w.same("working", find(thread.Filter{Status: thread.StatusWorking}, nil, 9), []string{})
		w.same("idle", len(find(thread.Filter{Status: thread.StatusIdle}, nil, 9)), 2)
		title := thread.Filter{Order: thread.OrderTitle}
		w.same("by title", find(title, nil, 1), []string{a.ID})
		w.same("next by title", find(title, &thread.Key{Title: a.Title, ID: a.ID}, 9), []string{b.ID})
		created := thread.Filter{Order: thread.OrderCreated}
		w.same("by creation", find(created, nil, 1), []string{a.ID})
		w.same("next by creation", find(created, &thread.Key{ID: a.ID}, 9), []string{b.ID})
	}},
	{"OneMessageIsReadFromItsThread", func(w *fixture) {
		th, second := w.thread(w.ada, "", w.now), w.thread(w.ada, "", w.now)
		w.turn(w.ada, th.ID, "q")
		messages, err := w.db.Messages(w.ctx, th.ID, 0, 10)
		w.must(err)
		got, err := w.db.Message(w.ctx, th.ID, messages[0].ID)
		w.must(err)
		w.same("message", got, messages[0])
		_, err = w.db.Message(w.ctx, second.ID, messages[0].ID)
		w.wantMissing(err, "message")
	}},
	{"ThreadRoundTrips", func(w *fixture) {
		th := w.thread(w.ada, "Title", w.now) // as InsertThread returns it
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", got, th)
	}},
	{"InsertWithTheSameIDChangesNothing", func(w *fixture) {
		th := w.thread(w.ada, "Once", w.now)
		again := th
		again.Title = "Twice"
		returned, err := w.db.InsertThread(w.ctx, w.ada.id, again)
		w.must(err)
		w.same("returned thread", returned, th)
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", got, th)
		again.AgentID = w.bert.agent
		w.wantMissing(errorOf(w.db.InsertThread(w.ctx, w.bert.id, again)), "thread")
		again.AgentID = w.ada.second
		w.wantMissing(errorOf(w.db.InsertThread(w.ctx, w.ada.id, again)), "thread")
	}},
	{"AThreadNeedsAnAgentOfItsUser", func(w *fixture) {
		th := thread.Thread{ID: core.NewID(core.PrefixThread), AgentID: w.ada.agent, CreatedAt: w.now, UpdatedAt: w.now}
		w.wantMissing(errorOf(w.db.InsertThread(w.ctx, w.bert.id, th)), "agent")
		th.AgentID = "agt_none"
		w.wantMissing(errorOf(w.db.InsertThread(w.ctx, w.ada.id, th)), "agent")
	}},
	{"ThreadIsHiddenFromOtherUsersAndAgents", func(w *fixture) {
		th := w.thread(w.ada, "Mine", w.now)
		for _, who := range w.scopes() {
			_, err := w.db.Thread(w.ctx, who[0], who[1], th.ID)
			w.wantMissing(err, "thread")
			_, err = w.db.ChangeThread(w.ctx, who[0], who[1], th.ID, thread.Change{Title: new("Theirs")}, w.now)
			w.wantMissing(err, "thread")
			w.wantMissing(w.db.DeleteThread(w.ctx, who[0], who[1], th.ID, w.now), "thread")
			q, r := w.exchange(th.ID, "hello", 1)
			w.wantMissing(w.append(who[0], who[1], th.ID, "", q, r), "thread")
			list, err := w.db.Threads(w.ctx, who[0], who[1], thread.Filter{}, nil, 10)
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
	{"PinnedThreadsKeepTheirPlaceInTheOrderByActivity", func(w *fixture) {
		var want []string
		for i := range 9 {
			th := w.thread(w.ada, "", w.after(i/3)) // groups with the same time
			if i%2 == 0 {
				_, err := w.db.ChangeThread(w.ctx, w.ada.id, w.ada.agent, th.ID, thread.Change{Pinned: new(true)}, w.after(9))
				w.must(err)
			}
			want = append(want, th.ID)
		}
		slices.Reverse(want)
		for size := 1; size <= 10; size++ {
			w.same("pages", w.threadIDs(w.ada, size, nil), want)
		}
	}},
	{"RenamingKeepsTheOrder", func(w *fixture) {
		first, second := w.thread(w.ada, "1", w.now), w.thread(w.ada, "2", w.after(1))
		got, err := w.db.ChangeThread(w.ctx, w.ada.id, w.ada.agent, first.ID, thread.Change{Title: new("new")}, w.after(9))
		w.must(err)
		first.Title, first.UpdatedAt = "new", w.after(9)
		w.same("renamed", got, first)
		w.same("order", w.threadIDs(w.ada, 10, nil), []string{second.ID, first.ID})
		_, err = w.db.ChangeThread(w.ctx, w.ada.id, w.ada.agent, "thr_none", thread.Change{Title: new("x")}, w.now)
		w.wantMissing(err, "thread")
	}},
	{"ThreadsArePinnedArchivedAndTagged", func(w *fixture) {
		first, second := w.thread(w.ada, "1", w.now), w.thread(w.ada, "2", w.after(1))
		third := w.thread(w.ada, "3", w.after(2))
		change := func(id string, c thread.Change) {
			_, err := w.db.ChangeThread(w.ctx, w.ada.id, w.ada.agent, id, c, w.after(9))
			w.must(err)
		}
		find := func(f thread.Filter, after *thread.Key, n int) []string {
			list, err := w.db.Threads(w.ctx, w.ada.id, w.ada.agent, f, after, n)
			w.must(err)
			ids := []string{}
			for _, t := range list {
				ids = append(ids, t.ID)
			}
			return ids
		}
		change(first.ID, thread.Change{Pinned: new(true), Tags: &[]string{"A", "ü"}})
		change(second.ID, thread.Change{Archived: new(true), Tags: &[]string{"a"}})
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, first.ID)
		w.must(err)
		first.Pinned, first.Tags, first.UpdatedAt = true, []string{"A", "ü"}, w.after(9)
		w.same("changed", got, first)
		pinned := thread.Filter{Order: thread.OrderPinned}
		w.same("pinned first", find(pinned, nil, 9), []string{first.ID, third.ID, second.ID})
		key := &thread.Key{Pinned: true, Activity: first.CreatedAt, ID: first.ID}
		w.same("after the pinned one", find(pinned, key, 1), []string{third.ID})
		w.same("archived", find(thread.Filter{Archived: new(true)}, nil, 9), []string{second.ID})
		w.same("others", find(thread.Filter{Archived: new(false)}, nil, 9), []string{third.ID, first.ID})
		w.same("tag", find(thread.Filter{Tags: []string{"ü"}}, nil, 9), []string{first.ID})
		w.same("spellings", find(thread.Filter{Tags: []string{"a", "A"}}, nil, 9), []string{second.ID, first.ID})
		tags, err := w.db.ThreadTags(w.ctx, w.ada.id, nil)
		w.must(err)
		w.same("tags", tags, []core.Tag{{Name: "a", Count: 1}, {Name: "A", Count: 1}, {Name: "ü", Count: 1}})
		change(second.ID, thread.Change{Archived: new(false), Tags: &[]string{}})
		w.same("no longer archived", find(thread.Filter{Archived: new(true)}, nil, 9), []string{})
	}},
	{"ThreadsOfAllAgentsAreSearched", func(w *fixture) {
		one := w.thread(w.ada, "Hash join", w.now)
		two := thread.Thread{
			ID: core.NewID(core.PrefixThread), AgentID: w.ada.second, Status: thread.StatusIdle, CreatedAt: w.after(1),
			UpdatedAt: w.after(1),
		}
		w.must(errorOf(w.db.InsertThread(w.ctx, w.ada.id, two)))
		q, r := w.exchange(two.ID, "What is a HASH table?", 5)
		w.must(w.append(w.ada.id, w.ada.second, two.ID, "", q, r))
		w.thread(w.bert, "hash", w.now)
		find := func(agents []string) []string {
			list, err := w.db.AllThreads(w.ctx, w.ada.id, agents, thread.Filter{Words: []string{"hash"}}, nil, 9)
			w.must(err)
			ids := []string{}
			for _, t := range list {
				ids = append(ids, t.AgentID+t.ID)
			}
			return ids
		}
		w.same("all agents", find(nil), []string{w.ada.second + two.ID, w.ada.agent + one.ID})
		w.same("one agent", find([]string{w.ada.agent}), []string{w.ada.agent + one.ID})
		w.same("an agent of another user", find([]string{w.bert.agent}), []string{})
		found, err := w.db.LatestMatches(w.ctx, []string{one.ID, two.ID}, []string{"table", "nothing"})
		w.must(err)
		w.same("matches", found, map[string]thread.Message{two.ID: {ThreadID: two.ID, ID: r.ID, Text: r.Text}})
	}},
	{"ThreadIsDeletedWithItsMessages", func(w *fixture) {
		th, other := w.thread(w.ada, "", w.now), w.thread(w.ada, "", w.now)
		turn := w.turn(w.ada, th.ID, "hello")
		w.turn(w.ada, other.ID, "hello")
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now))
		w.wantMissing(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now), "thread")
		w.must(w.db.EmptyBin(w.ctx, w.ada.id, w.ada.agent, []bin.Kind{bin.KindThread}))
		_, err := w.db.Reply(w.ctx, th.ID, turn)
		w.wantMissing(err, "reply")
		left, err := w.db.Messages(w.ctx, other.ID, 0, 10)
		w.must(err)
		w.same("messages of the other", len(left), 2)
	}},
}
