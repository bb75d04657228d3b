package task

import (
	"context"

	"carrel/internal/core"
)

// AdminStore is what is read of all tasks.
type AdminStore interface {
	// Tasks returns up to n tasks, newest first: those in this state or, without one, all that have not ended.
	Tasks(ctx context.Context, state State, n int) ([]Task, error)
}

// Admin is where those who administer the installation see durable work and stop it.
type Admin struct {
	store  AdminStore
	engine *Engine
}

// NewAdmin returns it for the tasks of an engine.
func NewAdmin(store AdminStore, engine *Engine) *Admin { return &Admin{store: store, engine: engine} }

// List returns the newest tasks: those in a state, or those that have not ended.
func (a *Admin) List(ctx context.Context, actor core.Actor, state State, page core.Page) ([]Task, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, err
	}
	return a.store.Tasks(ctx, state, rows)
}

// Cancel asks for the end of a task and reports whether it had not ended.
func (a *Admin) Cancel(ctx context.Context, actor core.Actor, id string) (bool, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return false, err
	}
	return a.engine.Cancel(ctx, id)
}
