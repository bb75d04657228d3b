package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/testkit"
)

// newMemory returns an unsaved memory.
func (w *fixture) newMemory(agentID, text string) memory.Memory {
	return memory.Memory{
		ID: core.NewID(core.PrefixMemory), AgentID: agentID, Text: text, Status: memory.StatusActive,
		Origin: memory.OriginUser, CreatedAt: w.now, UpdatedAt: w.now,
	}
}

// remember stores a memory of the person's first agent.
func (w *fixture) remember(p person, text string) memory.Memory {
	w.t.Helper()
	m, err := w.db.InsertMemory(w.ctx, p.id, w.newMemory(p.agent, text), core.Fold(text))
	w.must(err)
	return m
}

// worded returns a change of a memory's text.
func worded(text, folded string) memory.Change { return memory.Change{Text: &text, Folded: folded} }

// proposal returns an unsaved proposal.
func (w *fixture) proposal(text string) memory.Memory {
	m := w.newMemory(w.ada.agent, text)
	m.Status, m.Origin = memory.StatusProposed, memory.OriginAgent
	return m
}

// propose proposes a memory of Ada's first agent.
func (w *fixture) propose(text string) memory.Memory {
	w.t.Helper()
	m := w.proposal(text)
	w.must(w.db.ProposeMemory(w.ctx, w.ada.id, m, core.Fold(text)))
	return m
}

func (w *fixture) proposals() []memory.Memory {
	w.t.Helper()
	list, err := w.db.Memories(w.ctx, w.ada.id, w.ada.agent, memory.StatusProposed, "", 10)
	w.must(err)
	return list
}

