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
	testkit.RequiresDeps(t, complete, func(d task.Deps) { task.New(d, task.Options{}) })
}
