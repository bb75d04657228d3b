package store_test

import (
	"fmt"
	"log/slog"
	"time"

	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

// Days for which the scripted year keeps its records, and the days between two uses.
const (
	keptTasks, keptLedger, keptAudit = 30, 60, 90
	useEvery                         = 3
)

// bounded are the tables that retention bounds, with the most rows that the scripted year may leave. The rows of one
// use are kept for a number of days; the last turn and the rolled-up days stay.
var bounded = map[string]int{
	"task": keptTasks/useEvery + 2, "task_step": keptTasks/useEvery + 2, "task_event": 4 * (keptTasks/useEvery + 2),
	"audit": 4*keptAudit/useEvery + 10, "audit_head": 1, // each use also deletes once, which adds an entry
}

// growing are the tables of the scripted year that grow with what people keep, and why.
var growing = map[string]string{
	"message":   "the conversation, until its thread is deleted",
	"spend_row": "one row per user, day, credential, agent and model, for the usage reports",
	"budget":    "one row per user and month, for the caps", "credential_budget": "the same per credential",
}

var retentionTests = []test{
	{"YearOfUseLeavesBoundedTables", func(w *fixture) {
		clock := testkit.NewClock()
		clock.Set(w.now)
		log := audit.New(audit.Deps{Store: w.db, Clock: clock, Log: slog.New(slog.DiscardHandler)})
		spending := billing.NewService(billing.Deps{
			Store: w.db, Clock: clock, Audit: log, DefaultPlan: core.PlanNone,
		}).Spending
		th := w.thread(w.ada, "", w.now)
		before := w.counts()
		const uses = 365 / useEvery
		for i := range uses {
			w.now = clock.Now()
			w.useOnce(th.ID, i, log, spending)
			w.now = w.now.AddDate(0, 0, useEvery)
			clock.Set(w.now)
			for n := 1; n > 0; {
				var err error
				n, err = w.db.PruneTasks(w.ctx, w.now, keptTasks*24*time.Hour, 5)
				w.must(err)
			}
			w.must(spending.RollUp(w.ctx, w.now.AddDate(0, 0, -keptLedger)))
			w.must(log.Prune(w.ctx, w.now.AddDate(0, 0, -keptAudit)))
		}
		for table, n := range w.counts() {
			added := n - before[table]
			limit, limited := bounded[table]
			switch {
			case limited && added > limit:
				w.t.Errorf("%s has %d rows more after a year, want at most %d", table, added, limit)
			case !limited && added > 0 && growing[table] == "":
				w.t.Errorf("%s grew by %d rows and has neither a bound nor a reason", table, added)
			}
		}
		w.checkYear(uses, log, th.ID)
	}},
	{"LedgerIsRolledUpByDay", func(w *fixture) {
		// Calls of another day and an open call stay as they are.
		for i, c := range []struct {
			credential string
			day        int
		}{{"crd_a", 0}, {"crd_a", 0}, {"crd_b", 0}, {"crd_a", 5}} {
			id := core.NewID(core.PrefixSpend)
			at := w.now.AddDate(0, 0, c.day)
			w.must(w.db.ReserveSpend(w.ctx, billing.Reservation{
				ID: id, UserID: w.ada.id, CredentialID: c.credential, AgentID: w.ada.agent, Kind: billing.MeteredEmbedding,
				Model: "m", Micros: 10, At: at,
			}))
			w.must(w.db.SettleRow(w.ctx, id, int64(i+1), false, at))
		}
		w.must(w.hold("spd_open", billing.MeteredEmbedding, 7))
		lines := func() []billing.UsageLine {
			got, err := w.db.UsageLines(w.ctx, w.ada.id, "2026-01-01", "2026-12-31")
			w.must(err)
			return got
		}
		want := lines()
		found, err := w.db.RollUpSpend(w.ctx, core.Day(w.now.AddDate(0, 0, 1)))
		w.same("rolled up", []any{found, err}, []any{true, nil})
		w.same("usage", lines(), want)
		w.wantBalanced("after the roll-up")
		found, err = w.db.RollUpSpend(w.ctx, core.Day(w.now.AddDate(0, 0, 1)))
		w.same("again", []any{found, err}, []any{false, nil})
		w.must(w.db.SettleRow(w.ctx, "spd_open", 3, false, w.now))
		w.wantBalanced("after a late settlement")
	}},
}

// useOnce runs a turn of one step, makes three paid calls and writes three entries of the audit log.
func (w *fixture) useOnce(threadID string, i int, log *audit.Log, spending *billing.Spending) {
	w.t.Helper()
	q, reply := w.exchange(threadID, fmt.Sprintf("question %d", i), 1)
	q.CreatedAt, reply.CreatedAt = w.now, w.now
	t, err := w.db.SubmitTurn(w.ctx, w.ada.id, w.ada.agent, "", q, task.Task{
		ID: q.TurnID, Kind: "turn", Key: threadID, UserID: w.ada.id, Owner: "node",
		RunAt: w.now, DeadlineAt: w.after(1000), CreatedAt: w.now,
	})
	w.must(err)
	for range 3 {
		w.must(spending.Reserve(w.ctx, w.ada.id, t.ID, "m", 10))
		w.must(spending.Settle(w.ctx, w.ada.id, t.ID, 7, false))
		w.must(log.Append(w.ctx, audit.Record{Event: audit.SignedIn, UserID: w.ada.id}))
	}
	end := w.now
	entry := task.Entry{
		Steps: []task.StepRecord{
			{N: 1, Kind: "answer", State: task.StepFinished, LastSeq: 2, StartedAt: w.now, EndedAt: &end},
		},
		Events: []task.Event{
			{TaskID: t.ID, Number: t.Number, Seq: 1, Attempt: 1, Kind: task.EventStep, Payload: []byte("{}")},
			{TaskID: t.ID, Number: t.Number, Seq: 2, Attempt: 1, Kind: task.EventDelta, Payload: []byte("{}")},
		},
	}
	reply.TurnID = t.ID
	w.must(w.db.FinishTurn(w.ctx, t.Fence(), task.Outcome{State: task.StateComplete, At: w.now, Entry: entry}, reply))
}

// checkYear checks that what people see has not changed.
func (w *fixture) checkYear(uses int, log *audit.Log, threadID string) {
	w.t.Helper()
	w.wantBalanced("after a year")
	n, err := w.db.Count(w.ctx, "spend_row WHERE user_id = '"+w.ada.id+"'")
	w.must(err)
	if detail := keptLedger / useEvery; n > uses+3*detail {
		w.t.Errorf("%d ledger rows after a year", n)
	}
	var calls, spent int64
	for _, year := range []string{"2026", "2027"} {
		rows, err := w.db.UsageBy(w.ctx, w.ada.id, billing.UsageByModel, year+"-01-01", year+"-12-31")
		w.must(err)
		for _, r := range rows {
			calls, spent = calls+r.Calls, spent+r.Spent
		}
	}
	w.same("calls and spend", []int64{calls, spent}, []int64{int64(3 * uses), int64(21 * uses)})
	w.same("messages", len(w.messages(threadID)), min(100, 2*uses))
	position, working := w.position(threadID)
	w.same("the last turn", []any{position.Number, working}, []any{int64(uses), false})
	head, err := log.Verify(w.ctx, nil)
	w.must(err)
	anchor, err := w.db.AuditAnchor(w.ctx)
	w.must(err)
	if anchor.Seq == 0 || anchor.Seq >= head.Seq {
		w.t.Errorf("pruned through %d of %d", anchor.Seq, head.Seq)
	}
}

// counts returns the number of rows of every table.
func (w *fixture) counts() map[string]int {
	w.t.Helper()
	names, err := w.db.Tables(w.ctx)
	w.must(err)
	out := map[string]int{}
	for _, name := range names {
		n, err := w.db.Count(w.ctx, name)
		w.must(err)
		out[name] = n
	}
	return out
}
