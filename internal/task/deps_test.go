package task_test

import (
	"log/slog"
	"testing"

	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestNewPanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	complete := task.Deps{Store: fixture.OpenStore(t), Clock: testkit.NewClock(), Log: slog.New(slog.DiscardHandler)}
	for name, remove := range map[string]func(*task.Deps){
		"store": func(d *task.Deps) { d.Store = nil },
		"clock": func(d *task.Deps) { d.Clock = nil },
		"log":   func(d *task.Deps) { d.Log = nil },
	} {
		d := complete
		remove(&d)
		if !testkit.Panics(func() { task.New(d, task.Options{}) }) {
			t.Errorf("New accepts a missing %s", name)
		}
	}
	if testkit.Panics(func() { task.New(complete, task.Options{}) }) {
		t.Error("New refuses complete dependencies")
	}
}
