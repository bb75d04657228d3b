package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"carrel/internal/thread"
)

const messageColumns = `id, thread_id, seq, role, text, status, turn_id, created_at, error_code, error_detail,
	details, thumb, note, feedback_at`

type messageRow struct {
	message      thread.Message
	created      int64
	code, detail string
	details      string
	thumb, note  string
	judged       sql.NullInt64
}

func (r *messageRow) dest() []any {
	m := &r.message
	return []any{
		&m.ID, &m.ThreadID, &m.Seq, (*string)(&m.Role), &m.Text, &m.Status, &m.TurnID, &r.created, &r.code, &r.detail,
		&r.details, &r.thumb, &r.note, &r.judged,
	}
}

func (r *messageRow) value() (thread.Message, error) {
	m := r.message
	m.CreatedAt = at(r.created)
	if r.code != "" {
		m.Error = &thread.TurnError{Code: r.code, Detail: r.detail}
	}
	if r.thumb != "" {
		m.Feedback = &thread.Feedback{Thumb: thread.Thumb(r.thumb), Note: r.note, UpdatedAt: at(r.judged.Int64)}
	}
	if r.details == "" {
		return m, nil
	}
	if err := json.Unmarshal([]byte(r.details), &m.Answer); err != nil {
		return thread.Message{}, fmt.Errorf("read the details of message %s: %w", m.ID, err)
	}
	return m, nil
}

// encodeAnswer returns the stored form of an answer's details, "" if there are none.
func encodeAnswer(a thread.Answer) (string, error) {
	b, err := json.Marshal(a)
	if err != nil || string(b) == "{}" {
		return "", err
	}
	return string(b), nil
}

// Messages returns up to n messages of a thread, newest first.
func (db *DB) Messages(ctx context.Context, threadID string, before, n int) ([]thread.Message, error) {
	if before == 0 {
		before = math.MaxInt32
	}
	var r messageRow
	messages := make([]thread.Message, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT `+messageColumns+` FROM message WHERE thread_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3 + 0`,
		args{threadID, before, n}, r.dest(), func() error {
			m, err := r.value()
			messages = append(messages, m)
			return err
		})
	if err != nil {
		return nil, fail("list messages", "thread", err)
	}
	return messages, nil
}

// Reply returns the reply of a turn.
func (db *DB) Reply(ctx context.Context, threadID, turnID string) (thread.Message, error) {
	var r messageRow
	err := get(ctx, db.read,
		`SELECT `+messageColumns+` FROM message WHERE turn_id = $1 AND role = $2 AND thread_id = $3`,
		args{turnID, string(thread.RoleAssistant), threadID}, r.dest()...)
	if err != nil {
		return thread.Message{}, fail("read reply", "reply", err)
	}
	return r.value()
}

// SetFeedback stores a user's feedback on a reply; nil deletes it.
func (db *DB) SetFeedback(ctx context.Context, threadID, messageID string, f *thread.Feedback) error {
	if f == nil {
		n, err := db.exec(ctx, `
			UPDATE message SET thumb = '', note = '', feedback_at = NULL
			WHERE id = $1 AND thread_id = $2 AND role = $3 AND thumb <> ''`, messageID, threadID, string(thread.RoleAssistant))
		return requireRow("forget feedback", "feedback", n, err)
	}
	n, err := db.exec(ctx, `
		UPDATE message SET thumb = $1, note = $2, feedback_at = $3 WHERE id = $4 AND thread_id = $5 AND role = $6`,
		string(f.Thumb), f.Note, millis(f.UpdatedAt), messageID, threadID, string(thread.RoleAssistant))
	return requireRow("keep feedback", "reply", n, err)
}
