package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"carrel/internal/task"
)

var _ task.Store = (*DB)(nil)

const taskColumns = `id, kind, key, number, user_id, idem_key, request_hash, input, state, owner, attempt, crashes,
	run_at, deadline_at, cancel_requested_at, result, error_code, error_detail, created_at, started_at, finished_at,
	credential_id`

type taskRow struct {
	task                        task.Task
	user, idem, owner           sql.NullString
	runAt, deadline, created    int64
	cancelled, started, stopped sql.NullInt64
}

func (r *taskRow) dest() []any {
	t := &r.task
	return []any{
		&t.ID, &t.Kind, &t.Key, &t.Number, &r.user, &r.idem, &t.RequestHash, &t.Input, (*string)(&t.State), &r.owner,
		&t.Attempt, &t.Crashes, &r.runAt, &r.deadline, &r.cancelled, &t.Result, &t.ErrorCode, &t.ErrorDetail,
		&r.created, &r.started, &r.stopped, &t.CredentialID,
	}
}

func (r *taskRow) value() task.Task {
	t := r.task
	t.UserID, t.IdemKey, t.Owner = r.user.String, r.idem.String, r.owner.String
	t.RunAt, t.DeadlineAt, t.CreatedAt = at(r.runAt), at(r.deadline), at(r.created)
	t.CancelRequestedAt, t.StartedAt, t.FinishedAt = optAt(r.cancelled), optAt(r.started), optAt(r.stopped)
	return t
}

func oneTask(ctx context.Context, q querier, query string, a args) (task.Task, error) {
	var r taskRow
	if err := get(ctx, q, query, a, r.dest()...); err != nil {
		return task.Task{}, err
	}
	return r.value(), nil
}

func manyTasks(ctx context.Context, q querier, query string, a args) ([]task.Task, error) {
	var r taskRow
	var tasks []task.Task
	err := q.each(ctx, query, a, r.dest(), func() error {
		tasks = append(tasks, r.value())
		return nil
	})
	return tasks, err
}

// onPostgres reports whether several nodes may share the database.
func (db *DB) onPostgres() bool { return db.dialect.name == postgresDialect.name }

// Task returns one task.
func (db *DB) Task(ctx context.Context, id string) (task.Task, error) {
	t, err := oneTask(ctx, db.read, `SELECT `+taskColumns+` FROM task WHERE id = $1`, args{id})
	return t, fail("read task", "task", err)
}

// Tasks returns up to n tasks in a state, newest first. An empty state means all that have not ended.
func (db *DB) Tasks(ctx context.Context, state task.State, n int) ([]task.Task, error) {
	return db.TasksBefore(ctx, state, time.UnixMilli(math.MaxInt64), "", n)
}

// TasksBefore continues Tasks after the task with this creation time and id.
func (db *DB) TasksBefore(ctx context.Context, state task.State, at time.Time, id string, n int) ([]task.Task, error) {
	condition, a := `finished_at IS NULL`, args{millis(at), id, n}
	if state != "" {
		condition, a = `state = $4`, append(a, string(state))
	}
	tasks, err := manyTasks(ctx, db.read, `
		SELECT `+taskColumns+` FROM task WHERE `+condition+` AND (created_at < $1 OR created_at = $1 AND id < $2)
		ORDER BY created_at DESC, id DESC LIMIT $3 + 0`, a)
	return tasks, fail("list tasks", "task", err)
}

// PruneImports deletes import tasks that ended before this time. The latest of each source stays, because the next one
// continues its numbering. The import records of the sources stay too.
func (db *DB) PruneImports(ctx context.Context, before time.Time) error {
	err := db.pruneTasks(ctx, `kind = 'import'
		AND EXISTS (SELECT 1 FROM task later WHERE later.key = task.key AND later.number > task.number)`, before)
	return fail("prune imports", "task", err)
}

// InsertTask stores a task; see insertTask.
func (db *DB) InsertTask(ctx context.Context, t task.Task) (stored task.Task, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		stored, err = db.insertTask(ctx, tx, t)
		return err
	})
	if err != nil {
		return task.Task{}, fail("insert task", "user", err)
	}
	return stored, nil
}

// freeSlot returns, as an SQL expression, the smallest slot that none of a user's running tasks of a kind has.
func freeSlot(user, kind string) string {
	running := `FROM task WHERE state = 'running' AND user_id = ` + user + ` AND kind = ` + kind
	return `(SELECT min(free) FROM (SELECT 1 AS free UNION ALL SELECT slot + 1 ` + running + `) candidate
		WHERE free NOT IN (SELECT coalesce(slot, 0) ` + running + `))`
}

