package store_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

// wantBalanced fails the test unless all sums match the ledger rows.
func (w *fixture) wantBalanced(when string) {
	w.t.Helper()
	differences, err := w.db.SpendDifferences(w.ctx)
	w.must(err)
	w.same("sums that are wrong "+when, differences, []billing.SpendDifference{})
}

// with starts a turn that Ada submitted with a credential.
func (w *fixture) with(credentialID string) task.Task {
	w.t.Helper()
	t := w.newTask(w.thread(w.ada, "", w.now).ID, "node")
	t.UserID, t.CredentialID = w.ada.id, credentialID
	t, err := w.db.InsertTask(w.ctx, t)
	w.must(err)
	return t
}

// hold reserves an amount for Ada outside of any turn.
func (w *fixture) hold(id string, kind billing.Metered, micros int64) error {
	return w.db.ReserveSpend(w.ctx, billing.Reservation{
		ID: id, UserID: w.ada.id, CredentialID: "crd_hold", AgentID: w.ada.agent, Kind: kind, Model: "m", Micros: micros,
		At: w.now,
	})
}

// spender makes paid calls of one turn, any of which may be interrupted by a crash.
type spender struct {
	w    *fixture
	turn task.Task
	rng  *rand.Rand
	// limit is the cap that must never be exceeded.
	limit int64
}

