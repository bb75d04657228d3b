package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// SubmitTurn stores a question with the task that answers it. The lock on the thread serializes concurrent questions.
func (db *DB) SubmitTurn(
	ctx context.Context, userID, agentID, title string, question thread.Message, t task.Task,
) (stored task.Task, err error) {
	if db.onPostgres() && t.Owner != "" && t.IdemKey == "" && t.Key == question.ThreadID && t.UserID == userID &&
		question.Scope.Empty() {
		if stored, done, err := db.submitToIdle(ctx, agentID, title, question, t); err != nil || done {
			return stored, fail("submit turn", "thread", err)
		}
	}
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockThread(ctx, tx, userID, agentID, question.ThreadID); err != nil {
			return err
		}
		if stored, err = existingTurn(ctx, tx, question, t); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		stored, err = db.beginTurn(ctx, tx, title, question, t)
		return err
	})
	if err != nil {
		return task.Task{}, fail("submit turn", "thread", err)
	}
	return stored, nil
}

// lockThread locks a thread of a user, so that its messages and turns change in one transaction at a time.
func (db *DB) lockThread(ctx context.Context, tx querier, userID, agentID, threadID string) error {
	var one int
	return get(ctx, tx, `SELECT 1 FROM thread WHERE `+threadOfAgent+db.dialect.lock,
		args{threadID, userID, agentID}, &one)
}

// beginTurn stores a question at the end of the current branch, and its task.
func (db *DB) beginTurn(
	ctx context.Context, tx querier, title string, question thread.Message, t task.Task,
) (task.Task, error) {
	stored, err := db.insertTask(ctx, tx, t)
	if err != nil {
		return task.Task{}, err
	}
	if err := appendMessage(ctx, tx, question); err != nil {
		return task.Task{}, err
	}
	return stored, touchThread(ctx, tx, question.ThreadID, thread.StatusWorking, title, question.CreatedAt)
}

// existingTurn returns the turn of a repeated question: the turn with the same id, or the active turn with the same
// text and scope. Another active turn is a conflict, and a turn whose messages were deleted is not found; without any
// turn the error is sql.ErrNoRows.
func existingTurn(ctx context.Context, tx querier, question thread.Message, t task.Task) (task.Task, error) {
	old, err := oneTask(ctx, tx, `
		SELECT `+taskColumns+` FROM task WHERE id = coalesce((SELECT id FROM task WHERE id = $2), `+activeTaskID+`)`,
		args{t.Key, t.ID})
	if err != nil {
		return task.Task{}, err
	}
	scope, err := encodeScope(question.Scope)
	if err != nil {
		return task.Task{}, err
	}
	var asked int
	err = get(ctx, tx, `
		SELECT count(*) FROM message WHERE turn_id = $1 AND role = $2 AND thread_id = $3 AND text = $4 AND scope = $5`,
		args{old.ID, string(thread.RoleUser), question.ThreadID, question.Text, scope}, &asked)
	if err != nil {
		return task.Task{}, err
	}
	switch {
	case asked > 0:
		return old, nil
	case old.State.Ended():
		return task.Task{}, core.NotFound("message") // deleted after the first request
	default:
		return task.Task{}, turnWorking()
	}
}

// turnWorking is the error for a change that has to wait for the active turn of a thread.
func turnWorking() error {
	return core.Conflict("turn_working",
		"The agent is still working on another message of this thread. Wait for its reply, or cancel it.")
}

// appendMessage appends a message to its thread.
func appendMessage(ctx context.Context, tx querier, m thread.Message) error {
	code, detail := "", ""
	if m.Error != nil {
		code, detail = m.Error.Code, m.Error.Detail
	}
	details, err := encodeAnswer(m.Answer)
	if err != nil {
		return err
	}
	scope, err := encodeScope(m.Scope)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail, details,
			scope)
		SELECT $1, id, next_seq, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM thread WHERE id = $2`,
		m.ID, m.ThreadID, string(m.Role), m.Text, m.Status, m.TurnID, millis(m.CreatedAt), code, detail, details, scope)
	return err
}

// touchThread increments the sequence number, moves the thread to the front, and sets the title if it has none.
func touchThread(
	ctx context.Context, tx querier, threadID string, status thread.Status, title string, now time.Time,
) error {
	n, err := tx.exec(ctx, `
		UPDATE thread SET next_seq = next_seq + 1, status = $1,
			title = CASE WHEN title = '' THEN $2 ELSE title END,
			activity_at = CASE WHEN activity_at > $3 THEN activity_at ELSE $3 END,
			last_message_at = $3, updated_at = $3
		WHERE id = $4`, string(status), title, millis(now), threadID)
	return requireRow("touch thread", "thread", n, err)
}

// FinishTurn ends a turn's task and stores its reply and its webhook deliveries. If the fence does not hold, nothing is
// stored.
func (db *DB) FinishTurn(ctx context.Context, f task.Fence, o task.Outcome, reply thread.Message) error {
	if db.onPostgres() && f.Owner != "" && o.State == task.StateComplete && !o.Entry.Progress {
		if done, err := db.finishPlainTurn(ctx, f, o, reply); err != nil || done {
			return failTask("finish turn", err)
		}
	}
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := finishTask(ctx, tx, f, o); err != nil {
			return err
		}
		if err := appendMessage(ctx, tx, reply); err != nil {
			return err
		}
		if err := touchThread(ctx, tx, reply.ThreadID, thread.StatusIdle, "", reply.CreatedAt); err != nil {
			return err
		}
		return db.announceTurn(ctx, tx, f, o, reply)
	})
	return failTask("finish turn", err)
}

// ThreadPosition returns the current end of a thread's event stream, and whether its last turn is active.
func (db *DB) ThreadPosition(ctx context.Context, threadID string) (p task.Position, working bool, err error) {
	var active int
	err = get(ctx, db.read, `
		SELECT number, coalesce((SELECT max(seq) FROM task_event WHERE task_id = task.id), 0),
			CASE WHEN finished_at IS NULL THEN 1 ELSE 0 END
		FROM task WHERE key = $1 ORDER BY number DESC LIMIT 1`, args{threadID}, &p.Number, &p.Seq, &active)
	if errors.Is(err, sql.ErrNoRows) {
		return task.Position{}, false, nil
	}
	return p, active == 1, fail("read a thread's position", "thread", err)
}
