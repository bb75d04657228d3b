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
	details, thumb, note, feedback_at, parent_turn, scope`

type messageRow struct {
	message      thread.Message
	created      int64
	code, detail string
	details      string
	thumb, note  string
	judged       sql.NullInt64
	parent       sql.NullString
	scope        string
}

func (r *messageRow) dest() []any {
	m := &r.message
	return []any{
		&m.ID, &m.ThreadID, &m.Seq, (*string)(&m.Role), &m.Text, &m.Status, &m.TurnID, &r.created, &r.code, &r.detail,
		&r.details, &r.thumb, &r.note, &r.judged, &r.parent, &r.scope,
	}
}

func (r *messageRow) value() (thread.Message, error) {
	m := r.message
	m.CreatedAt = at(r.created)
	if r.parent.Valid {
		m.Parent = new(r.parent.String)
	}
	if r.code != "" {
		m.Error = &thread.TurnError{Code: r.code, Detail: r.detail}
	}
	if r.thumb != "" {
		m.Feedback = &thread.Feedback{Thumb: thread.Thumb(r.thumb), Note: r.note, UpdatedAt: at(r.judged.Int64)}
	}
	if r.scope != "" {
		if err := json.Unmarshal([]byte(r.scope), &m.Scope); err != nil {
			return thread.Message{}, fmt.Errorf("read the scope of message %s: %w", m.ID, err)
		}
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

// encodeScope returns the stored form of a scope, "" if it is empty.
func encodeScope(s thread.Scope) (string, error) {
	if s.Empty() {
		return "", nil
	}
	b, err := json.Marshal(s)
	return string(b), err
}

// Messages returns up to n messages of a thread's current branch, newest first.
func (db *DB) Messages(ctx context.Context, threadID string, before, n int) ([]thread.Message, error) {
	var branches int
	messages, err := db.messages(ctx, `
		SELECT `+messageColumns+`, `+branched+` FROM message
		WHERE thread_id = $1 AND seq < $2 AND parent_turn IS NULL ORDER BY seq DESC LIMIT $3 + 0`,
		threadID, before, n, &branches)
	if err == nil && branches > 0 {
		err = addVersions(ctx, db.read, threadID, messages)
	}
	if err != nil {
		return nil, fail("list messages", "thread", err)
	}
	return messages, nil
}

// AllMessages returns up to n messages of all branches of a thread, newest first.
func (db *DB) AllMessages(ctx context.Context, threadID string, before, n int) ([]thread.Message, error) {
	messages, err := db.messages(ctx, `
		SELECT `+messageColumns+` FROM message WHERE thread_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3 + 0`,
		threadID, before, n)
	return messages, fail("list all messages", "thread", err)
}

// messages returns the messages that a query for a thread, a sequence number and a limit selects. further receives the
// columns after those of messages.
func (db *DB) messages(
	ctx context.Context, query, threadID string, before, n int, further ...any,
) ([]thread.Message, error) {
	if before == 0 {
		before = math.MaxInt32
	}
	var r messageRow
	// A message has a kilobyte, and most threads have fewer messages than a page.
	messages := make([]thread.Message, 0, min(capacityFor(n), 8))
	err := db.read.each(ctx, query, args{threadID, before, n}, append(r.dest(), further...), func() error {
		m, err := r.value()
		messages = append(messages, m)
		return err
	})
	return messages, err
}

// Message returns a message of a thread, whichever branch it is part of.
func (db *DB) Message(ctx context.Context, threadID, messageID string) (thread.Message, error) {
	var r messageRow
	var branches int
	err := get(ctx, db.read, `
		SELECT `+messageColumns+`, `+branched+` FROM message WHERE thread_id = $1 AND id = $2`,
		args{threadID, messageID}, append(r.dest(), &branches)...)
	if err != nil {
		return thread.Message{}, fail("read message", "message", err)
	}
	m, err := r.value()
	if err != nil || branches == 0 {
		return m, err
	}
	one := []thread.Message{m}
	err = addVersions(ctx, db.read, threadID, one)
	return one[0], fail("read message", "message", err)
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
