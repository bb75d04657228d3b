package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/thread"
)

const threadColumns = `id, title, status, created_at, updated_at, last_message_at`

type threadRow struct {
	thread           thread.Thread
	created, updated int64
	lastMessage      sql.NullInt64
}

func (r *threadRow) dest() []any {
	t := &r.thread
	return []any{&t.ID, &t.Title, (*string)(&t.Status), &r.created, &r.updated, &r.lastMessage}
}

func (r *threadRow) value() thread.Thread {
	t := r.thread
	t.CreatedAt, t.UpdatedAt, t.LastMessageAt = at(r.created), at(r.updated), optAt(r.lastMessage)
	return t
}

// InsertThread stores a thread. It does nothing if the user already has this thread with the agent.
func (db *DB) InsertThread(ctx context.Context, userID string, t thread.Thread) error {
	n, err := db.exec(ctx, `
		INSERT INTO thread (id, user_id, agent_id, title, status, activity_at, next_seq, created_at, updated_at,
			last_message_at)
		SELECT $1, $2, $3, $4, $5, $6, 1, $7, $8, $9 WHERE `+agentAccessible("$3", "$2")+` ON CONFLICT (id) DO NOTHING`,
		t.ID, userID, t.AgentID, t.Title, string(t.Status), millis(activity(t)), millis(t.CreatedAt),
		millis(t.UpdatedAt),
		optMillis(t.LastMessageAt))
	if err == nil && n == 0 {
		if err = requireAgentAccess(ctx, db.read, userID, t.AgentID); err == nil {
			_, err = db.Thread(ctx, userID, t.AgentID, t.ID)
		}
	}
	return fail("insert thread", "agent", err)
}

// activity is the sort key of threads: the time of the last message or of the creation.
func activity(t thread.Thread) time.Time {
	if t.LastMessageAt != nil {
		return *t.LastMessageAt
	}
	return t.CreatedAt
}

type threadKey struct{ userID, agentID, threadID string }

// Thread returns one thread.
func (db *DB) Thread(ctx context.Context, userID, agentID, threadID string) (thread.Thread, error) {
	return cached(db, threadKey{userID, agentID, threadID}, func() (thread.Thread, error) {
		r := threadRow{thread: thread.Thread{AgentID: agentID}}
		err := get(ctx, db.read,
			`SELECT `+threadColumns+` FROM thread WHERE id = $1 AND user_id = $2 AND agent_id = $3`,
			args{threadID, userID, agentID}, r.dest()...)
		if err != nil {
			return thread.Thread{}, fail("read thread", "thread", err)
		}
		return r.value(), nil
	})
}

// Threads returns up to n threads, newest activity first.
func (db *DB) Threads(ctx context.Context, userID, agentID string, after *thread.Key, n int) ([]thread.Thread, error) {
	active, id := int64(lastTime), ""
	if after != nil {
		active, id = millis(after.Activity), after.ID
	}
	r := threadRow{thread: thread.Thread{AgentID: agentID}}
	threads := make([]thread.Thread, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT `+threadColumns+` FROM thread
		WHERE user_id = $1 AND agent_id = $2 AND (activity_at, id) < ($3, $4)
		ORDER BY activity_at DESC, id DESC LIMIT $5 + 0`,
		args{userID, agentID, active, id, n}, r.dest(), func() error {
			threads = append(threads, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list threads", "agent", err)
	}
	return threads, nil
}

// RenameThread sets a thread's title without changing its position in the list.
func (db *DB) RenameThread(
	ctx context.Context, userID, agentID, threadID, title string, now time.Time,
) (thread.Thread, error) {
	r := threadRow{thread: thread.Thread{AgentID: agentID}}
	err := db.execReturning(ctx, `
		UPDATE thread SET title = $1, updated_at = $2 WHERE id = $3 AND user_id = $4 AND agent_id = $5
		RETURNING `+threadColumns,
		args{title, millis(now), threadID, userID, agentID}, r.dest())
	if err != nil {
		return thread.Thread{}, fail("rename thread", "thread", err)
	}
	return r.value(), nil
}

// DeleteThread deletes a thread with its messages and turns. The fence stops a running turn. Favourites saved from the
// thread lose their reference to it.
func (db *DB) DeleteThread(ctx context.Context, userID, agentID, threadID string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `DELETE FROM thread WHERE id = $1 AND user_id = $2 AND agent_id = $3`,
			threadID, userID, agentID)
		if err := requireRow("delete thread", "thread", n, err); err != nil {
			return err
		}
		return deleteTasks(ctx, tx, threadID)
	})
	return fail("delete thread", "thread", err)
}
