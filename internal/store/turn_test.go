package store_test

import (
	"errors"
	"fmt"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// submit stores a question with a running task, and returns both.
func (w *fixture) submit(p person, threadID, text string) (thread.Message, task.Task, error) {
	q, _ := w.exchange(threadID, text, 1)
	t, err := w.db.SubmitTurn(w.ctx, p.id, p.agent, "Title", q, task.Task{
		ID: q.TurnID, Kind: "turn", Key: threadID, UserID: p.id, Input: []byte(text), Owner: "node",
		RunAt: w.now, DeadlineAt: w.after(1000), CreatedAt: w.now,
	})
	return q, t, err
}

func (w *fixture) messages(threadID string) []thread.Message {
	w.t.Helper()
	got, err := w.db.Messages(w.ctx, threadID, 0, 100)
	w.must(err)
	return got
}

func (w *fixture) position(threadID string) (task.Position, bool) {
	w.t.Helper()
	at, working, err := w.db.ThreadPosition(w.ctx, threadID)
	w.must(err)
	return at, working
}

var turnTests = []test{
	{"SubmittedTurnIsWorking", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		q, t, err := w.submit(w.ada, th.ID, "hello")
		w.must(err)
		w.same("state", []any{t.New, t.State, t.Number, t.Owner}, []any{true, task.StateRunning, int64(1), "node"})
		now, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", []any{now.Status, now.Title}, []any{thread.StatusWorking, "Title"})
		q.Seq = 1
		w.same("messages", w.messages(th.ID), []thread.Message{q})
		active, err := w.db.ActiveTask(w.ctx, th.ID)
		w.must(err)
		w.same("active", active.ID, q.TurnID)
	}},
	{"SameTextJoinsAWorkingTurnAndAnotherConflicts", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		q, _, err := w.submit(w.ada, th.ID, "hello")
		w.must(err)
		_, again, err := w.submit(w.ada, th.ID, "hello")
		w.must(err)
		w.same("joined", []any{again.ID, again.New}, []any{q.TurnID, false})
		_, _, err = w.submit(w.ada, th.ID, "other")
		w.wantKind(err, core.KindConflict, "")
		w.same("code", core.AsError(err).Code, "turn_working")
		w.same("messages", len(w.messages(th.ID)), 1)
	}},
	{"ConcurrentQuestionsMakeOneTurn", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		fresh, conflicts := make(chan bool, 32), make(chan bool, 32)
		testkit.Concurrently(32, func(i int) {
			_, t, err := w.submit(w.ada, th.ID, []string{"a", "b"}[i%2])
			switch {
			case core.IsKind(err, core.KindConflict):
				conflicts <- true
			case err != nil:
				w.t.Error(err)
			case t.New:
				fresh <- true
			}
		})
		w.same("turns", []int{len(fresh), len(conflicts), len(w.messages(th.ID))}, []int{1, 16, 1})
	}},
	{"ConcurrentTurnsOfManyThreadsAreAllStored", func(w *fixture) {
		threads := make([]thread.Thread, 40)
		for i := range threads {
			threads[i] = w.thread(w.ada, "", w.now)
		}
		steps := []task.StepRecord{{N: 1, Kind: "answer", State: task.StepFinished, Output: []byte("x"), StartedAt: w.now}}
		testkit.Concurrently(len(threads), func(i int) {
			q, t, err := w.submit(w.ada, threads[i].ID, fmt.Sprint("question ", i))
			if err != nil || !t.New || t.Number != 1 {
				w.t.Errorf("turn %d: %+v, %v", i, t, err)
				return
			}
			_, reply := w.exchange(threads[i].ID, q.Text, 5)
			reply.TurnID = t.ID
			entry := task.Entry{Steps: steps, Events: []task.Event{
				{TaskID: t.ID, Number: 1, Seq: 1, Attempt: 1, Kind: task.EventDelta, Payload: []byte(q.Text)},
			}}
			if err := w.db.FinishTurn(w.ctx, t.Fence(),
				task.Outcome{State: task.StateComplete, At: w.after(5), Entry: entry}, reply); err != nil {
				w.t.Errorf("end of turn %d: %v", i, err)
			}
		})
		for i, th := range threads {
			all := w.messages(th.ID)
			if len(all) != 2 {
				w.t.Fatalf("thread %d has %d messages", i, len(all))
			}
			text := fmt.Sprint("question ", i)
			w.same("texts", []any{all[1].Text, all[1].Seq, all[0].Text, all[0].Seq}, []any{text, 1, "Re: " + text, 2})
			events, err := w.db.TaskEvents(w.ctx, all[0].TurnID, 0, 10)
			w.must(err)
			if len(events) != 2 || string(events[0].Payload) != text || events[1].Kind != task.EventDone ||
				events[1].Seq != 2 {
				w.t.Errorf("events of turn %d: %+v", i, events)
			}
			journal, err := w.db.TaskSteps(w.ctx, all[0].TurnID)
			w.must(err)
			w.same("steps", len(journal), 1)
			now, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
			w.must(err)
			w.same("status", now.Status, thread.StatusIdle)
		}
	}},
	{"ConcurrentTurnsKeepTheLimitPerUser", func(w *fixture) {
		running := make(chan bool, 40)
		people := []person{w.ada, w.bert}
		threads := make([]thread.Thread, 20)
		for i := range threads {
			threads[i] = w.thread(people[i%2], "", w.now)
		}
		testkit.Concurrently(len(threads), func(i int) {
			p, th := people[i%2], threads[i]
			q, _ := w.exchange(th.ID, "hello", 1)
			t, err := w.db.SubmitTurn(w.ctx, p.id, p.agent, "Title", q, task.Task{
				ID: q.TurnID, Kind: "turn", Key: th.ID, UserID: p.id, Input: []byte("hello"), Owner: "node", RunAt: w.now,
				DeadlineAt: w.after(1000), CreatedAt: w.now, Start: task.Start{MaxPerUser: 3, DeadlineAt: w.after(1000)},
			})
			if err != nil || !t.New {
				w.t.Errorf("turn %d: %+v, %v", i, t, err)
			} else if t.State == task.StateRunning {
				running <- true
			}
		})
		w.same("running", len(running), 6)
	}},
	{"FailedTurnKeepsItsPartialReply", func(w *fixture) {
		for _, state := range []task.State{task.StateFailed, task.StateCancelled} {
			th := w.thread(w.ada, "", w.now)
			_, t, err := w.submit(w.ada, th.ID, "hello")
			w.must(err)
			_, reply := w.exchange(th.ID, "half", 5)
			reply.TurnID, reply.Status, reply.Error = t.ID, string(state), &thread.TurnError{
				Code:   "why",
				Detail: "Because.",
			}
			w.must(w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: state, Code: "why", At: w.after(5)}, reply))
			reply.Seq = 2
			w.same("reply", w.messages(th.ID)[0], reply)
			now, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
			w.must(err)
			w.same("thread", now.Status, thread.StatusIdle)
		}
	}},
	{"TurnWithoutAReplyLeavesItsThreadIdle", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		_, t, err := w.submit(w.ada, th.ID, "Why?")
		w.must(err)
		w.must(w.db.FinishTask(w.ctx, t.Fence(),
			task.Outcome{State: task.StateFailed, Code: task.CodeInternal, At: w.now}))
		now, err := w.db.Thread(w.ctx, w.ada.id, w.ada.agent, th.ID)
		w.must(err)
		w.same("thread", now.Status, thread.StatusIdle)
	}},
	{"LostFenceStoresNothing", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		_, t, err := w.submit(w.ada, th.ID, "hello")
		w.must(err)
		_, reply := w.exchange(th.ID, "late", 5)
		reply.TurnID = t.ID
		stale := t.Fence()
		stale.Attempt++
		if err := w.db.FinishTurn(w.ctx, stale, task.Outcome{State: task.StateComplete, At: w.now},
			reply); !errors.Is(err, task.ErrLost) {
			w.t.Errorf("another attempt: %v", err)
		}
		_, err = w.db.CancelTask(w.ctx, t.ID, w.now)
		w.must(err)
		if err := w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: w.now},
			reply); !errors.Is(err, task.ErrCancelled) {
			w.t.Errorf("after a cancellation: %v", err)
		}
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, th.ID, w.now))
		if err := w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: task.StateCancelled, At: w.now},
			reply); !errors.Is(err, task.ErrLost) {
			w.t.Errorf("of a deleted thread: %v", err)
		}
		w.same("messages", len(w.messages(th.ID)), 1) // the question, for the bin
	}},
	{"APositionIsTheLastEventOfTheLastTurn", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		at, working := w.position(th.ID)
		w.same("of nothing", []any{at, working}, []any{task.Position{}, false})
		w.turn(w.ada, th.ID, "first")
		at, working = w.position(th.ID)
		w.same("at the end", []any{at, working}, []any{task.Position{Number: 1, Seq: 1}, false})
		_, t, err := w.submit(w.ada, th.ID, "second")
		w.must(err)
		at, working = w.position(th.ID)
		w.same("at the beginning", []any{at, working}, []any{task.Position{Number: 2}, true})
		w.must(w.db.RecordTask(w.ctx, t.Fence(), task.Entry{Events: []task.Event{
			{TaskID: t.ID, Number: 2, Seq: 1, Attempt: 1, Kind: task.EventDelta, Payload: []byte(`{}`)},
		}}))
		at, working = w.position(th.ID)
		w.same("in between", []any{at, working}, []any{task.Position{Number: 2, Seq: 1}, true})
	}},
	{"DeletingAThreadDeletesItsTurns", func(w *fixture) {
		th := w.thread(w.ada, "", w.now)
		_, first, err := w.submit(w.ada, th.ID, "hello")
		w.must(err)
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.agent))
		_, err = w.db.Task(w.ctx, first.ID)
		w.wantMissing(err, "task")
		th = w.thread(w.bert, "", w.now)
		_, second, err := w.submit(w.bert, th.ID, "hello")
		w.must(err)
		w.must(w.db.DeleteThread(w.ctx, w.bert.id, w.bert.agent, th.ID, w.now))
		_, err = w.db.Task(w.ctx, second.ID)
		w.wantMissing(err, "task")
		_, _, err = w.submit(w.bert, th.ID, "hello")
		w.wantMissing(err, "thread")
	}},
}
