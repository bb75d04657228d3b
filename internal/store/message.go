package store

import (
	"context"
	"errors"
	"math"

	"carrel/internal/thread"
)

const messageColumns = `id, thread_id, seq, role, text, status, turn_id, created_at`

// messageRow is a message as it is read.
type messageRow struct {
	message thread.Message
	created int64
}

func (r *messageRow) dest() []any {
	m := &r.message
	return []any{&m.ID, &m.ThreadID, &m.Seq, (*string)(&m.Role), &m.Text, &m.Status, &m.TurnID, &r.created}
}

func (r *messageRow) value() thread.Message {
	m := r.message
	m.CreatedAt = at(r.created)
	return m
}

// Messages returns up to n messages of a thread, newest first.
func (db *DB) Messages(ctx context.Context, threadID string, before, n int) ([]thread.Message, error) {
	if before == 0 {
		before = math.MaxInt32
	}
	var r messageRow
	messages := make([]thread.Message, 0, room(n))
	err := db.read.each(ctx, `
		SELECT `+messageColumns+` FROM message WHERE thread_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3 + 0`,
		args{threadID, before, n}, r.dest(), func() error {
			messages = append(messages, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list messages", "thread", err)
	}
	return messages, nil
}

// errStored undoes a turn that turns out to be there already.
var errStored = errors.New("the turn is stored already")

// AppendTurn stores a question and its reply at the end of a thread and moves the thread to the front. The update of
// the thread hands out the sequence numbers and lets parallel turns happen after each other.
func (db *DB) AppendTurn(ctx context.Context, userID, agentID, threadID, title string, question, reply thread.Message) error {
	latest := question.CreatedAt
	if reply.CreatedAt.After(latest) {
		latest = reply.CreatedAt
	}
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `
			UPDATE thread SET next_seq = next_seq + 2,
				title = CASE WHEN title = '' THEN $1 ELSE title END,
				activity_at = CASE WHEN activity_at > $2 THEN activity_at ELSE $2 END,
				last_message_at = $2, updated_at = $2
			WHERE id = $3 AND user_id = $4 AND agent_id = $5`, title, millis(latest), threadID, userID, agentID)
		if err := changed("append turn", "thread", n, err); err != nil {
			return err
		}
		for i, m := range []thread.Message{question, reply} {
			n, err := tx.exec(ctx, `
				INSERT INTO message (id, thread_id, seq, role, text, status, turn_id, created_at)
				VALUES ($1, $2, (SELECT next_seq FROM thread WHERE id = $2) - $3, $4, $5, $6, $7, $8)
				ON CONFLICT (turn_id, role) DO NOTHING`,
				m.ID, threadID, 2-i, string(m.Role), m.Text, m.Status, m.TurnID, millis(m.CreatedAt))
			if err != nil {
				return err
			}
			if n == 0 {
				return errStored
			}
		}
		return nil
	})
	if errors.Is(err, errStored) {
		return nil
	}
	return fail("append turn", "thread", err)
}

// Reply returns the reply of a turn.
func (db *DB) Reply(ctx context.Context, threadID, turnID string) (thread.Message, error) {
	var r messageRow
	err := get(ctx, db.read, `SELECT `+messageColumns+` FROM message WHERE turn_id = $1 AND role = $2 AND thread_id = $3`,
		args{turnID, string(thread.RoleAssistant), threadID}, r.dest()...)
	if err != nil {
		return thread.Message{}, fail("read reply", "reply", err)
	}
	return r.value(), nil
}
