package store_test

import (
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// version stores a question as a version of an exchange, with a running task.
func (w *fixture) version(p person, of thread.Message, text string) (thread.Message, task.Task, error) {
	q, _ := w.exchange(of.ThreadID, text, 1)
	t, err := w.db.SubmitVersion(w.ctx, p.id, p.agent, of.ID, q, task.Task{
		ID: q.TurnID, Kind: "turn", Key: of.ThreadID, UserID: p.id, Input: []byte(text), Owner: "node",
		RunAt: w.now, DeadlineAt: w.after(1000), CreatedAt: w.now,
	})
	return q, t, err
}

// answered stores an answered version of an exchange and returns its question.
func (w *fixture) answered(of thread.Message, text string) thread.Message {
	w.t.Helper()
	q, t, err := w.version(w.ada, of, text)
	w.must(err)
	_, r := w.exchange(of.ThreadID, text, 2)
	r.TurnID = t.ID
	w.must(w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: w.after(2)}, r))
	return q
}

// questions returns the texts of the questions of the current branch.
func (w *fixture) questions(threadID string) []string {
	w.t.Helper()
	var texts []string
	for _, m := range slices.Backward(w.messages(threadID)) {
		if m.Role == thread.RoleUser {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// conversation stores exchanges with these texts in a new thread, and returns their questions.
func (w *fixture) conversation(texts ...string) []thread.Message {
	w.t.Helper()
	th := w.thread(w.ada, "", w.now)
	var questions []thread.Message
	for _, text := range texts {
		q, r := w.exchange(th.ID, text, 1)
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "Title", q, r))
		questions = append(questions, q)
	}
	return questions
}

func (w *fixture) selectVersion(m thread.Message) {
	w.t.Helper()
	w.must(w.db.SelectVersion(w.ctx, w.ada.id, w.ada.agent, m.ThreadID, m.ID))
}

func (w *fixture) delete(m thread.Message) {
	w.t.Helper()
	w.must(w.db.DeleteExchange(w.ctx, w.ada.id, w.ada.agent, m.ThreadID, m.ID))
}

var versionTests = []test{
	{"AVersionReplacesAnExchangeAndThoseAfterIt", func(w *fixture) {
		q := w.conversation("a", "b", "c")
		id := q[0].ThreadID
		edited := w.answered(q[1], "B")
		w.same("branch", w.questions(id), []string{"a", "B"})
		w.turn(w.ada, id, "d")
		w.same("continued", w.questions(id), []string{"a", "B", "d"})
		w.selectVersion(q[1])
		w.same("selected", w.questions(id), []string{"a", "b", "c"})
		w.selectVersion(edited)
		w.same("selected again", w.questions(id), []string{"a", "B", "d"})
		all, err := w.db.AllMessages(w.ctx, id, 0, 100)
		w.must(err)
		w.same("all", len(all), 10)
	}},
	{"MessagesSayWhichVersionTheyAre", func(w *fixture) {
		q := w.conversation("a", "b")
		second := w.answered(q[1], "b2")
		third := w.answered(second, "b3")
		messages := w.messages(q[0].ThreadID)
		want := &thread.Versions{Number: 3, Count: 3, Previous: second.ID}
		w.same("question", messages[1].Versions, want)
		w.same("reply", messages[0].Versions, want)
		w.same("without versions", []any{messages[2].Versions == nil, messages[3].Versions == nil}, []any{true, true})
		got, err := w.db.Message(w.ctx, q[0].ThreadID, second.ID)
		w.must(err)
		w.same("hidden", got.Versions, &thread.Versions{Number: 2, Count: 3, Previous: q[1].ID, Next: third.ID})
		w.same("parent", *got.Parent, q[0].TurnID)
	}},
	{"TheFirstExchangeHasVersionsToo", func(w *fixture) {
		q := w.conversation("a", "b")
		again := w.answered(q[0], "a")
		w.same("branch", w.questions(q[0].ThreadID), []string{"a"})
		w.same("versions", w.messages(q[0].ThreadID)[1].Versions,
			&thread.Versions{Number: 2, Count: 2, Previous: q[0].ID})
		w.selectVersion(q[1])
		w.same("by a later message", w.questions(q[0].ThreadID), []string{"a", "b"})
		w.selectVersion(again)
		w.same("again", w.questions(q[0].ThreadID), []string{"a"})
	}},
	{"AVersionOfAHiddenExchangeSelectsItsBranch", func(w *fixture) {
		q := w.conversation("a", "b", "c")
		w.answered(q[0], "A")
		w.answered(q[2], "C")
		w.same("branch", w.questions(q[0].ThreadID), []string{"a", "b", "C"})
	}},
	{"PagesHoldTheCurrentBranchOnly", func(w *fixture) {
		q := w.conversation("a", "b", "c")
		w.answered(q[1], "B")
		page, err := w.db.Messages(w.ctx, q[0].ThreadID, 0, 3)
		w.must(err)
		w.same("newest", []string{page[0].Text, page[1].Text, page[2].Text}, []string{"Re: B", "B", "Re: a"})
		w.same("versions", page[0].Versions.Number, 2)
		page, err = w.db.Messages(w.ctx, q[0].ThreadID, page[2].Seq, 3)
		w.must(err)
		w.same("older", []any{len(page), page[0].Text}, []any{1, "a"})
	}},
	{"ARepeatedVersionJoinsItsTurn", func(w *fixture) {
		q := w.conversation("a", "b")
		first, _, err := w.version(w.ada, q[1], "b")
		w.must(err)
		_, again, err := w.version(w.ada, q[1], "b")
		w.must(err)
		w.same("joined", []any{again.ID, again.New}, []any{first.TurnID, false})
		for _, other := range []struct {
			of   thread.Message
			text string
		}{{q[1], "other"}, {q[0], "b"}, {first, "b"}} {
			_, _, err = w.version(w.ada, other.of, other.text)
			w.wantKind(err, core.KindConflict, "")
			w.same("code", core.AsError(err).Code, "turn_working")
		}
		w.same("branch", w.questions(q[0].ThreadID), []string{"a", "b"})
	}},
	{"AnotherScopeIsAnotherQuestion", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		q, _ := w.exchange(th.ID, "hello", 1)
		q.Scope = thread.Scope{SourceIDs: []string{"src_1"}, DocumentIDs: []string{"doc_1", "doc_2"}}
		t := task.Task{
			ID: q.TurnID, Kind: "turn", Key: th.ID, UserID: w.ada.id, Owner: "node", RunAt: w.now,
			DeadlineAt: w.after(1000), CreatedAt: w.now,
		}
		stored, err := w.db.SubmitTurn(w.ctx, w.ada.id, w.ada.agent, "Title", q, t)
		w.must(err)
		w.same("new", stored.New, true)
		w.same("scope", w.messages(th.ID)[0].Scope, q.Scope)
		t.ID = core.NewID(core.PrefixTurn)
		again, err := w.db.SubmitTurn(w.ctx, w.ada.id, w.ada.agent, "Title", q, t)
		w.must(err)
		w.same("joined", again.ID, stored.ID)
		_, _, err = w.submit(w.ada, th.ID, "hello")
		w.wantKind(err, core.KindConflict, "")
	}},
	{"ConcurrentVersionsMakeOneTurn", func(w *fixture) {
		q := w.conversation("a", "b")
		fresh := make(chan bool, 32)
		testkit.Concurrently(32, func(i int) {
			_, t, err := w.version(w.ada, q[i%2], []string{"x", "y"}[i%2])
			if err != nil && !core.IsKind(err, core.KindConflict) {
				w.t.Error(err)
			}
			if err == nil && t.New {
				fresh <- true
			}
		})
		all, err := w.db.AllMessages(w.ctx, q[0].ThreadID, 0, 100)
		w.must(err)
		w.same("turns", []int{len(fresh), len(all)}, []int{1, 5})
	}},
	{"ARetriedVersionIsStoredOnce", func(w *fixture) {
		q := w.conversation("a")
		v, r := w.exchange(q[0].ThreadID, "A", 1)
		t := task.Task{
			ID: v.TurnID, Kind: "turn", Key: v.ThreadID, UserID: w.ada.id, Owner: "node", RunAt: w.now,
			DeadlineAt: w.now.Add(time.Hour), CreatedAt: w.now,
		}
		stored, err := w.db.SubmitVersion(w.ctx, w.ada.id, w.ada.agent, q[0].ID, v, t)
		w.must(err)
		w.must(w.db.FinishTurn(w.ctx, stored.Fence(), task.Outcome{State: task.StateComplete, At: w.after(2)}, r))
		stored, err = w.db.SubmitVersion(w.ctx, w.ada.id, w.ada.agent, q[0].ID, v, t)
		w.must(err)
		w.same("turn", []any{stored.ID, stored.New, stored.State}, []any{v.TurnID, false, task.StateComplete})
		w.same("branch", w.questions(v.ThreadID), []string{"A"})
	}},
	{"AVersionCannotBeSelectedWhileATurnIsActive", func(w *fixture) {
		q := w.conversation("a")
		_, _, err := w.version(w.ada, q[0], "A")
		w.must(err)
		err = w.db.SelectVersion(w.ctx, w.ada.id, w.ada.agent, q[0].ThreadID, q[0].ID)
		w.wantKind(err, core.KindConflict, "")
		w.same("branch", w.questions(q[0].ThreadID), []string{"A"})
	}},
	{"VersionsAreHiddenFromOtherUsersAndAgents", func(w *fixture) {
		q, other := w.conversation("a"), w.conversation("b")
		for _, who := range w.scopes() {
			w.wantMissing(w.db.SelectVersion(w.ctx, who[0], who[1], q[0].ThreadID, q[0].ID), "thread")
			_, _, err := w.version(person{id: who[0], agent: who[1]}, q[0], "x")
			w.wantMissing(err, "thread")
		}
		w.wantMissing(w.db.SelectVersion(w.ctx, w.ada.id, w.ada.agent, q[0].ThreadID, other[0].ID), "message")
		_, _, err := w.version(w.ada, thread.Message{ID: other[0].ID, ThreadID: q[0].ThreadID}, "x")
		w.wantMissing(err, "message")
	}},
	{"ADeletedExchangeLeavesTheOthers", func(w *fixture) {
		q := w.conversation("a", "b", "c")
		id := q[0].ThreadID
		w.delete(q[1])
		w.same("branch", w.questions(id), []string{"a", "c"})
		w.wantMissing(w.db.DeleteExchange(w.ctx, w.ada.id, w.ada.agent, id, q[1].ID), "message")
		w.turn(w.ada, id, "d")
		w.same("continued", w.questions(id), []string{"a", "c", "d"})
	}},
	{"TheLastVersionOfADeletedExchangeIsTheOtherOne", func(w *fixture) {
		q := w.conversation("a", "b", "c")
		id := q[0].ThreadID
		second := w.answered(q[1], "B")
		w.delete(second)
		w.same("branch", w.questions(id), []string{"a", "b", "c"})
		w.same("versions", w.messages(id)[3].Versions == nil, true)
	}},
	{"MessagesAfterADeletedVersionBecomeAVersion", func(w *fixture) {
		q := w.conversation("a", "b", "c")
		id := q[0].ThreadID
		w.answered(q[1], "B")
		w.delete(q[1])
		w.same("branch", w.questions(id), []string{"a", "B"})
		w.same("versions", w.messages(id)[1].Versions, &thread.Versions{Number: 2, Count: 2, Previous: q[2].ID})
		w.selectVersion(q[2])
		w.same("selected", w.questions(id), []string{"a", "c"})
		w.delete(q[0])
		w.same("without the first", w.questions(id), []string{"c"})
		w.delete(q[2])
		w.same("without the third", w.questions(id), []string{"B"})
	}},
	{"AnExchangeCannotBeDeletedWhileItsTurnIsActive", func(w *fixture) {
		q := w.conversation("a", "b")
		active, t, err := w.submit(w.ada, q[0].ThreadID, "c")
		w.must(err)
		err = w.db.DeleteExchange(w.ctx, w.ada.id, w.ada.agent, active.ThreadID, active.ID)
		w.wantKind(err, core.KindConflict, "")
		w.delete(q[0])
		_, r := w.exchange(active.ThreadID, "c", 5)
		r.TurnID = t.ID
		w.must(w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: w.after(5)}, r))
		w.same("branch", w.questions(active.ThreadID), []string{"b", "c"})
	}},
	{"ADeletedExchangeLeavesNoText", func(w *fixture) {
		q := w.conversation("a")
		at, _ := w.position(q[0].ThreadID)
		w.delete(q[0])
		t, err := w.db.Task(w.ctx, q[0].TurnID)
		w.must(err)
		w.same("task", []any{len(t.Input), len(t.Result)}, []any{0, 0})
		events, err := w.db.TaskEvents(w.ctx, t.ID, 0, 10)
		w.must(err)
		w.same("events", []any{len(events), events[0].Kind}, []any{1, task.EventDone})
		after, _ := w.position(q[0].ThreadID)
		w.same("position", after, at)
		_, err = w.db.SubmitTurn(w.ctx, w.ada.id, w.ada.agent, "", q[0], task.Task{
			ID: t.ID, Kind: "turn", Key: t.Key, UserID: w.ada.id, Owner: "node", RunAt: w.now, CreatedAt: w.now,
			DeadlineAt: w.after(1000),
		})
		w.wantMissing(err, "message")
		w.same("messages", len(w.messages(t.Key)), 0)
	}},
	{"DeletingForgetsSummaries", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		first, r := w.exchange(th.ID, "a", 1)
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "", first, r))
		q, r := w.exchange(th.ID, "b", 2)
		r.Answer = thread.Answer{Query: "kept", Summary: &thread.Summary{Through: first.ID, Text: "The user said a."}}
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "", q, r))
		w.delete(first)
		w.same("answer", w.messages(th.ID)[0].Answer, thread.Answer{Query: "kept"})
	}},
	{"ExchangesOfOthersCannotBeDeleted", func(w *fixture) {
		q, other := w.conversation("a"), w.conversation("b")
		for _, who := range w.scopes() {
			w.wantMissing(w.db.DeleteExchange(w.ctx, who[0], who[1], q[0].ThreadID, q[0].ID), "thread")
		}
		w.wantMissing(w.db.DeleteExchange(w.ctx, w.ada.id, w.ada.agent, q[0].ThreadID, other[0].ID), "message")
		w.same("branch", w.questions(q[0].ThreadID), []string{"a"})
	}},
}
