package store

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/task"
)

// callTasks calls every task method once on existing rows.
func callTasks(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "u", Email: "e", CreatedAt: now}, "h"))
	must(db.JoinNode(ctx, "gone", "v", -time.Hour, false))
	must(db.JoinNode(ctx, "n", "v", time.Hour, false))
	_, err := db.RenewNode(ctx, "n", time.Hour)
	must(err)
	insert := func(id, owner string) task.Task {
		stored, err := db.InsertTask(ctx, task.Task{ID: id, Kind: "k", Key: "key", UserID: "u", Owner: owner})
		must(err)
		return stored
	}
	f := insert("1", "n").Fence()
	insert("1", "n")
	insert("2", "")
	event := task.Event{TaskID: "1", Seq: 1, Kind: task.EventDelta, Payload: []byte("{}")}
	step := task.StepRecord{N: 1, State: task.StepFinished}
	must(db.RecordTask(ctx, f, task.Entry{Events: []task.Event{event}}))
	must(db.RecordTask(ctx, f, task.Entry{Steps: []task.StepRecord{step}, Events: []task.Event{event}, Progress: true}))
	must(db.FinishTask(ctx, f, task.Outcome{State: task.StateComplete, At: now}))
	_, _, err = db.ClaimTasks(ctx, "n", []string{"k"}, 1, now)
	must(err)
	stored, err := db.InsertTask(ctx, task.Task{ID: "limited", Kind: "limited", Key: "other", UserID: "u"})
	must(err)
	claimed, err := db.ClaimLimitedTasks(ctx, "n", "limited", 1, 1, now, now)
	must(err)
	if len(claimed) != 1 || claimed[0].ID != stored.ID {
		t.Fatalf("claimed %v", claimed)
	}
	_, err = db.CancelTask(ctx, "2", now)
	must(err)
	_, err = db.DueTasks(ctx, now, 10)
	must(err)
	insert("3", "")
	for _, q := range []func() error{
		func() error { _, err := db.Task(ctx, "1"); return err },
		func() error { _, err := db.ActiveTask(ctx, "key"); return err },
		func() error { _, err := db.LatestTask(ctx, "key"); return err },
		func() error { return db.PruneImports(ctx, now) },
		func() error { _, err := db.NextTask(ctx, "key", 0); return err },
		func() error { _, err := db.TaskSteps(ctx, "1"); return err },
		func() error { _, err := db.TaskEvents(ctx, "1", 0, 10); return err },
		func() error { _, err := db.LastTaskEvent(ctx, "1"); return err },
		func() error { _, err := db.TaskProgress(ctx, []string{"1"}); return err },
		func() error { _, err := db.LatestTaskNumbers(ctx, []string{"key"}); return err },
		func() error { _, err := db.NodeTasks(ctx, "n"); return err },
		func() error { _, err := db.CountTasks(ctx, now); return err },
		func() error { _, err := db.QueuePositions(ctx, []string{"k"}, []string{"3"}, now); return err },
		func() error { _, err := db.SweepNodes(ctx); return err },
		func() error { _, err := db.PruneTasks(ctx, now.Add(48*time.Hour), 30*24*time.Hour, 10); return err },
		func() error { return db.LeaveNode(ctx, "n") },
		func() error {
			return db.FinishTask(ctx, task.Fence{TaskID: "2", Attempt: 1},
				task.Outcome{State: task.StateQueued, RunAt: now})
		},
		func() error {
			return db.FinishTask(ctx, task.Fence{TaskID: "2", Attempt: 1},
				task.Outcome{State: task.StateCancelled, At: now})
		},
	} {
		must(q())
	}
}

func TestTaskStatementsUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	callTasks(t, db)
	if err := db.DeleteTasks(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	statements := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(*seen))), func(statement string) bool {
		return !strings.Contains(statement, "task")
	})
	checkPlans(t, db, statements, func(step, statement string) bool {
		if strings.Contains(step, "TEMP B-TREE") && !strings.Contains(step, "TEMP B-TREE FOR ORDER") {
			return true
		}
		// Only queued tasks are ranked.
		if strings.Contains(statement, "ranked") && !strings.HasPrefix(step, "SCAN") ||
			strings.HasPrefix(step, "SCAN json_each") || strings.HasPrefix(step, "SCAN (subquery") ||
			slices.Contains([]string{"SCAN ranked", "SCAN head"}, step) {
			return true
		}
		// Few rows: these tables and subqueries are small, and these indexes contain only active tasks.
		return slices.ContainsFunc([]string{
			" node", "picked", "CONSTANT ROW", "place", "waiting", "INDEX task_owner", "INDEX task_cancel",
			"INDEX task_queue",
			"INDEX task_running", "INDEX task_deadline",
		}, func(small string) bool { return strings.Contains(step, small) })
	})
	if len(statements) < 25 {
		t.Errorf("only %d statements were checked", len(statements))
	}
}

// parameters returns a NULL for each parameter of a statement.
func parameters(query string) args {
	n := 0
	for _, match := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(query, -1) {
		if i, err := strconv.Atoi(match[1]); err == nil {
			n = max(n, i)
		}
	}
	return make(args, n)
}

func TestTaskIsNotReassignedDuringAWrite(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			if err := db.JoinNode(t.Context(), "n", "v", time.Hour, false); err != nil {
				t.Fatal(err)
			}
			stored, err := db.InsertTask(t.Context(), task.Task{ID: "1", Kind: "k", Owner: "n"})
			if err != nil {
				t.Fatal(err)
			}
			left := make(chan error, 1)
			for _, entry := range []task.Entry{
				{Steps: []task.StepRecord{{N: 1, State: task.StepStarted}}},
				{Events: []task.Event{{TaskID: "1", Seq: 1, Payload: []byte("{}")}}},
			} {
				err = db.inTx(t.Context(), func(ctx context.Context, tx querier) error {
					err := db.recordTask(ctx, tx, stored.Fence(), entry)
					go func() { left <- db.LeaveNode(t.Context(), "n") }()
					select {
					case err := <-left:
						t.Errorf("the task was taken away (%v)", err)
					case <-time.After(100 * time.Millisecond):
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := <-left; err != nil {
					t.Fatal(err)
				}
				// Start it again for the other kind of entry.
				if err := db.JoinNode(t.Context(), "n", "v", time.Hour, false); err != nil {
					t.Fatal(err)
				}
				claimed, _, err := db.ClaimTasks(t.Context(), "n", []string{"k"}, 1, time.Now())
				if err != nil || len(claimed) != 1 {
					t.Fatal(claimed, err)
				}
				stored = claimed[0]
			}
		})
	}
}

func TestTasksAreDeletedWithTheirUser(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			callTasks(t, db)
			tables := []string{"task", "task_step", "task_event"}
			for _, table := range tables {
				if n, err := db.Count(t.Context(), table); err != nil || n == 0 {
					t.Errorf("%s has %d rows (%v)", table, n, err)
				}
			}
			if _, err := db.exec(t.Context(), "DELETE FROM app_user"); err != nil {
				t.Fatal(err)
			}
			for _, table := range tables {
				if n, err := db.Count(t.Context(), table); err != nil || n != 0 {
					t.Errorf("%d rows of %s outlive their user (%v)", n, table, err)
				}
			}
		})
	}
}
