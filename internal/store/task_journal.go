package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/task"
)

// failTask is fail for fenced writes. It returns task.ErrLost and task.ErrCancelled unchanged.
func failTask(operation string, err error) error {
	if errors.Is(err, task.ErrLost) || errors.Is(err, task.ErrCancelled) {
		return err
	}
	return fail(operation, "task", err)
}

// RecordTask writes steps and events of a run if the fence holds. The first statement checks the fence, and on
// PostgreSQL locks the task's row until all is written.
func (db *DB) RecordTask(ctx context.Context, f task.Fence, e task.Entry) error {
	if len(e.Steps) == 0 && len(e.Events) == 1 && !e.Progress {
		n, err := db.exec(ctx, db.fencedEvent(), fencedEventArgs(f, e.Events[0])...)
		return failTask("record events", requireFence(n, err))
	}
	if db.onPostgres() && !e.Progress {
		var fenced int64
		err := db.execReturning(ctx, recordEntry, entryArgs(f, e), []any{&fenced})
		return failTask("record steps", requireFence(fenced, err))
	}
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error { return db.recordTask(ctx, tx, f, e) })
	return failTask("record steps", err)
}

// requireFence turns a fenced write that matched no row into task.ErrLost.
func requireFence(n int64, err error) error {
	if err == nil && n == 0 {
		return task.ErrLost
	}
	return err
}

// recordTask is RecordTask inside a transaction.
func (db *DB) recordTask(ctx context.Context, tx querier, f task.Fence, e task.Entry) error {
	if len(e.Steps) > 0 {
		if err := requireFence(tx.exec(ctx, db.fencedStep(), fencedStepArgs(f, e.Steps[0])...)); err != nil {
			return err
		}
		e.Steps = e.Steps[1:]
	} else {
		if err := requireFence(tx.exec(ctx, db.fencedEvent(), fencedEventArgs(f, e.Events[0])...)); err != nil {
			return err
		}
		e.Events = e.Events[1:]
	}
	return writeEntry(ctx, tx, f.TaskID, e)
}

// writeEntry writes a journal entry after the fence was checked.
func writeEntry(ctx context.Context, tx querier, id string, e task.Entry) error {
	for _, s := range e.Steps {
		_, err := tx.exec(ctx, `
			INSERT INTO task_step (task_id, n, kind, label, state, output, last_seq, started_at, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`+onStepConflict, append(args{id}, stepArgs(s)...)...)
		if err != nil {
			return err
		}
	}
	for events := range slices.Chunk(e.Events, maxEventRows) {
		if err := insertEvents(ctx, tx, events); err != nil {
			return err
		}
	}
	if !e.Progress {
		return nil
	}
	_, err := tx.exec(ctx, `UPDATE task SET crashes = 0 WHERE id = $1`, id)
	return err
}

// onStepConflict updates the state of an existing step.
const onStepConflict = `
	ON CONFLICT (task_id, n) DO UPDATE SET state = excluded.state, output = excluded.output,
		last_seq = excluded.last_seq, ended_at = excluded.ended_at`

func stepArgs(s task.StepRecord) args {
	return args{s.N, s.Kind, s.Label, string(s.State), s.Output, s.LastSeq, millis(s.StartedAt), optMillis(s.EndedAt)}
}

// fencedStep is the statement that writes one step if the fence holds.
func (db *DB) fencedStep() string {
	return `
		INSERT INTO task_step (task_id, n, kind, label, state, output, last_seq, started_at, ended_at)
		SELECT id, $4, $5, $6, $7, $8, $9, $10, $11 FROM task WHERE ` + fencedRunning + db.dialect.lock + onStepConflict
}

func fencedStepArgs(f task.Fence, s task.StepRecord) args {
	return append(args{f.TaskID, f.Attempt, f.Owner}, stepArgs(s)...)
}

// fencedEvent is the statement that inserts one event if the fence holds. Repeating it also counts as one changed row.
func (db *DB) fencedEvent() string {
	return `
		INSERT INTO task_event (task_id, seq, attempt, kind, payload)
		SELECT id, $4, attempt, $5, $6 FROM task WHERE ` + fencedRunning + db.dialect.lock + `
		ON CONFLICT (task_id, seq) DO UPDATE SET payload = excluded.payload`
}

func fencedEventArgs(f task.Fence, e task.Event) args {
	return args{f.TaskID, f.Attempt, f.Owner, e.Seq, e.Kind, e.Payload}
}

// maxEventRows limits the rows per insert, and so the number of prepared statements.
const maxEventRows = 8

// eventInserts[n] is the statement that inserts n events.
var eventInserts = func() (texts [maxEventRows + 1]string) {
	for n := 1; n <= maxEventRows; n++ {
		rows := make([]string, n)
		for i := range rows {
			p := 5*i + 1
			rows[i] = fmt.Sprintf("($%d, $%d, $%d, $%d, $%d)", p, p+1, p+2, p+3, p+4)
		}
		texts[n] = "INSERT INTO task_event (task_id, seq, attempt, kind, payload) VALUES " + strings.Join(rows, ", ") +
			" ON CONFLICT (task_id, seq) DO NOTHING"
	}
	return texts
}()

// insertEvents inserts up to maxEventRows events after the fence was checked.
func insertEvents(ctx context.Context, tx querier, events []task.Event) error {
	a := make(args, 0, 5*maxEventRows)
	for _, e := range events {
		a = append(a, e.TaskID, e.Seq, e.Attempt, e.Kind, e.Payload)
	}
	_, err := tx.exec(ctx, eventInserts[len(events)], a...)
	return err
}

// TaskSteps returns the steps of a task in order.
func (db *DB) TaskSteps(ctx context.Context, id string) ([]task.StepRecord, error) {
	var steps []task.StepRecord
	var s task.StepRecord
	var started int64
	var ended sql.NullInt64
	err := db.read.each(ctx, `
		SELECT n, kind, label, state, output, last_seq, started_at, ended_at FROM task_step WHERE task_id = $1 ORDER BY n`,
		args{id}, []any{&s.N, &s.Kind, &s.Label, (*string)(&s.State), &s.Output, &s.LastSeq, &started, &ended},
		func() error {
			s.StartedAt, s.EndedAt = at(started), optAt(ended)
			steps = append(steps, s)
			return nil
		})
	return steps, fail("list steps", "task", err)
}

// TaskEvents returns up to n events of a task with a sequence number above after.
func (db *DB) TaskEvents(ctx context.Context, id string, after int64, n int) ([]task.Event, error) {
	var events []task.Event
	var e task.Event
	err := db.read.each(ctx, `
		SELECT e.task_id, t.number, e.seq, e.attempt, e.kind, e.payload
		FROM task_event e JOIN task t ON t.id = e.task_id
		WHERE e.task_id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3 + 0`,
		args{id, after, n}, []any{&e.TaskID, &e.Number, &e.Seq, &e.Attempt, &e.Kind, &e.Payload}, func() error {
			events = append(events, e)
			return nil
		})
	return events, fail("list events", "task", err)
}

// LastTaskEvent returns the sequence number of a task's last event, or 0.
func (db *DB) LastTaskEvent(ctx context.Context, id string) (int64, error) {
	var last int64
	err := get(ctx, db.read, `SELECT coalesce(max(seq), 0) FROM task_event WHERE task_id = $1`, args{id}, &last)
	return last, fail("read last event", "task", err)
}
