package storetest

import (
	"strconv"
	"sync"

	"carrel/internal/core"
	"carrel/internal/memory"
)

// newMemory is a memory as the service makes it.
func (w *world) newMemory(agentID, text string) memory.Memory {
	return memory.Memory{
		ID: core.NewID(core.PrefixMemory), AgentID: agentID, Text: text, Origin: memory.OriginUser, CreatedAt: w.now, UpdatedAt: w.now,
	}
}

// remember stores a memory of the person's first agent.
func (w *world) remember(p person, text string) memory.Memory {
	w.t.Helper()
	m, err := w.db.InsertMemory(w.ctx, p.id, w.newMemory(p.agent, text), core.Fold(text))
	w.must(err)
	return m
}

// memoryIDs pages through the memories of the person's first agent, calling between before each further page.
func (w *world) memoryIDs(p person, size int, between func()) []string {
	w.t.Helper()
	ids := []string{}
	for before := ""; ; before = ids[len(ids)-1] {
		page, err := w.db.Memories(w.ctx, p.id, p.agent, before, size)
		w.must(err)
		for _, m := range page {
			ids = append(ids, m.ID)
		}
		if len(page) < size {
			return ids
		}
		if between != nil {
			between()
		}
	}
}

var memoryTests = []test{
	{"AMemoryComesBackAsItWas", func(w *world) {
		th := w.thread(w.ada, "", w.now)
		w.turn(w.ada, th.ID, "q")
		messages, err := w.db.Messages(w.ctx, th.ID, 0, 10)
		w.must(err)
		m := w.newMemory(w.ada.agent, "I read Turing.")
		m.Origin, m.ThreadID, m.MessageID = memory.OriginAgent, th.ID, messages[0].ID
		got, err := w.db.InsertMemory(w.ctx, w.ada.id, m, "i read turing.")
		w.must(err)
		w.same("returned", got, m)
		list, err := w.db.Memories(w.ctx, w.ada.id, w.ada.agent, "", 10)
		w.must(err)
		w.same("listed", list, []memory.Memory{m})
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID))
		m.ThreadID, m.MessageID = "", ""
		list, err = w.db.Memories(w.ctx, w.ada.id, w.ada.agent, "", 10)
		w.must(err)
		w.same("after its thread has gone", list, []memory.Memory{m})
	}},
	{"TheSameTextIsOneMemory", func(w *world) {
		first := w.remember(w.ada, "I like  Green")
		w.same("again", w.remember(w.ada, "i like green"), first)
		if other := w.remember(w.bert, "i like green"); other.ID == first.ID {
			w.t.Error("another user got the same memory")
		}
		second := w.newMemory(w.ada.second, "i like green")
		got, err := w.db.InsertMemory(w.ctx, w.ada.id, second, "i like green")
		w.must(err)
		w.same("under another agent", got, second)
	}},
	{"TheSameIdIsTheSameMemory", func(w *world) {
		m := w.remember(w.ada, "one")
		changed, err := w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, "two", "two", w.now)
		w.must(err)
		got, err := w.db.InsertMemory(w.ctx, w.ada.id, m, "one")
		w.must(err)
		w.same("sent again", got, changed)
		w.same("stored", w.memoryIDs(w.ada, 10, nil), []string{m.ID})
	}},
	{"OfManyWhoAddATextAllGetTheSame", func(w *world) {
		for round := range 10 {
			var mu sync.Mutex
			ids := map[string]bool{}
			text := "fact " + strconv.Itoa(round)
			together(16, func(int) {
				m, err := w.db.InsertMemory(w.ctx, w.ada.id, w.newMemory(w.ada.agent, text), text)
				if err != nil {
					w.t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[m.ID] = true
			})
			w.same("memories made", len(ids), 1)
		}
		w.same("stored", len(w.memoryIDs(w.ada, 200, nil)), 10)
	}},
	{"MemoriesArePagedNewestFirstWhileOthersInsert", func(w *world) {
		var want []string
		for i := range 8 {
			want = append([]string{w.remember(w.ada, strconv.Itoa(i)).ID}, want...)
		}
		w.remember(w.bert, "not mine")
		n := 100
		w.same("pages", w.memoryIDs(w.ada, 3, func() { n++; w.remember(w.ada, strconv.Itoa(n)) }), want)
	}},
	{"AMemoryIsItsUsersAndAgentsAlone", func(w *world) {
		m := w.remember(w.ada, "mine")
		for _, who := range [][2]string{{w.bert.id, w.bert.agent}, {w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			_, err := w.db.ChangeMemory(w.ctx, who[0], who[1], m.ID, "theirs", "theirs", w.now)
			w.wantMissing(err, "memory")
			w.wantMissing(w.db.DeleteMemory(w.ctx, who[0], who[1], m.ID), "memory")
			list, err := w.db.Memories(w.ctx, who[0], who[1], "", 10)
			w.must(err)
			w.same("listed", list, []memory.Memory{})
		}
		_, err := w.db.InsertMemory(w.ctx, w.bert.id, w.newMemory(w.ada.agent, "x"), "x")
		w.wantMissing(err, "agent")
		_, err = w.db.InsertMemory(w.ctx, w.ada.id, w.newMemory("agt_none", "x"), "x")
		w.wantMissing(err, "agent")
		w.same("left", w.memoryIDs(w.ada, 10, nil), []string{m.ID})
	}},
	{"AMemoryCanBeChangedAndDeleted", func(w *world) {
		m, other := w.remember(w.ada, "one"), w.remember(w.ada, "other")
		got, err := w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, "Two", "two", w.after(4))
		w.must(err)
		m.Text, m.UpdatedAt = "Two", w.after(4)
		w.same("changed", got, m)
		_, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, "Other", "other", w.now)
		w.wantKind(err, core.KindConflict, "")
		_, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, "TWO", "two", w.now) // its own words are no clash
		w.must(err)
		w.remember(w.ada, "one") // free again
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, other.ID))
		w.wantMissing(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, other.ID), "memory")
		w.same("left", len(w.memoryIDs(w.ada, 10, nil)), 2)
	}},
}
