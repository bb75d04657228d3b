package store

import (
	"testing"
	"time"

	"carrel/internal/accountdata"
	"carrel/internal/task"
)

// callExports calls every export method once on existing rows of the user of callEverything. The end of a deletion runs
// once per account and may scan whole tables.
func callExports(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	begun := func(id string) task.Fence {
		t.Helper()
		made := task.Task{
			ID: id, Kind: "account_export", UserID: "u", Owner: "n", RunAt: now, DeadlineAt: now,
			CreatedAt: now,
		}
		_, inserted, err := db.BeginExport(ctx,
			accountdata.Export{ID: id, UserID: "u", Status: accountdata.StatusWorking, CreatedAt: now}, made)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.RestartExport(ctx, inserted.Fence(), 1); err != nil {
			t.Fatal(err)
		}
		if err := db.AppendExport(ctx, inserted.Fence(), 0, []byte("part"), 1); err != nil {
			t.Fatal(err)
		}
		return inserted.Fence()
	}
	done := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	done("fail", db.FinishExport(ctx, begun("x1"), task.Outcome{State: task.StateFailed, Code: "c", At: now}, now))
	done("complete", db.FinishExport(ctx, begun("x2"), task.Outcome{State: task.StateComplete, At: now},
		now.Add(time.Hour)))
	e, err := db.Export(ctx, "u")
	done("read", err)
	_, err = db.ExportPart(ctx, e, 0)
	done("read a part", err)
	_, err = db.CountOwned(ctx, "u")
	done("count", err)
	_, err = db.FirstUsage(ctx, "u")
	done("first usage", err)
	done("prune", db.PruneExports(ctx, now))
	done("delete", db.DeleteExport(ctx, "u"))
	_, err = db.ClosedUsers(ctx)
	done("closed", err)
	_, err = db.RunningTasks(ctx, "u")
	done("running", err)
	_, err = db.AgentsOf(ctx, "u")
	done("agents", err)
	done("prune deletions", db.PruneDeletions(ctx, now))
}
