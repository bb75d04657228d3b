package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/internal/task"
	"carrel/internal/thread"
)

// The statements in this file write the parts of turns in one round trip to PostgreSQL, for several turns at once. Each
// of them handles the usual case and leaves out other turns, for which the transaction written for both engines then
// decides. A statement sees one snapshot, even after it has waited for a lock, so it relies only on the conditions of
// the rows that it locks, which PostgreSQL checks again after the wait, and on unique constraints.

// submittedTurn is a question with its task, and the number of the task once it is stored.
type submittedTurn struct {
	agentID, title string
	question       thread.Message
	task           task.Task
	number         int64
}

// submitIdle starts turns of idle threads, submitIdleLimited those of users whose running turns are limited. A thread's
// status makes concurrent questions exclude each other, and the slot keeps the limit. They are two statements because
// PostgreSQL would plan one that depends on a parameter again for every turn.
var (
	submitIdle        = submitTo(`NULL::bigint`, ``)
	submitIdleLimited = submitTo(freeSlot("asked.user_id", "asked.kind"), `
			AND slot <= per_user
			AND NOT EXISTS (SELECT 1 FROM task WHERE state = 'queued' AND user_id = place.user_id AND kind = place.kind
				AND run_at <= place.run_at)`)
)

// unnest returns the function that turns arrays of these types, from parameter $first, into rows. The subqueries hide
// the lengths of the arrays from the planner, so that it keeps one plan for all of them.
func unnest(first int, types ...string) string {
	arrays := make([]string, len(types))
	for i, t := range types {
		arrays[i] = fmt.Sprintf("(SELECT $%d::%s[])", first+i, t)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ")"
}

// oneRow returns a condition that is true for every text, and of which the planner expects that it leaves one row. It
// then looks up each row by an index. With ten rows expected, it would read all of a table that is small when the plan
// is made, and keep that plan while the table grows.
func oneRow(column string) string { return column + ` = ` + column + ` || ''` }

// The parameters are arrays; see submitArgs.
func submitTo(slot, limit string) string {
	return `
	WITH asked AS (
		SELECT * FROM ` + unnest(1, "text", "text", "text", "text", "bigint", "text", "text", "text", "text", "bytea",
		"bytea", "text", "bigint", "bigint", "bigint", "text", "bigint") + `
		AS asked (thread_id, user_id, agent_id, title, asked_at, message_id, text, task_id, kind, request_hash, input, owner,
			run_at, deadline_at, created_at, credential_id, per_user)
		WHERE ` + oneRow("task_id") + `),
	place AS MATERIALIZED (SELECT asked.*, ` + slot + ` AS slot FROM asked),
	touched AS (
		UPDATE thread SET next_seq = next_seq + 1, status = 'working',
			title = CASE WHEN thread.title = '' THEN place.title ELSE thread.title END,
			activity_at = greatest(activity_at, asked_at), last_message_at = asked_at, updated_at = asked_at
		FROM place
		WHERE thread.id = place.thread_id
			AND (thread.user_id = place.user_id AND thread.agent_id = place.agent_id AND thread.status = 'idle'
				AND thread.deleted_at IS NULL) IS TRUE
			AND NOT EXISTS (SELECT 1 FROM task WHERE key = place.thread_id AND state = 'running')
			AND NOT EXISTS (SELECT 1 FROM task WHERE key = place.thread_id AND state = 'queued')` + limit + `
		RETURNING next_seq - 1 AS seq, place.*),
	said AS (
		INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail, details)
		SELECT message_id, thread_id, seq, '` + string(thread.RoleUser) + `', text, '` + string(task.StateComplete) + `',
			task_id, asked_at, '', '', '' FROM touched)
	INSERT INTO task (id, kind, key, number, user_id, request_hash, input, state, owner, attempt, crashes,
		run_at, deadline_at, error_code, error_detail, created_at, started_at, credential_id, slot)
	SELECT task_id, kind, thread_id, (SELECT coalesce(max(number), 0) + 1 FROM task WHERE key = touched.thread_id),
		user_id, request_hash, input, 'running', owner, 1, 0, run_at, deadline_at, '', '', created_at, created_at,
		credential_id, slot FROM touched
	RETURNING id, number`
}

// submitArgs are the parameters of submitTo.
func submitArgs(rows []*batchRow[submittedTurn]) args {
	column := func(value func(*submittedTurn) string) []string {
		return columnOf(rows, func(r *batchRow[submittedTurn]) string { return value(&r.value) })
	}
	number := func(value func(*submittedTurn) int64) []int64 {
		return columnOf(rows, func(r *batchRow[submittedTurn]) int64 { return value(&r.value) })
	}
	blob := func(value func(*submittedTurn) []byte) [][]byte {
		return columnOf(rows, func(r *batchRow[submittedTurn]) []byte { return value(&r.value) })
	}
	return args{
		column(func(s *submittedTurn) string { return s.task.Key }),
		column(func(s *submittedTurn) string { return s.task.UserID }),
		column(func(s *submittedTurn) string { return s.agentID }),
		column(func(s *submittedTurn) string { return s.title }),
		number(func(s *submittedTurn) int64 { return millis(s.question.CreatedAt) }),
		column(func(s *submittedTurn) string { return s.question.ID }),
		column(func(s *submittedTurn) string { return s.question.Text }),
		column(func(s *submittedTurn) string { return s.task.ID }),
		column(func(s *submittedTurn) string { return s.task.Kind }),
		blob(func(s *submittedTurn) []byte { return s.task.RequestHash }),
		blob(func(s *submittedTurn) []byte { return s.task.Input }),
		column(func(s *submittedTurn) string { return s.task.Owner }),
		number(func(s *submittedTurn) int64 { return millis(s.task.RunAt) }),
		number(func(s *submittedTurn) int64 { return millis(s.task.DeadlineAt) }),
		number(func(s *submittedTurn) int64 { return millis(s.task.CreatedAt) }),
		column(func(s *submittedTurn) string { return s.task.CredentialID }),
		number(func(s *submittedTurn) int64 { return int64(s.task.Start.MaxPerUser) }),
	}
}

// columnOf returns one value of each row.
func columnOf[R, V any](rows []R, value func(R) V) []V {
	out := make([]V, len(rows))
	for i, r := range rows {
		out[i] = value(r)
	}
	return out
}

// submitToIdle stores a question and its running task with submitIdle, and reports whether it did.
func (db *DB) submitToIdle(
	ctx context.Context, agentID, title string, question thread.Message, t task.Task,
) (task.Task, bool, error) {
	t.DeadlineAt = cmp.Or(t.Start.DeadlineAt, t.DeadlineAt)
	s, err := db.submitted.add(ctx, submittedTurn{agentID: agentID, title: title, question: question, task: t},
		db.submitTurns)
	if err != nil || s.number == 0 {
		return task.Task{}, false, err
	}
	t.State, t.Attempt, t.StartedAt, t.New, t.Number = task.StateRunning, 1, &t.CreatedAt, true, s.number
	return t, true, nil
}

// submitTurns stores turns and sets their numbers. Turns of one thread, and limited turns of one user, exclude each
// other and so are stored one after the other.
func (db *DB) submitTurns(ctx context.Context, rows []*batchRow[submittedTurn]) {
	for len(rows) > 0 {
		limited := rows[0].value.task.Start.MaxPerUser > 0
		taken := map[string]bool{}
		var now, later []*batchRow[submittedTurn]
		for _, r := range rows {
			t := &r.value.task
			switch {
			case t.Start.MaxPerUser > 0 != limited, taken[t.Key], limited && taken[t.UserID]:
				later = append(later, r)
			default:
				taken[t.Key], taken[t.UserID] = true, limited
				now = append(now, r)
			}
		}
		statement := submitIdle
		if limited {
			statement = submitIdleLimited
		}
		writeRows(now, func(rows []*batchRow[submittedTurn]) error {
			var id string
			var number int64
			stored, err := writeReturning(ctx, db, statement, submitArgs(rows), []any{&id, &number},
				func() (string, int64) { return id, number })
			if err != nil {
				return err
			}
			for _, r := range rows {
				r.value.number = stored[r.value.task.ID]
			}
			return nil
		})
		rows = later
	}
}

// writeRows writes rows together. If they violate a unique constraint, it writes each alone and leaves out those
// that still do.
func writeRows[T any](rows []*batchRow[T], write func(rows []*batchRow[T]) error) {
	err := write(rows)
	unique := classify(err) == classUnique
	for i, r := range rows {
		switch {
		case !unique:
			r.err = err
		case len(rows) > 1:
			writeRows(rows[i:i+1], write)
		}
	}
}

// writeReturning runs a write statement on PostgreSQL and returns the keys and values that fetch reads from its rows.
func writeReturning[V any](
	ctx context.Context, db *DB, query string, a args, dest []any, fetch func() (string, V),
) (map[string]V, error) {
	var stored map[string]V
	p := db.write.(*postgres) //nolint:forcetypeassert // only PostgreSQL has batches
	err := p.writeEach(ctx, query, a, func() { stored = map[string]V{} }, dest, func() error {
		key, value := fetch()
		stored[key] = value
		return nil
	})
	return stored, db.writes.record(err)
}

// journalInserts are the CTEs that write journal entries of the tasks in the CTE fence. The parameters are arrays, from
// $1: nine columns of the steps and four of the events; see journalArgs.
var journalInserts = `
	steps AS (
		INSERT INTO task_step (task_id, n, kind, label, state, output, last_seq, started_at, ended_at)
		SELECT s.* FROM ` + unnest(1, "text", "bigint", "text", "text", "text", "bytea", "bigint", "bigint", "bigint") + `
			s (task_id) JOIN fence ON fence.id = s.task_id` +
	onStepConflict + `),
	events AS (
		INSERT INTO task_event (task_id, seq, attempt, kind, payload)
		SELECT fence.id, e.seq, fence.attempt, e.kind, e.payload
		FROM ` + unnest(10, "text", "bigint", "text", "bytea") + ` e (task_id, seq, kind, payload)
		JOIN fence ON fence.id = e.task_id
		ON CONFLICT (task_id, seq) DO NOTHING)`

// recordEntry writes a journal entry if the fence holds, and returns the number of fenced tasks.
var recordEntry = `
	WITH fence AS (
		SELECT id, attempt FROM task
		WHERE id = $14 AND (attempt = $15 AND owner = $16 AND state = 'running') IS TRUE FOR NO KEY UPDATE),` +
	journalInserts + `
	SELECT count(*) FROM fence`

// journalArgs are the parameters of journalInserts.
type journalArgs struct {
	stepTasks             []string
	numbers               []int64
	kinds, labels, states []string
	outputs               [][]byte
	last, started         []int64
	ended                 []*int64
	eventTasks            []string
	sequences             []int64
	eventKinds            []string
	payloads              [][]byte
}

func (j *journalArgs) add(taskID string, e task.Entry) {
	for _, s := range e.Steps {
		j.stepTasks, j.numbers = append(j.stepTasks, taskID), append(j.numbers, int64(s.N))
		j.kinds, j.labels = append(j.kinds, s.Kind), append(j.labels, s.Label)
		j.states, j.outputs = append(j.states, string(s.State)), append(j.outputs, s.Output)
		j.last, j.started = append(j.last, s.LastSeq), append(j.started, millis(s.StartedAt))
		var end *int64
		if s.EndedAt != nil {
			at := millis(*s.EndedAt)
			end = &at
		}
		j.ended = append(j.ended, end)
	}
	for _, v := range e.Events {
		j.eventTasks, j.sequences = append(j.eventTasks, taskID), append(j.sequences, v.Seq)
		j.eventKinds, j.payloads = append(j.eventKinds, v.Kind), append(j.payloads, v.Payload)
	}
}

func (j *journalArgs) args() args {
	return args{
		j.stepTasks, j.numbers, j.kinds, j.labels, j.states, j.outputs, j.last, j.started, j.ended,
		j.eventTasks, j.sequences, j.eventKinds, j.payloads,
	}
}

// entryArgs are the parameters of recordEntry.
func entryArgs(f task.Fence, e task.Entry) args {
	var j journalArgs
	j.add(f.TaskID, e)
	return append(j.args(), f.TaskID, f.Attempt, f.Owner)
}

// finishedTurn is the outcome of a turn with its reply, and whether it is stored.
type finishedTurn struct {
	fence   task.Fence
	outcome task.Outcome
	reply   thread.Message
	details string
	stored  bool
}

// finishPlain completes turns that have no open reservation and no webhook to call. The run itself completes a turn,
// after its last model call, so no reservation can be opened meanwhile.
var finishPlain = `
	WITH ended AS (
		SELECT * FROM ` + unnest(14, "text", "bigint", "text", "bytea", "bigint", "bigint", "bigint", "bytea", "text",
	"text", "text", "text") + `
		AS ended (task_id, attempt, owner, result, ended_at, prune_at, last_seq, event, thread_id, message_id, text,
			details)
		WHERE ` + oneRow("task_id") + `),
	fence AS (
		UPDATE task SET state = 'complete', owner = NULL, result = ended.result, error_code = '', error_detail = '',
			finished_at = ended_at, prune_at = ended.prune_at
		FROM ended
		WHERE task.id = ended.task_id AND (task.attempt = ended.attempt AND task.owner = ended.owner
				AND task.state = 'running' AND cancel_requested_at IS NULL) IS TRUE
			AND NOT EXISTS (SELECT 1 FROM spend_row WHERE turn_id = ended.task_id AND turn_id <> '' AND state = 'reserved')
			AND NOT EXISTS (SELECT 1 FROM webhook WHERE webhook.user_id = task.user_id AND disabled_at IS NULL)
		RETURNING task.id, task.attempt, ended_at, last_seq, event, thread_id, message_id, text, details),` +
	journalInserts + `,
	last AS (
		INSERT INTO task_event (task_id, seq, attempt, kind, payload)
		SELECT id, greatest(last_seq, (SELECT coalesce(max(seq), 0) FROM task_event WHERE task_id = fence.id)) + 1, attempt,
			'` + task.EventDone + `', event
		FROM fence),
	touched AS (
		UPDATE thread SET next_seq = next_seq + 1, status = 'idle',
			activity_at = greatest(activity_at, ended_at), last_message_at = ended_at, updated_at = ended_at
		FROM fence
		WHERE thread.id = thread_id
		RETURNING fence.*, next_seq - 1 AS seq)
	INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail, details)
	SELECT message_id, thread_id, seq, '` + string(thread.RoleAssistant) + `', text, '` + string(task.StateComplete) + `',
		id, ended_at, '', '', details FROM touched
	RETURNING turn_id`

// finishPlainTurn completes a turn with finishPlain and reports whether it did.
func (db *DB) finishPlainTurn(ctx context.Context, f task.Fence, o task.Outcome, reply thread.Message) (bool, error) {
	details, err := encodeAnswer(reply.Answer)
	if err != nil {
		return false, err
	}
	turn, err := db.finished.add(ctx, finishedTurn{fence: f, outcome: o, reply: reply, details: details}, db.finishTurns)
	return turn.stored, err
}

// finishTurns completes turns and marks those that are stored.
func (db *DB) finishTurns(ctx context.Context, rows []*batchRow[finishedTurn]) {
	writeRows(rows, func(rows []*batchRow[finishedTurn]) error {
		var id string
		stored, err := writeReturning(ctx, db, finishPlain, finishArgs(rows), []any{&id},
			func() (string, bool) { return id, true })
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.value.stored = stored[r.value.fence.TaskID]
		}
		return nil
	})
}

