package billing_test

import (
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
)

func TestSpendIsLimitedByTheMonthlyCap(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := fixture.OpenStore(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	clock := testkit.NewClock()
	micros := int64(100)
	u := account.User{ID: "usr", Email: "u@example.org", SpendCap: &micros, CreatedAt: clock.Now()}
	must(db.InsertUser(ctx, u, "none"))
	must(db.InsertAgent(ctx, agent.Agent{ID: "agt", UserID: "usr", Sources: []agent.Source{{ID: "src", Default: true}}}))
	_, err := db.InsertThread(ctx, "usr", thread.Thread{ID: "thr", AgentID: "agt"})
	must(err)
	_, err = db.InsertTask(
		ctx,
		task.Task{
			ID:         "trn",
			Kind:       "turn",
			Key:        "thr",
			UserID:     "usr",
			Owner:      "n",
			RunAt:      clock.Now(),
			DeadlineAt: clock.Now(),
			CreatedAt:  clock.Now(),
		},
	)
	must(err)
	spending := billing.NewService(billing.Deps{Store: db, Clock: clock, Audit: &notes{}}).Spending
	want := core.Spend{Capped: true, Cap: 100, ResetsAt: core.MonthEnd(clock.Now())}
	check := func(used int64) {
		t.Helper()
		want.Used = used
		if got, err := spending.Spend(ctx, "usr"); err != nil || got != want {
			t.Errorf("spend is %+v, %v, want %+v", got, err, want)
		}
	}
	must(spending.Reserve(ctx, "usr", "trn", "m", 60))
	check(60)
	must(spending.Settle(ctx, "usr", "trn", 70, false)) // more than reserved
	check(70)
	if err := spending.Reserve(ctx, "usr", "trn", "m", 31); core.AsError(err).Code != "spend_cap_reached" {
		t.Errorf("above the cap: %v", err)
	}
	must(spending.Reserve(ctx, "usr", "trn", "m", -5))
	check(70)
	clock.Advance(31 * 24 * time.Hour)
	want.ResetsAt = core.MonthEnd(clock.Now())
	check(0)
}
