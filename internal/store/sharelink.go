package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"carrel/internal/core"
	"carrel/internal/sharelink"
)

var _ sharelink.Store = (*DB)(nil)

const linkColumns = `l.id, l.user_id, t.agent_id, l.thread_id, t.title, l.messages, l.created_at, l.expires_at`

const fromLinks = ` FROM thread_link l JOIN thread t ON t.id = l.thread_id AND t.deleted_at IS NULL `

type linkRow struct {
	link     sharelink.Link
	messages string
	created  int64
	expires  sql.NullInt64
}

func (r *linkRow) dest() []any {
	l := &r.link
	return []any{&l.ID, &l.UserID, &l.AgentID, &l.ThreadID, &l.Title, &r.messages, &r.created, &r.expires}
}

func (r *linkRow) value() (l sharelink.Link, err error) {
	l = r.link
	l.CreatedAt, l.ExpiresAt = at(r.created), optAt(r.expires)
	l.Messages, err = decodeList[string](r.messages)
	return l, err
}

func (db *DB) links(ctx context.Context, where string, a args) ([]sharelink.Link, error) {
	var r linkRow
	links := []sharelink.Link{}
	err := db.read.each(ctx, `SELECT `+linkColumns+fromLinks+where, a, r.dest(), func() error {
		l, err := r.value()
		links = append(links, l)
		return err
	})
	return links, fail("list links", "thread", err)
}

// InsertLink stores a link, or replaces the hash of the existing one with its id. The lock on the thread serializes
// inserts, so that the limit holds.
func (db *DB) InsertLink(ctx context.Context, l sharelink.Link, hash []byte, limit int) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var n int
		if err := get(ctx, tx, `SELECT 1 FROM thread WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL`+db.dialect.lock,
			args{l.ThreadID, l.UserID}, &n); err != nil {
			return err
		}
		if err := get(ctx, tx, `SELECT count(*) FROM thread_link WHERE thread_id = $1 AND id <> $2`,
			args{l.ThreadID, l.ID}, &n); err != nil {
			return err
		}
		if n >= limit {
			return core.Conflict("conflict", fmt.Sprintf("The thread has %d links, which is the maximum. Delete one first.", n))
		}
		_, err := tx.exec(ctx, `
			INSERT INTO thread_link (id, user_id, thread_id, hash, messages, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET hash = excluded.hash
			WHERE thread_link.user_id = excluded.user_id`,
			l.ID, l.UserID, l.ThreadID, hash, encodeList(l.Messages), millis(l.CreatedAt), optMillis(l.ExpiresAt))
		return err
	})
	return fail("insert link", "thread", err)
}

// ThreadLinks returns the links to a thread of a user, newest first.
func (db *DB) ThreadLinks(ctx context.Context, userID, threadID string) ([]sharelink.Link, error) {
	return db.links(ctx, `WHERE l.thread_id = $1 AND l.user_id = $2 ORDER BY l.id DESC`, args{threadID, userID})
}

// Links returns up to n links of a user, newest first.
func (db *DB) Links(ctx context.Context, userID, before string, n int) ([]sharelink.Link, error) {
	if before == "" {
		return db.links(ctx, `WHERE l.user_id = $1 ORDER BY l.id DESC LIMIT $2 + 0`, args{userID, n})
	}
	return db.links(ctx, `WHERE l.user_id = $1 AND l.id < $2 ORDER BY l.id DESC LIMIT $3 + 0`, args{userID, before, n})
}

// LinkByHash returns the link with a token unless its user is disabled.
func (db *DB) LinkByHash(ctx context.Context, hash []byte) (sharelink.Link, error) {
	var r linkRow
	err := get(ctx, db.read, `SELECT `+linkColumns+fromLinks+`JOIN app_user u ON u.id = l.user_id
		WHERE l.hash = $1 AND u.disabled_at IS NULL`, args{hash}, r.dest()...)
	if err != nil {
		return sharelink.Link{}, fail("find link", "link", err)
	}
	l, err := r.value()
	return l, fail("find link", "link", err)
}

// DeleteLink deletes a link of a user.
func (db *DB) DeleteLink(ctx context.Context, userID, linkID string) error {
	n, err := db.exec(ctx, `DELETE FROM thread_link WHERE user_id = $1 AND id = $2`, userID, linkID)
	return requireRow("delete link", "link", n, err)
}

// PruneLinks deletes the links that expired before the time.
func (db *DB) PruneLinks(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"thread_link", "id", "expires_at < $1"}, before, pruneBatch)
	return fail("prune links", "link", err)
}
