package store_test

import (
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// exchange returns an unsaved question and its reply.
func (w *fixture) exchange(threadID, text string, ms int) (question, reply thread.Message) {
	turn := core.NewID(core.PrefixTurn)
	message := func(role thread.Role, text string) thread.Message {
		return thread.Message{
			ID: core.NewID(core.PrefixMessage), ThreadID: threadID, Role: role, Text: text, Status: "complete",
			TurnID: turn, CreatedAt: w.after(ms),
		}
	}
	return message(thread.RoleUser, text), message(thread.RoleAssistant, "Re: "+text)
}

// append stores an exchange like a turn: submitted, claimed and finished. An existing turn is left unchanged.
func (w *fixture) append(userID, agentID, threadID, title string, q, r thread.Message) error {
	t, err := w.db.SubmitTurn(w.ctx, userID, agentID, title, q, task.Task{
		ID: q.TurnID, Kind: "turn", Key: threadID, UserID: userID, Input: []byte(q.Text), Owner: "node",
		RunAt: q.CreatedAt, DeadlineAt: q.CreatedAt.Add(time.Hour), CreatedAt: q.CreatedAt,
	})
	if err != nil || !t.New {
		return err
	}
	return w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: r.CreatedAt}, r)
}

// turn stores an exchange and returns the id of its turn.
func (w *fixture) turn(p person, threadID, text string) string {
	w.t.Helper()
	q, r := w.exchange(threadID, text, 1)
	w.must(w.append(p.id, p.agent, threadID, text, q, r))
	return q.TurnID
}

var messageTests = []test{
	{"ATurnIsAQuestionAndItsReply", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		q, r := w.exchange(th.ID, "hello", 3)
		r.CreatedAt = w.after(8)
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "Title", q, r))
		q.Seq, r.Seq = 1, 2
		got, err := w.db.Messages(w.ctx, th.ID, 0, 10)
		w.must(err)
		w.same("messages", got, []thread.Message{r, q})
		reply, err := w.db.Reply(w.ctx, th.ID, q.TurnID)
		w.must(err)
		w.same("reply", reply, r)
		last := w.after(8)
		th.Title, th.UpdatedAt, th.LastMessageAt = "Title", last, &last
		stored, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", stored, th)
	}},
	{"TitleIsSetOnce", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		w.turn(w.ada, th.ID, "first")
		w.turn(w.ada, th.ID, "second")
		got, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("title", got.Title, "first")
	}},
	{"RepeatedTurnChangesNothing", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		q, r := w.exchange(th.ID, "hello", 1)
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "", q, r))
		before, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		q2, r2 := w.exchange(th.ID, "hello", 9)
		q2.TurnID, r2.TurnID = q.TurnID, q.TurnID
		w.must(w.append(w.ada.id, w.ada.agent, th.ID, "again", q2, r2))
		w.turn(w.ada, th.ID, "next")
		messages, err := w.db.Messages(w.ctx, th.ID, 0, 10)
		w.must(err)
		w.same("number", len(messages), 4)
		w.same("first question", messages[3].Text, "hello")
		w.same("no number is lost", messages[0].Seq, 4)
		w.same("title", before.Title, "")
	}},
	{"ConcurrentRequestsMakeOneTurn", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		turn := core.NewID(core.PrefixTurn)
		testkit.Concurrently(16, func(int) {
			q, r := w.exchange(th.ID, "hello", 1)
			q.TurnID, r.TurnID = turn, turn
			if err := w.append(w.ada.id, w.ada.agent, th.ID, "", q, r); err != nil {
				w.t.Error(err)
			}
		})
		got, err := w.db.Messages(w.ctx, th.ID, 0, 100)
		w.must(err)
		w.same("messages", len(got), 2)
	}},
	{"ConcurrentTurnsAreNumberedWithoutGaps", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		const n = 24
		testkit.Concurrently(n, func(i int) {
			q, r := w.exchange(th.ID, strconv.Itoa(i), i)
			err := w.append(w.ada.id, w.ada.agent, th.ID, "", q, r)
			for core.IsKind(err, core.KindConflict) { // another turn is active; wait for it
				err = w.append(w.ada.id, w.ada.agent, th.ID, "", q, r)
			}
			if err != nil {
				w.t.Error(err)
			}
		})
		got, err := w.db.Messages(w.ctx, th.ID, 0, 100)
		w.must(err)
		w.same("messages", len(got), 2*n)
		for i, m := range got {
			w.same("number", m.Seq, 2*n-i)
			if i%2 == 1 && (m.TurnID != got[i-1].TurnID || m.Role != thread.RoleUser) {
				w.t.Errorf("message %d is not the question of the reply after it", m.Seq)
			}
		}
	}},
	{"ActivityNeverMovesBack", func(w *fixture) {
		old, recent := w.thread(w.ada, "", w.now), w.thread(w.ada, "", w.after(100))
		q, r := w.exchange(recent.ID, "the clock was set back", -500)
		w.must(w.append(w.ada.id, w.ada.agent, recent.ID, "", q, r))
		threads, err := w.db.Threads(w.ctx, w.ada.id, w.ada.agent, thread.Filter{}, nil, 10)
		w.must(err)
		w.same("order", []string{threads[0].ID, threads[1].ID}, []string{recent.ID, old.ID})
	}},
	{"MessagesArePagedNewestFirst", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		for i := range 4 {
			w.turn(w.ada, th.ID, strconv.Itoa(i))
		}
		var seqs []int
		for before := 0; ; before = seqs[len(seqs)-1] {
			page, err := w.db.Messages(w.ctx, th.ID, before, 3)
			w.must(err)
			for _, m := range page {
				seqs = append(seqs, m.Seq)
			}
			if len(page) < 3 {
				break
			}
			w.turn(w.ada, th.ID, "meanwhile")
		}
		w.same("numbers", seqs, []int{8, 7, 6, 5, 4, 3, 2, 1})
	}},
	{"ReplyIsFoundByThreadAndTurn", func(w *fixture) {
		th, other := w.thread(w.ada, "", w.now), w.thread(w.ada, "", w.now)
		turn := w.turn(w.ada, th.ID, "hello")
		_, err := w.db.Reply(w.ctx, other.ID, turn)
		w.wantMissing(err, "reply")
		_, err = w.db.Reply(w.ctx, th.ID, "trn_none")
		w.wantMissing(err, "reply")
		none, err := w.db.Messages(w.ctx, "thr_none", 0, 10)
		w.must(err)
		w.same("messages of no thread", none, []thread.Message{})
	}},
}