// insertTask stores a task inside a transaction. A task with an owner starts at once if no task of its key is queued or
// running and the limit per user allows it; otherwise it is queued. If a task with the same id, or the same user and
// idempotency key, exists, that one is returned and is not New.
func (db *DB) insertTask(ctx context.Context, tx querier, t task.Task) (task.Task, error) {
	if t.Key == "" {
		t.Key = t.ID
	} else if db.onPostgres() {
		// Inserts into one key are serialized, because the number and the state depend on the other tasks.
		if _, err := tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, t.Key); err != nil {
			return task.Task{}, err
		}
	}
	deadline := cmp.Or(t.Start.DeadlineAt, t.DeadlineAt)
	var state string
	err := get(ctx, tx, `
		INSERT INTO task (id, kind, key, number, user_id, idem_key, request_hash, input, state, owner, attempt, crashes,
			run_at, deadline_at, error_code, error_detail, created_at, started_at, credential_id, slot)
		SELECT $1, $2, $3, number, $4, $5, $6, $7,
			CASE WHEN starts THEN 'running' ELSE 'queued' END,
			CASE WHEN starts THEN $8 END,
			CASE WHEN starts THEN 1 ELSE 0 END, 0,
			$9, CASE WHEN starts THEN CAST($14 AS BIGINT) ELSE $10 END, '', '', $11,
			CASE WHEN starts THEN CAST($11 AS BIGINT) END, $12, slot
		FROM (
			SELECT number, slot, starts AND (slot IS NULL OR slot <= $13) AS starts FROM (
				SELECT coalesce(max(number), 0) + 1 AS number,
					CASE WHEN CAST($13 AS BIGINT) > 0 THEN `+freeSlot("$4", "$2")+` END AS slot,
					$8 <> ''
					AND NOT EXISTS (SELECT 1 FROM task WHERE key = $3 AND state = 'running')
					AND NOT EXISTS (SELECT 1 FROM task WHERE key = $3 AND state = 'queued')
					AND NOT EXISTS (SELECT 1 FROM task WHERE state = 'queued' AND user_id = $4 AND kind = $2
						AND run_at <= $9 AND $13 > 0) AS starts
				FROM task WHERE key = $3) place) decision
		WHERE true
		ON CONFLICT DO NOTHING RETURNING number, state, attempt`,
		args{
			t.ID, t.Kind, t.Key, optText(t.UserID), optText(t.IdemKey), t.RequestHash, t.Input,
			t.Owner, millis(t.RunAt), millis(t.DeadlineAt), millis(t.CreatedAt), t.CredentialID,
			t.Start.MaxPerUser, millis(deadline),
		}, &t.Number, &state, &t.Attempt)
	if errors.Is(err, sql.ErrNoRows) {
		old, err := storedTask(ctx, tx, t)
		if errors.Is(err, sql.ErrNoRows) && t.Owner != "" {
			t.Owner = "" // another task of the user has just taken the slot
			return db.insertTask(ctx, tx, t)
		}
		return old, err
	}
	if err != nil {
		return task.Task{}, err
	}
	t.New, t.State = true, task.State(state)
	if t.State == task.StateRunning {
		t.StartedAt, t.DeadlineAt = &t.CreatedAt, deadline
	} else {
		t.Owner = ""
	}
	return t, nil
}

// storedTask returns the existing task if it was submitted with the same request.
func storedTask(ctx context.Context, tx querier, t task.Task) (task.Task, error) {
	old, err := oneTask(ctx, tx, `
		SELECT `+taskColumns+` FROM task WHERE id = $1 OR (user_id = $2 AND idem_key = $3) LIMIT 1`,
		args{t.ID, optText(t.UserID), optText(t.IdemKey)})
	if err != nil {
		return task.Task{}, err
	}
	if old.UserID != t.UserID || !bytes.Equal(old.RequestHash, t.RequestHash) {
		return task.Task{}, task.IdempotencyMismatch()
	}
	return old, nil
}

// ActiveTask returns the running task of a key, or else the first queued one.
func (db *DB) ActiveTask(ctx context.Context, key string) (task.Task, error) {
	t, err := activeTask(ctx, db.read, key)
	return t, fail("read task", "task", err)
}

// activeTask is ActiveTask inside a transaction; without a task the error is sql.ErrNoRows.
func activeTask(ctx context.Context, q querier, key string) (task.Task, error) {
	return oneTask(ctx, q, `SELECT `+taskColumns+` FROM task WHERE id = `+activeTaskID, args{key})
}

// activeTaskID selects the id of the running task of key $1, or else of the first queued one. It is part of one
// statement: with two, a task claimed in between would be neither queued nor running.
const activeTaskID = `coalesce(
	(SELECT id FROM task WHERE key = $1 AND state = 'running'),
	(SELECT id FROM task WHERE key = $1 AND state = 'queued' ORDER BY number LIMIT 1))`

// LatestTask returns the newest task of a key.
func (db *DB) LatestTask(ctx context.Context, key string) (task.Task, error) {
	t, err := oneTask(ctx, db.read, `
		SELECT `+taskColumns+` FROM task WHERE key = $1 ORDER BY number DESC LIMIT 1`, args{key})
	return t, fail("read task", "task", err)
}

// DeleteTasks deletes all tasks of a key.
func (db *DB) DeleteTasks(ctx context.Context, key string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error { return deleteTasks(ctx, tx, key) })
	return fail("delete tasks", "task", err)
}

// deleteTasks deletes all tasks of a key inside a transaction. The fence stops a running task.
func deleteTasks(ctx context.Context, tx querier, key string) error {
	return dropTasks(ctx, tx, `DELETE FROM task WHERE key = $1 RETURNING id`, args{key})
}

// dropTasks runs a statement that deletes tasks and returns their ids, and settles their open reservations.
func dropTasks(ctx context.Context, tx querier, statement string, a args) error {
	var ids []string
	var id string
	err := tx.each(ctx, statement, a, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := endSpend(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// CancelTask stores a cancellation request and returns the task. An ended task is returned unchanged.
func (db *DB) CancelTask(ctx context.Context, id string, now time.Time) (task.Task, error) {
	var r taskRow
	err := db.execReturning(ctx, `
		UPDATE task SET cancel_requested_at = coalesce(cancel_requested_at, $1)
		WHERE id = $2 AND finished_at IS NULL RETURNING `+taskColumns, args{millis(now), id}, r.dest())
	if errors.Is(err, sql.ErrNoRows) {
		return db.Task(ctx, id)
	}
	if err != nil {
		return task.Task{}, fail("cancel task", "task", err)
	}
	return r.value(), nil
}
