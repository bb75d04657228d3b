package task

import (
	"context"
	"strconv"
	"time"

	"carrel/internal/core"
)

// AdminStore is what is read of all tasks.
type AdminStore interface {
	// Tasks returns up to n tasks, newest first: those in this state or, without one, all that have not ended.
	Tasks(ctx context.Context, state State, n int) ([]Task, error)
	// TasksBefore is Tasks for those older than one that was made at this time and has this id.
	TasksBefore(ctx context.Context, state State, at time.Time, id string, n int) ([]Task, error)
}

// Admin is where those who administer the installation see durable work and stop it.
type Admin struct {
	store  AdminStore
	engine *Engine
}

// NewAdmin returns it for the tasks of an engine.
func NewAdmin(store AdminStore, engine *Engine) *Admin { return &Admin{store: store, engine: engine} }

// tasksList names the list in its cursors.
const tasksList = "tasks"

// List returns a page of tasks, newest first, and the cursor of the next one: those in a state, or those that have not
// ended.
func (a *Admin) List(ctx context.Context, actor core.Actor, state State, page core.Page) ([]Task, string, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	tasks, err := a.before(ctx, state, page.Cursor, rows+1)
	if err != nil || len(tasks) <= rows {
		return tasks, "", err
	}
	last := tasks[rows-1]
	return tasks[:rows], core.EncodeCursor(tasksList, strconv.FormatInt(last.CreatedAt.UnixMilli(), 10), last.ID), nil
}

// before returns tasks from where a cursor points.
func (a *Admin) before(ctx context.Context, state State, cursor string, n int) ([]Task, error) {
	key, err := core.DecodeCursor(tasksList, cursor, 2)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return a.store.Tasks(ctx, state, n)
	}
	at, err := core.CursorTime(key[0])
	if err != nil {
		return nil, err
	}
	return a.store.TasksBefore(ctx, state, at, key[1], n)
}

// Cancel asks for the end of a task and reports whether it had not ended.
func (a *Admin) Cancel(ctx context.Context, actor core.Actor, id string) (bool, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return false, err
	}
	return a.engine.Cancel(ctx, id)
}
