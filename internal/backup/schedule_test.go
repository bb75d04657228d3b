package backup_test

import (
	"context"
	"testing"
	"time"

	"carrel/internal/backup"
	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

// submitted holds the tasks that schedulers have submitted, like the table of tasks.
type submitted struct {
	clock *testkit.Clock
	tasks []task.Task
}

func (s *submitted) Submit(_ context.Context, spec task.Spec) (task.Task, error) {
	for _, t := range s.tasks {
		if t.ID == spec.ID {
			return t, nil
		}
	}
	t := task.Task{ID: spec.ID, Kind: spec.Kind, Key: spec.Key, State: task.StateQueued, CreatedAt: s.clock.Now()}
	s.tasks = append(s.tasks, t)
	return t, nil
}

func (s *submitted) latest(_ context.Context, _ string) (task.Task, error) {
	if len(s.tasks) == 0 {
		return task.Task{}, core.NotFound("task")
	}
	return s.tasks[len(s.tasks)-1], nil
}

// end ends the newest task.
func (s *submitted) end() { s.tasks[len(s.tasks)-1].State = task.StateComplete }

func TestScheduleHasOneBackupPerInterval(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, backup.NewFolder(t.TempDir()))
	tasks := &submitted{clock: in.clock}
	nodes := []*backup.Scheduler{
		backup.NewScheduler(in.service, tasks, tasks.latest),
		// This node read the table before the other one had submitted its task.
		backup.NewScheduler(in.service, tasks, func(context.Context, string) (task.Task, error) {
			return task.Task{}, core.NotFound("task")
		}),
	}
	check := func(want int) {
		t.Helper()
		for _, node := range nodes {
			if err := node.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(tasks.tasks) != want {
			t.Errorf("at %v, %d backups were submitted, want %d", in.clock.Now(), len(tasks.tasks), want)
		}
	}
	check(1)
	tasks.end()
	check(1)
	in.clock.Advance(time.Hour) // the interval of newInstallation
	check(2)
	in.clock.Advance(59 * time.Second)
	check(2)
}

func TestScheduleWaitsForALateBackup(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, backup.NewFolder(t.TempDir()))
	tasks := &submitted{clock: in.clock}
	scheduler := backup.NewScheduler(in.service, tasks, tasks.latest)
	for range 3 {
		if err := scheduler.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		in.clock.Advance(time.Hour)
	}
	if len(tasks.tasks) != 1 {
		t.Errorf("%d backups were submitted while the first one was running", len(tasks.tasks))
	}
	tasks.end()
	if err := scheduler.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(tasks.tasks) != 2 {
		t.Errorf("%d backups were submitted after the first one, want 1", len(tasks.tasks)-1)
	}
}
