package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"carrel/internal/task"
	"carrel/internal/thread"
)

// The statements in this file write the parts of a turn in one round trip to PostgreSQL. Each of them handles the usual
// case and changes nothing otherwise; the transaction written for both engines then decides. A statement sees one
// snapshot, even after it has waited for a lock, so it relies only on the conditions of the row that it locks, which
// PostgreSQL checks again after the wait, and on unique constraints.

// submitIdle starts a turn of an idle thread. The thread's status makes concurrent questions exclude each other, and
// the slot keeps the limit of running turns per user.
var submitIdle = `
	WITH place AS (
		SELECT CASE WHEN $19::bigint > 0 THEN ` + freeSlot("$2", "$11") + ` END AS slot),
	asked AS (
		UPDATE thread SET next_seq = next_seq + 1, status = 'working',
			title = CASE WHEN title = '' THEN $4 ELSE title END,
			activity_at = greatest(activity_at, $5), last_message_at = $5, updated_at = $5
		FROM place
		WHERE id = $1 AND user_id = $2 AND agent_id = $3 AND status = 'idle'
			AND (slot IS NULL OR slot <= $19)
			AND NOT EXISTS (SELECT 1 FROM task WHERE key = $1 AND state = 'running')
			AND NOT EXISTS (SELECT 1 FROM task WHERE key = $1 AND state = 'queued')
			AND NOT EXISTS (SELECT 1 FROM task WHERE state = 'queued' AND user_id = $2 AND kind = $11
				AND run_at <= $15 AND $19 > 0)
		RETURNING id, next_seq - 1 AS seq, slot),
	said AS (
		INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail, details)
		SELECT $6, id, seq, $7, $8, $9, $10, $5, '', '', '' FROM asked)
	INSERT INTO task (id, kind, key, number, user_id, request_hash, input, state, owner, attempt, crashes,
		run_at, deadline_at, error_code, error_detail, created_at, started_at, credential_id, slot)
	SELECT $10, $11, id, (SELECT coalesce(max(number), 0) + 1 FROM task WHERE key = $1), $2, $12, $13, 'running', $14,
		1, 0, $15, $16, '', '', $17, $17, $18, slot FROM asked
	RETURNING number`

// submitToIdle stores a question and its running task with submitIdle, and reports whether it did.
func (db *DB) submitToIdle(
	ctx context.Context, agentID, title string, question thread.Message, t task.Task,
) (task.Task, bool, error) {
	t.DeadlineAt = cmp.Or(t.Start.DeadlineAt, t.DeadlineAt)
	err := db.execReturning(ctx, submitIdle, args{
		t.Key, t.UserID, agentID, title, millis(question.CreatedAt),
		question.ID, string(question.Role), question.Text, question.Status, t.ID,
		t.Kind, t.RequestHash, t.Input, t.Owner, millis(t.RunAt), millis(t.DeadlineAt),
		millis(t.CreatedAt), t.CredentialID, t.Start.MaxPerUser,
	}, []any{&t.Number})
	if errors.Is(err, sql.ErrNoRows) || classify(err) == classUnique {
		return task.Task{}, false, nil
	}
	t.State, t.Attempt, t.StartedAt, t.New = task.StateRunning, 1, &t.CreatedAt, true
	return t, err == nil, err
}

// journalInserts are the CTEs that write a journal entry of the task in the CTE fence. The parameters are arrays, from
// $4: seven columns of the steps and three of the events.
const journalInserts = `
	steps AS (
		INSERT INTO task_step (task_id, n, kind, label, state, output, last_seq, started_at, ended_at)
		SELECT fence.id, s.* FROM fence,
			unnest($4::bigint[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::bigint[], $10::bigint[],
				$11::bigint[]) s` +
	onStepConflict + `),
	events AS (
		INSERT INTO task_event (task_id, seq, attempt, kind, payload)
		SELECT fence.id, e.seq, fence.attempt, e.kind, e.payload FROM fence,
			unnest($12::bigint[], $13::text[], $14::bytea[]) e (seq, kind, payload)
		ON CONFLICT (task_id, seq) DO NOTHING)`

