package thread_test

import (
	"log/slog"
	"testing"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/echo"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	db := fixture.OpenStore(t)
	users := fixture.NewUsers(t, db, core.PlanOpen)
	tasks := task.New(task.Deps{Store: db, Clock: users.Clock, Log: slog.New(slog.DiscardHandler)}, task.Options{})
	complete := thread.Deps{
		Store: db, Agents: users.Agents, Clock: users.Clock, Tasks: tasks, Answerer: echo.Answerer{},
	}
	for name, remove := range map[string]func(*thread.Deps){
		"store":    func(d *thread.Deps) { d.Store = nil },
		"agents":   func(d *thread.Deps) { d.Agents = nil },
		"clock":    func(d *thread.Deps) { d.Clock = nil },
		"tasks":    func(d *thread.Deps) { d.Tasks = nil },
		"answerer": func(d *thread.Deps) { d.Answerer = nil },
	} {
		d := complete
		remove(&d)
		if !testkit.Panics(func() { thread.NewService(d) }) {
			t.Errorf("NewService accepts a missing %s", name)
		}
	}
}
