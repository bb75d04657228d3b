package memory_test

import (
	"testing"

	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	db := fixture.OpenStore(t)
	users := fixture.NewUsers(t, db, core.PlanNone)
	complete := memory.Deps{Store: db, Agents: users.Agents, Clock: users.Clock} // Terms is optional
	for name, remove := range map[string]func(*memory.Deps){
		"store":  func(d *memory.Deps) { d.Store = nil },
		"agents": func(d *memory.Deps) { d.Agents = nil },
		"clock":  func(d *memory.Deps) { d.Clock = nil },
	} {
		d := complete
		remove(&d)
		if !testkit.Panics(func() { memory.NewService(d) }) {
			t.Errorf("NewService accepts a missing %s", name)
		}
	}
}
