package app

import (
	"context"
	"testing"
	"time"

	"carrel/internal/task"
	"carrel/internal/testkit"
)

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