// recordEntry writes a journal entry if the fence holds, and returns the number of fenced tasks.
const recordEntry = `
	WITH fence AS (SELECT id, attempt FROM task WHERE ` + fencedRunning + ` FOR NO KEY UPDATE),` + journalInserts + `
	SELECT count(*) FROM fence`

// entryArgs are the parameters of the fence and of journalInserts.
func entryArgs(f task.Fence, e task.Entry) args {
	var (
		numbers                  []int64
		kinds, labels, states    []string
		outputs, payloads        [][]byte
		last, started, sequences []int64
		ended                    []*int64
		eventKinds               []string
	)
	for _, s := range e.Steps {
		numbers = append(numbers, int64(s.N))
		kinds, labels = append(kinds, s.Kind), append(labels, s.Label)
		states, outputs = append(states, string(s.State)), append(outputs, s.Output)
		last, started = append(last, s.LastSeq), append(started, millis(s.StartedAt))
		var end *int64
		if s.EndedAt != nil {
			at := millis(*s.EndedAt)
			end = &at
		}
		ended = append(ended, end)
	}
	for _, v := range e.Events {
		sequences, eventKinds = append(sequences, v.Seq), append(eventKinds, v.Kind)
		payloads = append(payloads, v.Payload)
	}
	return args{
		f.TaskID, f.Attempt, f.Owner, numbers, kinds, labels, states, outputs, last, started, ended,
		sequences, eventKinds, payloads,
	}
}

// finishPlain completes a turn that has no open reservation and no webhook to call. The run itself completes a turn,
// after its last model call, so no reservation can be opened meanwhile.
const finishPlain = `
	WITH fence AS (
		UPDATE task SET state = 'complete', owner = NULL, result = $15, error_code = '', error_detail = '',
			finished_at = $16, prune_at = $17
		WHERE ` + fencedRunning + ` AND cancel_requested_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM spend_row WHERE turn_id = $1 AND turn_id <> '' AND state = 'reserved')
			AND NOT EXISTS (SELECT 1 FROM webhook WHERE webhook.user_id = task.user_id AND disabled_at IS NULL)
		RETURNING id, attempt),` + journalInserts + `,
	last AS (
		INSERT INTO task_event (task_id, seq, attempt, kind, payload)
		SELECT id, greatest($18, (SELECT coalesce(max(seq), 0) FROM task_event WHERE task_id = $1)) + 1, attempt,
			'` + task.EventDone + `', $19
		FROM fence),
	touched AS (
		UPDATE thread SET next_seq = next_seq + 1, status = 'idle',
			activity_at = greatest(activity_at, $16), last_message_at = $16, updated_at = $16
		WHERE id = $20 AND EXISTS (SELECT 1 FROM fence)
		RETURNING id, next_seq - 1 AS seq)
	INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail, details)
	SELECT $21, id, seq, $22, $23, $24, $1, $16, '', '', $25 FROM touched`

// finishPlainTurn completes a turn with finishPlain and reports whether it did.
func (db *DB) finishPlainTurn(ctx context.Context, f task.Fence, o task.Outcome, reply thread.Message) (bool, error) {
	details, err := encodeAnswer(reply.Answer)
	if err != nil {
		return false, err
	}
	var last int64
	if n := len(o.Entry.Events); n > 0 {
		last = o.Entry.Events[n-1].Seq
	}
	n, err := db.exec(ctx, finishPlain, append(entryArgs(f, o.Entry),
		o.Result, millis(o.At), millis(o.At.Add(deltaLife)), last, o.DoneEvent(), reply.ThreadID,
		reply.ID, string(reply.Role), reply.Text, reply.Status, details)...)
	return n == 1, err
}