// live makes calls, loses some of them, and sometimes ends the turn.
func (s *spender) live(calls int) error {
	for range calls {
		micros := s.rng.Int64N(20)
		err := s.w.reserve(s.turn, micros)
		switch code := core.AsError(err).Code; {
		case err == nil:
		case code == "spend_cap_reached":
			continue
		case core.IsKind(err, core.KindNotFound):
			return nil // the turn has ended
		default:
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
		switch s.rng.IntN(10) {
		case 0: // a crash: the next attempt reserves again
		case 1: // the turn ends during its call, possibly by another node
			err := s.w.db.FinishTask(s.w.ctx, s.turn.Fence(), task.Outcome{State: task.StateFailed, At: s.w.now})
			if err != nil {
				return err
			}
			if s.rng.IntN(2) == 0 {
				return s.settle(micros)
			}
		case 2: // the thread is deleted
			return s.w.db.DeleteThread(s.w.ctx, s.w.ada.id, s.w.ada.agent, s.turn.Key, s.w.now)
		default:
			if err := s.settle(micros); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle settles part of a reservation, sometimes twice like a client that got no response.
func (s *spender) settle(reserved int64) error {
	for range 1 + s.rng.IntN(2) {
		if err := s.w.db.SettleSpend(s.w.ctx, s.turn.ID, s.rng.Int64N(reserved+1), false, s.w.now); err != nil {
			return err
		}
	}
	return nil
}

func (s *spender) check() error {
	_, used, err := s.w.db.SpendOf(s.w.ctx, s.w.ada.id, core.Month(s.w.now))
	if err == nil && used > s.limit {
		err = fmt.Errorf("%d are used of a cap of %d", used, s.limit)
	}
	return err
}

var spendLedgerTests = []test{
	{"SumsAlwaysMatchTheLedger", func(w *fixture) {
		const limit, spenders, calls = 1000, 16, 12
		w.capAda(limit)
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, "crd_0", new(int64(200))))
		turns := make([]task.Task, spenders)
		for i := range turns {
			turns[i] = w.with(fmt.Sprintf("crd_%d", i%3))
		}
		seed := rand.Uint64()
		w.t.Logf("the seed is %d", seed)
		testkit.Concurrently(spenders, func(i int) {
			s := spender{w: w, turn: turns[i], rng: rand.New(rand.NewPCG(seed, uint64(i))), limit: limit}
			if err := s.live(calls); err != nil {
				w.t.Error(err)
			}
		})
		w.wantBalanced("after all")
	}},
	{"CredentialIsLimitedByItsCap", func(w *fixture) {
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, "crd_a", new(int64(50))))
		t := w.with("crd_a")
		w.must(w.reserve(t, 50))
		w.wantKind(w.reserve(w.with("crd_a"), 1), core.KindPaymentRequired, core.Spend{
			Of: core.SpendOfCredential, Cap: 50, Used: 50, ResetsAt: core.MonthEnd(w.now),
		}.Reached().Detail)
		w.must(w.reserve(w.with("crd_b"), 1))
		w.must(w.db.SettleSpend(w.ctx, t.ID, 10, false, w.now))
		w.must(w.reserve(w.with("crd_a"), 40))
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, "crd_a", nil))
		w.must(w.reserve(w.with("crd_a"), 1000))
		w.wantBalanced("with credentials")
	}},
	{"TurnIsLimitedByThePlanCap", func(w *fixture) {
		w.must(w.db.PutPlan(w.ctx, billing.Plan{Name: "small", TurnCap: new(int64(30)), CreatedAt: w.now, UpdatedAt: w.now}))
		w.must(w.db.SetPlan(w.ctx, w.ada.id, "small"))
		t := w.working()
		w.must(w.reserve(t, 20))
		w.must(w.db.SettleSpend(w.ctx, t.ID, 15, false, w.now))
		w.wantKind(w.reserve(t, 16), core.KindPaymentRequired,
			core.Spend{Of: core.SpendOfTurn, Cap: 30, Used: 15}.Reached().Detail)
		w.must(w.reserve(t, 15))
		w.must(w.reserve(w.working(), 30))
	}},
	{"UserCapOverridesThePlanCap", func(w *fixture) {
		w.must(w.db.PutPlan(w.ctx, billing.Plan{
			Name: "capped", SpendCap: new(int64(30)), CreatedAt: w.now, UpdatedAt: w.now,
		}))
		w.must(w.db.SetPlan(w.ctx, w.ada.id, "capped"))
		w.wantKind(w.reserve(w.working(), 31), core.KindPaymentRequired, "")
		w.capAda(40)
		w.must(w.reserve(w.working(), 31))
	}},
	{"PlanAllowsOnlyItsModels", func(w *fixture) {
		p := w.plan(func(p *billing.Plan) { p.Models = []string{"other", "m"} })
		w.must(w.db.SetPlan(w.ctx, w.ada.id, p.Name))
		w.must(w.reserve(w.working(), 1))
		w.plan(func(p *billing.Plan) { p.Models = []string{"other"} })
		t := w.working()
		err := w.reserve(t, 1)
		w.wantKind(err, core.KindForbidden, "")
		w.same("code", core.AsError(err).Code, "capability_disabled")
		w.must(w.hold("spd_m"+w.ada.id, billing.MeteredSearch, 1)) // not a model call
		w.must(w.db.SettleRow(w.ctx, "spd_m"+w.ada.id, 1, false, w.now))
	}},
	{"ReservationWithoutATurnIsSettledByID", func(w *fixture) {
		w.capAda(100)
		w.must(w.hold("spd_vectors"+w.ada.id, billing.MeteredEmbedding, 60))
		w.wantKind(w.hold("spd_search"+w.ada.id, billing.MeteredSearch, 41), core.KindPaymentRequired, "")
		for range 2 {
			w.must(w.db.SettleRow(w.ctx, "spd_vectors"+w.ada.id, 20, false, w.now))
			w.wantUsed("after it was settled", 20)
		}
		w.must(w.hold("spd_search"+w.ada.id, billing.MeteredSearch, 41))
		w.must(w.db.SettleRow(w.ctx, "spd_nothing", 20, false, w.now))
		w.wantUsed("with one open", 61)
		ended, err := w.db.EndHolds(w.ctx, w.now)
		w.must(err)
		w.same("ended that are not old enough", ended, 0)
		ended, err = w.db.EndHolds(w.ctx, w.after(1))
		w.must(err)
		w.same("ended", ended, 1)
		w.wantUsed("after a crash", 61)
		w.must(w.db.SettleRow(w.ctx, "spd_search"+w.ada.id, 1, false, w.now))
		w.wantUsed("after it was settled late", 21)
		w.wantBalanced("with holds")
	}},
	{"SearchesCountTowardsTheTurnNextToItsModelCall", func(w *fixture) {
		w.must(w.db.PutPlan(w.ctx, billing.Plan{
			Name: "searching", TurnCap: new(int64(100)), CreatedAt: w.now, UpdatedAt: w.now,
		}))
		w.must(w.db.SetPlan(w.ctx, w.ada.id, "searching"))
		t := w.working()
		search := func(n string, micros int64) error {
			return w.db.ReserveSpend(w.ctx, billing.Reservation{
				ID: "spd_" + n + t.ID, UserID: w.ada.id, TurnID: t.ID, Kind: billing.MeteredSearch, Model: "brave", Micros: micros,
				At: w.now,
			})
		}
		w.must(w.reserve(t, 50))
		w.must(search("a", 20))
		w.must(search("b", 20))
		w.wantKind(search("c", 11), core.KindPaymentRequired, "") // open reservations count for the turn
		w.wantUsed("with three open", 90)
		w.must(w.db.SettleSpend(w.ctx, t.ID, 30, false, w.now))
		w.wantUsed("when the model has answered", 70)
		w.must(w.db.SettleRow(w.ctx, "spd_a"+t.ID, 15, true, w.now))
		w.wantUsed("when one search has ended", 65)
		w.must(w.reserve(t, 10)) // a new model call does not settle the open search
		w.wantUsed("with the next call", 75)
		w.must(w.db.SettleSpend(w.ctx, t.ID, 10, false, w.now))
		w.finish(t, task.StateComplete)
		ended, err := w.db.EndHolds(w.ctx, w.after(1))
		w.must(err)
		w.same("ended that a crash left open", ended, 1)
		w.wantUsed("after all", 75)
		w.wantBalanced("with searches of a turn")
	}},
	{"ConcurrentTurnsNeverExceedTheCap", func(w *fixture) {
		w.capAda(7*10 + 9)
		const many = 200
		turns := make([]task.Task, many)
		for i := range turns {
			turns[i] = w.with("crd_many")
		}
		var paid atomic.Int32
		testkit.Concurrently(many, func(i int) {
			if err := w.reserve(turns[i], 10); err != nil {
				return
			}
			paid.Add(1)
			if err := w.db.SettleSpend(w.ctx, turns[i].ID, 10, false, w.now); err != nil {
				w.t.Error(err)
			}
		})
		w.same("paid", paid.Load(), int32(7))
		w.wantUsed("by all", 70)
		w.wantBalanced("after many at once")
	}},
}
