package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

func TestBinKeepsThreadsForTheDaysOfTheSetting(t *testing.T) {
	t.Parallel()
	for days, kept := range map[string][]int{"7": {1, 1, 0}, "0": {0, 0, 0}} { // at once, after 6 and after 8 days
		in, _ := openTestApp(t, map[string]string{"CARREL_BIN_DAYS": days})
		now := time.Now()
		err := errors.Join(
			in.Store.InsertUser(t.Context(), account.User{ID: "usr", Email: "u@example.org", Plan: core.PlanOpen}, "none"),
			in.Store.InsertAgent(t.Context(),
				agent.Agent{ID: "agt", UserID: "usr", Sources: []agent.Source{{ID: "src", Default: true}}}),
		)
		if err == nil {
			_, err = in.Store.InsertThread(t.Context(), "usr",
				thread.Thread{ID: "thr", AgentID: "agt", Status: thread.StatusIdle})
		}
		if err == nil {
			err = in.Store.DeleteThread(t.Context(), "usr", "agt", "thr", now)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, later := range []int{0, 6, 8} {
			clock := testkit.NewClock()
			clock.Set(now.AddDate(0, 0, later))
			in.bin.Clock, in.Clock = clock, clock
			if err := in.applyRetention(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			items, err := in.Store.BinItems(t.Context(), "usr", "agt", "", "", 10)
			if err != nil || len(items) != kept[i] {
				t.Errorf("bin-days %s: after %d days the bin has %+v, %v", days, later, items, err)
			}
		}
	}
}

func TestOneNodeDeletesExpiredRecords(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"CARREL_DATABASE": testkit.Postgres(t)}
	clock := testkit.NewClock() // all nodes submit the task of the same hour
	clock.Set(time.Now())
	var nodes []*App
	for range 3 {
		in, _ := openTestApp(t, vars)
		in.Clock = clock
		if err := in.Tasks.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := in.Tasks.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		nodes = append(nodes, in)
	}
	old := time.Now().Add(-2 * billingLife)
	if err := nodes[0].Store.TakeEvent(t.Context(), "evt_old", old); err != nil {
		t.Fatal(err)
	}
	for _, in := range nodes {
		if err := in.startRetention(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for {
		latest, err := nodes[0].Store.LatestTask(t.Context(), retentionKind)
		if err != nil {
			t.Fatal(err)
		}
		if latest.State == task.StateComplete {
			break
		}
		if latest.State.Ended() {
			t.Fatalf("the task is %s: %s", latest.State, latest.ErrorDetail)
		}
		time.Sleep(10 * time.Millisecond)
	}
	var runs int64
	for _, in := range nodes {
		stats, err := in.Tasks.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runs += stats.Started
	}
	if runs != 1 {
		t.Errorf("%d nodes ran the task", runs)
	}
	if kept, err := nodes[0].Store.EventTaken(t.Context(), "evt_old"); kept || err != nil {
		t.Errorf("the event is kept: %t, %v", kept, err)
	}
}