// finishArgs are the parameters of finishPlain.
func finishArgs(rows []*batchRow[finishedTurn]) args {
	column := func(value func(*finishedTurn) string) []string {
		return columnOf(rows, func(r *batchRow[finishedTurn]) string { return value(&r.value) })
	}
	number := func(value func(*finishedTurn) int64) []int64 {
		return columnOf(rows, func(r *batchRow[finishedTurn]) int64 { return value(&r.value) })
	}
	blob := func(value func(*finishedTurn) []byte) [][]byte {
		return columnOf(rows, func(r *batchRow[finishedTurn]) []byte { return value(&r.value) })
	}
	after := func(d time.Duration) func(*finishedTurn) int64 {
		return func(f *finishedTurn) int64 { return millis(f.outcome.At.Add(d)) }
	}
	var j journalArgs
	for _, r := range rows {
		j.add(r.value.fence.TaskID, r.value.outcome.Entry)
	}
	return append(j.args(),
		column(func(f *finishedTurn) string { return f.fence.TaskID }),
		number(func(f *finishedTurn) int64 { return int64(f.fence.Attempt) }),
		column(func(f *finishedTurn) string { return f.fence.Owner }),
		blob(func(f *finishedTurn) []byte { return f.outcome.Result }),
		number(after(0)), number(after(deltaLife)), number(lastEvent),
		blob(func(f *finishedTurn) []byte { return f.outcome.DoneEvent() }),
		column(func(f *finishedTurn) string { return f.reply.ThreadID }),
		column(func(f *finishedTurn) string { return f.reply.ID }),
		column(func(f *finishedTurn) string { return f.reply.Text }),
		column(func(f *finishedTurn) string { return f.details }))
}

// lastEvent returns the sequence number of the last event that is stored with the outcome, or 0.
func lastEvent(f *finishedTurn) int64 {
	if n := len(f.outcome.Entry.Events); n > 0 {
		return f.outcome.Entry.Events[n-1].Seq
	}
	return 0
}
