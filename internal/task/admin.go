package task

import (
	"context"
	"strconv"
	"time"

	"carrel/internal/core"
)

// AdminStore lists tasks for administrators.
type AdminStore interface {
	// Tasks returns up to n tasks, newest first, in the given state. An empty state means all that have not ended.
	Tasks(ctx context.Context, state State, n int) ([]Task, error)
	// TasksBefore continues Tasks after the task with this creation time and id.
	TasksBefore(ctx context.Context, state State, at time.Time, id string, n int) ([]Task, error)
}

// Admin lets administrators list and cancel tasks.
type Admin struct {
	store  AdminStore
	engine *Engine
}

// NewAdmin returns an Admin for the tasks of an engine.
func NewAdmin(store AdminStore, engine *Engine) *Admin { return &Admin{store: store, engine: engine} }

// tasksList names the list in its cursors.
const tasksList = "tasks"

// List returns a page of tasks in a state, newest first, and the cursor of the next page. An empty state means all
// tasks that have not ended.
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

// before returns the tasks after a cursor.
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

// Cancel requests the end of a task and reports whether it had not ended yet.
func (a *Admin) Cancel(ctx context.Context, actor core.Actor, id string) (bool, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return false, err
	}
	return a.engine.Cancel(ctx, id)
}
