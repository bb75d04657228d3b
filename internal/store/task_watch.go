package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"carrel/internal/task"
)

// TaskProgress returns the progress of each task.
func (db *DB) TaskProgress(ctx context.Context, ids []string) (map[string]task.Progress, error) {
	progress := make(map[string]task.Progress, len(ids))
	var id string
	var p task.Progress
	var state task.State
	err := db.read.each(ctx, `
		SELECT id, state, (SELECT coalesce(max(seq), 0) FROM task_event WHERE task_id = id)
		FROM task WHERE id IN `+db.dialect.in("$1"),
		args{encodeList(ids)}, []any{&id, (*string)(&state), &p.Seq}, func() error {
			p.Ended, p.Queued = state.Ended(), state == task.StateQueued
			progress[id] = p
			return nil
		})
	return progress, fail("read task progress", "task", err)
}

// LatestTaskNumbers returns the number of the newest task of each key.
func (db *DB) LatestTaskNumbers(ctx context.Context, keys []string) (map[string]int64, error) {
	numbers := make(map[string]int64, len(keys))
	var key string
	var number int64
	err := db.read.each(ctx, `SELECT key, max(number) FROM task WHERE key IN `+db.dialect.in("$1")+` GROUP BY key`,
		args{encodeList(keys)}, []any{&key, &number}, func() error {
			numbers[key] = number
			return nil
		})
	return numbers, fail("read task progress", "task", err)
}

// NextTask returns the first task of a key with a number above after.
func (db *DB) NextTask(ctx context.Context, key string, after int64) (task.Task, error) {
	t, err := oneTask(ctx, db.read, `
		SELECT `+taskColumns+` FROM task WHERE key = $1 AND number > $2 ORDER BY number LIMIT 1`, args{key, after})
	return t, fail("read task", "task", err)
}

const (
	// taskChannel is the PostgreSQL notification channel; channels are per database.
	taskChannel = "carrel_task"
	// maxPayload is below PostgreSQL's limit for a notification, 8000 bytes.
	maxPayload = 7000
)

// NotifyTasks sends hints to the other nodes in as few notifications as possible. On SQLite it does nothing.
func (db *DB) NotifyTasks(ctx context.Context, from string, hints []task.Hint) error {
	if !db.onPostgres() {
		return nil
	}
	payload := from
	send := func() error {
		_, err := db.exec(ctx, `SELECT pg_notify('`+taskChannel+`', $1)`, payload)
		payload = from
		return err
	}
	for _, h := range hints {
		line := "\n" + h.Task + " " + h.Key + " " + strconv.FormatInt(h.Seq, 10)
		if len(payload)+len(line) > maxPayload {
			if err := send(); err != nil {
				return fail("notify nodes", "node", err)
			}
		}
		payload += line
	}
	if payload == from {
		return nil
	}
	return fail("notify nodes", "node", send())
}

// ListenTasks calls fn with the hints of other nodes, on its own connection, until the context or the connection ends.
// On SQLite it returns at once.
func (db *DB) ListenTasks(ctx context.Context, self string, fn func(task.Hint)) error {
	p, ok := db.read.(*postgres)
	if !ok {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, p.direct)
	if err != nil {
		return fail("listen", "node", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the context may have ended
	return fail("listen", "node", listen(ctx, conn, self, fn))
}

func listen(ctx context.Context, c *pgx.Conn, self string, fn func(task.Hint)) error {
	if _, err := c.Exec(ctx, "LISTEN "+taskChannel); err != nil {
		return err
	}
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		from, lines, _ := strings.Cut(n.Payload, "\n")
		if from == self {
			continue
		}
		for line := range strings.SplitSeq(lines, "\n") {
			if h, ok := parseHint(line); ok {
				fn(h)
			}
		}
	}
}

// parseHint parses a line of a notification and reports whether it is valid.
func parseHint(line string) (task.Hint, bool) {
	id, rest, ok := strings.Cut(line, " ")
	i := strings.LastIndexByte(rest, ' ')
	if !ok || i < 0 {
		return task.Hint{}, false
	}
	seq, err := strconv.ParseInt(rest[i+1:], 10, 64)
	return task.Hint{Task: id, Key: rest[:i], Seq: seq}, err == nil
}
