package store_test

import (
	"sync/atomic"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

// working starts a turn of Ada's in a new thread.
func (w *fixture) working() task.Task {
	w.t.Helper()
	_, t, err := w.submit(w.ada, w.thread(w.ada, "", w.now).ID, "hello")
	w.must(err)
	return t
}

func (w *fixture) reserve(t task.Task, micros int64) error {
	return w.db.ReserveSpend(w.ctx, billing.Reservation{
		ID: core.NewID(core.PrefixSpend), UserID: t.UserID, TurnID: t.ID, Kind: billing.MeteredModel, Model: "m",
		Micros: micros, At: w.now,
	})
}

// wantUsed fails the test unless Ada has used this amount in the month, also according to her key.
func (w *fixture) wantUsed(when string, want int64) {
	w.t.Helper()
	_, used, err := w.db.SpendOf(w.ctx, w.ada.id, core.Month(w.now))
	w.must(err)
	w.same("used "+when, used, want)
}

func (w *fixture) capAda(micros int64) {
	w.t.Helper()
	w.must(w.db.SetSpendCap(w.ctx, w.ada.id, &micros))
}

// finish ends a turn.
func (w *fixture) finish(t task.Task, state task.State) {
	w.t.Helper()
	_, reply := w.exchange(t.Key, "x", 5)
	reply.TurnID, reply.Status = t.ID, string(state)
	w.must(w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: state, At: w.now}, reply))
}

var spendTests = []test{
	{"ReservedAndSettledAmountsCount", func(w *fixture) {
		t := w.working()
		w.must(w.reserve(t, 100))
		w.wantUsed("while it is reserved", 100)
		for range 2 {
			w.must(w.db.SettleSpend(w.ctx, t.ID, 30, false, w.now))
			w.wantUsed("after it was settled", 30)
		}
		w.must(w.reserve(t, 100))
		w.must(w.db.SettleSpend(w.ctx, t.ID, 5, true, w.now))
		w.finish(t, task.StateComplete)
		w.wantUsed("at the end", 35)
		_, other, err := w.db.SpendOf(w.ctx, w.bert.id, core.Month(w.now))
		w.must(err)
		_, before, err := w.db.SpendOf(w.ctx, w.ada.id, "2026-10")
		w.must(err)
		w.same("of others and other months", []int64{other, before}, []int64{0, 0})
	}},
	{"ConcurrentReservationsNeverExceedTheCap", func(w *fixture) {
		w.capAda(7*10 + 9)
		const many = 200
		turns := make([]task.Task, many)
		for i := range turns {
			turns[i] = w.working()
		}
		var got, refused atomic.Int32
		testkit.Concurrently(many, func(i int) {
			switch err := w.reserve(turns[i], 10); {
			case err == nil:
				got.Add(1)
			case core.AsError(err).Code == "spend_cap_reached":
				refused.Add(1)
			default:
				w.t.Error(err)
			}
		})
		w.same("reserved and refused", []int32{got.Load(), refused.Load()}, []int32{7, many - 7})
		w.wantUsed("by all", 70)
		testkit.Concurrently(many, func(i int) {
			if err := w.db.SettleSpend(w.ctx, turns[i].ID, 1, false, w.now); err != nil {
				w.t.Error(err)
			}
		})
		w.wantUsed("after all have settled", 7)
	}},
	{"RefusalStatesTheCap", func(w *fixture) {
		w.capAda(50)
		t := w.working()
		w.must(w.reserve(t, 50))
		err := w.reserve(w.working(), 1)
		w.wantKind(err, core.KindPaymentRequired,
			core.Spend{Cap: 50, Used: 50, ResetsAt: core.MonthEnd(w.now)}.Reached().Detail)
		w.must(w.db.SettleSpend(w.ctx, t.ID, 49, false, w.now))
		w.must(w.reserve(w.working(), 1))
	}},
	{"CallLeftOpenByACrashIsSpent", func(w *fixture) {
		w.capAda(150)
		t := w.working()
		w.must(w.reserve(t, 100))
		err := w.reserve(t, 60) // the next attempt
		w.wantKind(err, core.KindPaymentRequired, "")
		w.wantUsed("after the refusal", 100)
		w.must(w.reserve(t, 50))
		w.must(w.db.SettleSpend(w.ctx, t.ID, 0, false, w.now))
		w.finish(t, task.StateFailed)
		w.wantUsed("at the end", 100)
	}},
	{"OpenReservationIsSpentAtTheEndOfTheTurn", func(w *fixture) {
		used := int64(0)
		for _, state := range []task.State{task.StateComplete, task.StateFailed, task.StateCancelled} {
			t := w.working()
			w.must(w.reserve(t, 10))
			w.must(w.db.SettleSpend(w.ctx, t.ID, 4, false, w.now))
			w.must(w.reserve(t, 100))
			w.finish(t, state)
			w.wantUsed("after it was "+string(state), used+104)
			w.wantMissing(w.reserve(t, 1), "turn")
			for range 2 {
				w.must(w.db.SettleSpend(w.ctx, t.ID, 9, false, w.now))
				w.wantUsed("by one that came late", used+13)
			}
			used += 13
		}
		t := w.working()
		w.must(w.reserve(t, 100))
		w.must(w.db.FinishTask(w.ctx, t.Fence(), task.Outcome{State: task.StateFailed, At: w.now}))
		w.wantUsed("after the engine's own end", used+100)
	}},
	{"DeletingATurnDoesNotMakeItsCallFree", func(w *fixture) {
		t := w.working()
		w.must(w.reserve(t, 100))
		w.must(w.db.DeleteThread(w.ctx, w.ada.id, w.ada.agent, t.Key, w.now))
		w.wantUsed("after its thread has gone", 100)
		w.wantMissing(w.reserve(t, 1), "turn")
		w.must(w.db.SettleSpend(w.ctx, t.ID, 30, false, w.now))
		w.wantUsed("after its call has ended", 30)
		t = w.working()
		w.must(w.reserve(t, 100))
		w.must(w.db.SettleSpend(w.ctx, t.ID, 20, false, w.now))
		w.must(w.reserve(t, 100))
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.agent))
		w.wantUsed("after its agent has gone", 150)
	}},
	{"ReservationNeedsTheUsersTurn", func(w *fixture) {
		t := w.working()
		t.UserID = w.bert.id
		w.wantMissing(w.reserve(t, 1), "turn")
		_, _, err := w.db.SpendOf(w.ctx, "usr_none", core.Month(w.now))
		w.wantMissing(err, "user")
	}},
}
