package store

import (
	"context"
	"math"

	"carrel/internal/thread"
)

const messageColumns = `id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail`

// messageRow is a message as it is read.
type messageRow struct {
	message      thread.Message
	created      int64
	code, detail string
}

func (r *messageRow) dest() []any {
	m := &r.message
	return []any{&m.ID, &m.ThreadID, &m.Seq, (*string)(&m.Role), &m.Text, &m.Status, &m.TurnID, &r.created, &r.code, &r.detail}
}

func (r *messageRow) value() thread.Message {
	m := r.message
	m.CreatedAt = at(r.created)
	if r.code != "" {
		m.Error = &thread.TurnError{Code: r.code, Detail: r.detail}
	}
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