// memoryIDs pages through the memories of the person's first agent and calls between before each further page.
func (w *fixture) memoryIDs(p person, size int, between func()) []string {
	w.t.Helper()
	ids := []string{}
	for before := ""; ; before = ids[len(ids)-1] {
		page, err := w.db.Memories(w.ctx, p.id, p.agent, memory.StatusActive, before, size)
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
	{"MemoriesAreFilteredAndOrdered", func(w *fixture) {
		green := w.remember(w.ada, "I like Green tea, 100%")
		umlaut := w.remember(w.ada, "ÜBER alles")
		pin := true
		_, err := w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, green.ID, memory.Change{Pinned: &pin}, w.after(9))
		w.must(err)
		w.remember(w.bert, "I like green tea")
		find := func(f memory.Filter, after *memory.Key, n int) []string {
			f.Status = memory.StatusActive
			list, err := w.db.FindMemories(w.ctx, w.ada.id, w.ada.agent, f, after, n)
			w.must(err)
			ids := []string{}
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			return ids
		}
		w.same("all", find(memory.Filter{}, nil, 9), []string{umlaut.ID, green.ID})
		w.same("words", find(memory.Filter{Words: []string{"TEA", "green"}}, nil, 9), []string{green.ID})
		w.same("a percent sign", find(memory.Filter{Words: []string{"0%"}}, nil, 9), []string{green.ID})
		w.same("a wildcard", find(memory.Filter{Words: []string{"g%n"}}, nil, 9), []string{})
		w.same("beyond ASCII", find(memory.Filter{Words: []string{"über"}}, nil, 9), []string{umlaut.ID})
		w.same("pinned", find(memory.Filter{Pinned: &pin}, nil, 9), []string{green.ID})
		pin = false
		w.same("not pinned", find(memory.Filter{Pinned: &pin}, nil, 9), []string{umlaut.ID})
		w.same("of agents", find(memory.Filter{Origin: memory.OriginAgent}, nil, 9), []string{})
		updated := memory.Filter{Order: memory.OrderUpdated}
		w.same("by change", find(updated, nil, 1), []string{green.ID})
		w.same("next by change", find(updated, &memory.Key{UpdatedAt: w.after(9), ID: green.ID}, 9), []string{umlaut.ID})
		w.same("next", find(memory.Filter{}, &memory.Key{ID: umlaut.ID}, 9), []string{green.ID})
	}},
	{"SeveralMemoriesAreDeleted", func(w *fixture) {
		a, b, other := w.remember(w.ada, "a"), w.remember(w.ada, "b"), w.remember(w.bert, "c")
		got, err := w.db.Memory(w.ctx, w.ada.id, w.ada.agent, a.ID)
		w.must(err)
		w.same("read", got, a)
		_, err = w.db.Memory(w.ctx, w.ada.id, w.ada.agent, other.ID)
		w.wantMissing(err, "memory")
		deleted, err := w.db.DeleteMemories(w.ctx, w.ada.id, w.ada.agent, []string{a.ID, other.ID, "mem_none"}, w.now)
		w.must(err)
		w.same("deleted", deleted, []string{a.ID})
		w.same("left", w.memoryIDs(w.ada, 10, nil), []string{b.ID})
		w.same("left to others", w.memoryIDs(w.bert, 10, nil), []string{other.ID})
		_, err = w.db.Memory(w.ctx, w.ada.id, w.ada.agent, a.ID)
		w.wantMissing(err, "memory")
		w.must(w.db.ProposeMemory(w.ctx, w.ada.id, w.proposal("a"), "a"))
		w.same("proposed again", len(w.proposals()), 0)
	}},
	{"MemoryRoundTrips", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		w.turn(w.ada, th.ID, "q")
		messages, err := w.db.Messages(w.ctx, th.ID, 0, 10)
		w.must(err)
		m := w.newMemory(w.ada.agent, "I read Turing.")
		m.Origin, m.ThreadID, m.MessageID = memory.OriginAgent, th.ID, messages[0].ID
		got, err := w.db.InsertMemory(w.ctx, w.ada.id, m, "i read turing.")
		w.must(err)
		w.same("returned", got, m)
		list, err := w.db.Memories(w.ctx, w.ada.id, w.ada.agent, memory.StatusActive, "", 10)
		w.must(err)
		w.same("listed", list, []memory.Memory{m})
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now))
		m.ThreadID, m.MessageID = "", ""
		list, err = w.db.Memories(w.ctx, w.ada.id, w.ada.agent, memory.StatusActive, "", 10)
		w.must(err)
		w.same("after its thread has gone", list, []memory.Memory{m})
	}},
	{"SameTextMakesOneMemory", func(w *fixture) {
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
	{"RepeatedRequestReturnsTheSameMemory", func(w *fixture) {
		m := w.remember(w.ada, "one")
		changed, err := w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, worded("two", "two"), w.now)
		w.must(err)
		got, err := w.db.InsertMemory(w.ctx, w.ada.id, m, "one")
		w.must(err)
		w.same("sent again", got, changed)
		w.same("stored", w.memoryIDs(w.ada, 10, nil), []string{m.ID})
	}},
	{"ConcurrentInsertsOfATextReturnOneMemory", func(w *fixture) {
		for round := range 10 {
			var mu sync.Mutex
			ids := map[string]bool{}
			text := "fact " + strconv.Itoa(round)
			testkit.Concurrently(16, func(int) {
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
	{"ActiveMemoriesAreListedAmongManyDismissedOnes", func(w *fixture) {
		var active []string
		for i := range 40 {
			m := w.remember(w.ada, fmt.Sprintf("fact %d", i))
			if i%8 == 0 {
				active = append(active, m.ID)
				continue
			}
			w.must(errorOf(w.db.DeleteMemories(w.ctx, w.ada.id, w.ada.agent, []string{m.ID}, w.now)))
		}
		slices.Sort(active)
		slices.Reverse(active)
		for _, n := range []int{1, 2, 3, 5, 20, 100} {
			list, err := w.db.Memories(w.ctx, w.ada.id, w.ada.agent, memory.StatusActive, "", n)
			w.must(err)
			ids := make([]string, len(list))
			for i, m := range list {
				ids[i] = m.ID
			}
			w.same(fmt.Sprintf("list of %d", n), ids, active[:min(n, len(active))])
		}
	}},
	{"MemoriesArePagedNewestFirstWhileOthersInsert", func(w *fixture) {
		var want []string
		for i := range 8 {
			want = append([]string{w.remember(w.ada, strconv.Itoa(i)).ID}, want...)
		}
		w.remember(w.bert, "not mine")
		n := 100
		w.same("pages", w.memoryIDs(w.ada, 3, func() { n++; w.remember(w.ada, strconv.Itoa(n)) }), want)
	}},
	{"MemoryIsHiddenFromOtherUsersAndAgents", func(w *fixture) {
		m := w.remember(w.ada, "mine")
		for _, who := range [][2]string{{w.bert.id, w.bert.agent}, {w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			_, err := w.db.ChangeMemory(w.ctx, who[0], who[1], m.ID, worded("theirs", "theirs"), w.now)
			w.wantMissing(err, "memory")
			w.wantMissing(w.db.DeleteMemory(w.ctx, who[0], who[1], m.ID, w.now), "memory")
			list, err := w.db.Memories(w.ctx, who[0], who[1], memory.StatusActive, "", 10)
			w.must(err)
			w.same("listed", list, []memory.Memory{})
		}
		_, err := w.db.InsertMemory(w.ctx, w.bert.id, w.newMemory(w.ada.agent, "x"), "x")
		w.wantMissing(err, "agent")
		_, err = w.db.InsertMemory(w.ctx, w.ada.id, w.newMemory("agt_none", "x"), "x")
		w.wantMissing(err, "agent")
		w.same("left", w.memoryIDs(w.ada, 10, nil), []string{m.ID})
	}},
	{"AMemoryCanBeChangedAndDeleted", func(w *fixture) {
		m, other := w.remember(w.ada, "one"), w.remember(w.ada, "other")
		got, err := w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, worded("Two", "two"), w.after(4))
		w.must(err)
		m.Text, m.UpdatedAt = "Two", w.after(4)
		w.same("changed", got, m)
		_, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, worded("Other", "other"), w.now)
		w.wantKind(err, core.KindConflict, "")
		// No conflict with its own text.
		_, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, worded("TWO", "two"), w.now)
		w.must(err)
		w.remember(w.ada, "one") // the text is free again
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, other.ID, w.now))
		w.wantMissing(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, other.ID, w.now), "memory")
		w.same("left", len(w.memoryIDs(w.ada, 10, nil)), 2)
	}},
	{"ProposalIsConfirmed", func(w *fixture) {
		m := w.propose("I like green")
		w.same("active", w.memoryIDs(w.ada, 10, nil), []string{})
		w.same("proposed", w.proposals(), []memory.Memory{m})
		got, err := w.db.ConfirmMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, w.after(5))
		w.must(err)
		m.Status, m.UpdatedAt = memory.StatusActive, w.after(5)
		w.same("confirmed", got, m)
		got, err = w.db.ConfirmMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, w.after(9))
		w.must(err)
		w.same("confirmed again", got, m)
		w.same("left to confirm", w.proposals(), []memory.Memory{})
		w.wantMissing(w.db.DismissMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, w.now), "proposed memory")
	}},
	{"KnownTextIsNotProposedAgain", func(w *fixture) {
		w.remember(w.ada, "known")
		waiting, dismissed := w.propose("waiting"), w.propose("dismissed")
		w.must(w.db.DismissMemory(w.ctx, w.ada.id, w.ada.agent, dismissed.ID, w.now))
		w.wantMissing(w.db.DismissMemory(w.ctx, w.ada.id, w.ada.agent, dismissed.ID, w.now), "proposed memory")
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, w.remember(w.ada, "deleted").ID, w.now))
		for _, text := range []string{"Known", "WAITING", "Dismissed", "Deleted"} {
			w.propose(text)
		}
		w.same("proposed", w.proposals(), []memory.Memory{waiting})
		w.same("active", len(w.memoryIDs(w.ada, 10, nil)), 1)
		for _, id := range []string{dismissed.ID, "mem_none"} {
			_, err := w.db.ConfirmMemory(w.ctx, w.ada.id, w.ada.agent, id, w.now)
			w.wantMissing(err, "memory")
			_, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, id, worded("x", "x"), w.now)
			w.wantMissing(err, "memory")
			w.wantMissing(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, id, w.now), "memory")
		}
		// A memory added by the user replaces a proposed or dismissed one.
		w.same("of a proposal", w.remember(w.ada, "Waiting").ID, waiting.ID)
		if again := w.remember(w.ada, "dismissed"); again.ID == dismissed.ID || again.Text != "dismissed" {
			w.t.Errorf("of a dismissed memory: %+v", again)
		}
		w.same("active", len(w.memoryIDs(w.ada, 10, nil)), 3)
		w.same("proposed", w.proposals(), []memory.Memory{})
	}},
	{"OldestProposalsAreDroppedAboveTheLimit", func(w *fixture) {
		for i := range memory.MaxProposed + 2 {
			text := fmt.Sprintf("fact %03d", i)
			w.must(w.db.ProposeMemory(w.ctx, w.ada.id, w.proposal(text), text))
		}
		list, err := w.db.Memories(w.ctx, w.ada.id, w.ada.agent, memory.StatusProposed, "", 2*memory.MaxProposed)
		w.must(err)
		if len(list) != memory.MaxProposed || list[0].Text != "fact 051" || list[len(list)-1].Text != "fact 002" {
			w.t.Errorf("%d wait, from %q to %q", len(list), list[len(list)-1].Text, list[0].Text)
		}
		// A proposal that was dropped without being dismissed may be repeated.
		w.must(w.db.ProposeMemory(w.ctx, w.ada.id, w.proposal("fact 000"), "fact 000"))
		if list, err = w.db.Memories(w.ctx, w.ada.id, w.ada.agent, memory.StatusProposed, "", 1); err != nil ||
			list[0].Text != "fact 000" {
			w.t.Errorf("the newest is %+v, %v", list, err)
		}
	}},
	{"ProposalIsHiddenFromOtherUsersAndAgents", func(w *fixture) {
		m := w.propose("mine")
		for _, who := range [][2]string{{w.bert.id, w.bert.agent}, {w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			_, err := w.db.ConfirmMemory(w.ctx, who[0], who[1], m.ID, w.now)
			w.wantMissing(err, "memory")
			w.wantMissing(w.db.DismissMemory(w.ctx, who[0], who[1], m.ID, w.now), "proposed memory")
		}
		w.wantMissing(w.db.ProposeMemory(w.ctx, w.bert.id, w.newMemory(w.ada.agent, "x"), "x"), "agent")
		w.same("left", w.proposals(), []memory.Memory{m})
	}},
	{"ConcurrentProposalsAndDismissalsEndDismissed", func(w *fixture) {
		m := w.propose("fact")
		testkit.Concurrently(16, func(i int) {
			var err error
			if i == 7 {
				err = w.db.DismissMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, w.now)
			} else {
				err = w.db.ProposeMemory(w.ctx, w.ada.id, w.proposal("fact"), "fact")
			}
			if err != nil {
				w.t.Error(err)
			}
		})
		w.same("proposed", w.proposals(), []memory.Memory{})
	}},
	{"MemoryIsPinnedWithOrWithoutANewText", func(w *fixture) {
		m, pinned := w.remember(w.ada, "one"), true
		w.propose("two")
		forgotten := w.remember(w.ada, "three")
		w.must(w.db.DeleteMemory(w.ctx, w.ada.id, w.ada.agent, forgotten.ID, w.now))
		got, err := w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, memory.Change{Pinned: &pinned}, w.after(1))
		w.must(err)
		m.Pinned, m.UpdatedAt = true, w.after(1)
		w.same("pinned", got, m)
		got, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, memory.Change{}, w.after(2))
		w.must(err)
		w.same("without a change", got, m)
		for _, text := range []string{"two", "three"} { // neither a proposal nor a dismissed hash conflicts
			got, err = w.db.ChangeMemory(w.ctx, w.ada.id, w.ada.agent, m.ID, worded(text, text), w.after(3))
			w.must(err)
			m.Text, m.UpdatedAt = text, w.after(3)
			w.same("reworded", got, m)
		}
		w.same("proposed", w.proposals(), []memory.Memory{})
	}},
}
