package store

import (
	"context"
	"math"
	"time"

	"carrel/internal/task"
	"carrel/internal/thread"
)

// deltaLife is how long delta events are kept after the end of their task.
const deltaLife = 24 * time.Hour

// ClaimTasks assigns queued tasks to a node. Of each key only the first may start, and only if none is running. A node
// whose expired lease was swept gets none, because the next sweep would count them as crashed.
func (db *DB) ClaimTasks(
	ctx context.Context, node string, kinds []string, n int, now time.Time,
) ([]task.Task, bool, error) {
	// An empty queue is the common case and needs no write.
	var waiting int
	err := get(ctx, db.read, `
		SELECT count(*) FROM (SELECT 1 AS one FROM task WHERE state = 'queued' AND run_at <= $1 LIMIT 1) waiting`,
		args{millis(now)}, &waiting)
	if err != nil || waiting == 0 {
		return nil, false, fail("claim tasks", "task", err)
	}
	skip := ""
	if db.onPostgres() {
		skip = " FOR NO KEY UPDATE SKIP LOCKED" // skips tasks that another node is claiming
	}
	var tasks []task.Task
	err = db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		tasks, err = manyTasks(ctx, tx, `
			WITH picked AS MATERIALIZED (
				SELECT id AS picked_id FROM task first
				WHERE state = 'queued' AND run_at <= $1 AND kind IN `+db.dialect.in("$2")+`
					AND NOT EXISTS (SELECT 1 FROM task other WHERE other.key = first.key AND other.state = 'running')
					AND NOT EXISTS (SELECT 1 FROM task other
						WHERE other.key = first.key AND other.state = 'queued' AND other.number < first.number)
				ORDER BY run_at, id LIMIT $3 + 0`+skip+`)
			UPDATE task SET state = 'running', owner = $4, attempt = attempt + 1, started_at = coalesce(started_at, $1)
			FROM picked WHERE id = picked_id AND state = 'queued' AND EXISTS (SELECT 1 FROM node WHERE id = $4)
			RETURNING `+taskColumns, args{millis(now), encodeList(kinds), n, node})
		return err
	})
	// Another node started a task of the same key between the read and the write. It is claimed in a later round.
	if classify(err) == classUnique {
		return nil, true, nil
	}
	return tasks, true, fail("claim tasks", "task", err)
}

// busyTasks returns, as an SQL expression, the number of a user's running tasks of a kind.
func busyTasks(user, kind string) string {
	return `(SELECT count(*) FROM task other
		WHERE other.state = 'running' AND other.user_id = ` + user + ` AND other.kind = ` + kind + `)`
}

// lastServed returns, as an SQL expression, the latest start of a user's tasks of a kind with a limit per user.
func lastServed(user, kind string) string {
	return `coalesce((SELECT max(other.started_at) FROM task other
		WHERE other.slot IS NOT NULL AND other.user_id = ` + user + ` AND other.kind = ` + kind + `), 0)`
}

// notStarted is an SQL expression that sorts interrupted tasks before new ones.
const notStarted = `CASE WHEN started_at IS NULL THEN 1 ELSE 0 END`

// startable selects the first startable task of each user, of a limited kind. $1 is the time, $2 the kind, $3 the limit
// of running tasks per user.
var startable = `
	SELECT id AS picked_id, run_at AS picked_at, fresh, busy, served, free FROM (
		SELECT id, run_at, fresh, ` + busyTasks("head.user_id", "$2") + ` AS busy,
			` + lastServed("head.user_id", "$2") + ` AS served, ` + freeSlot("head.user_id", "$2") + ` AS free
		FROM (
			SELECT id, run_at, user_id, ` + notStarted + ` AS fresh,
				row_number() OVER (PARTITION BY user_id ORDER BY ` + notStarted + `, run_at, id) AS nth
			FROM task first
			WHERE state = 'queued' AND run_at <= $1 AND kind = $2
				AND NOT EXISTS (SELECT 1 FROM task other WHERE other.key = first.key AND other.state = 'running')
				AND NOT EXISTS (SELECT 1 FROM task other
					WHERE other.key = first.key AND other.state = 'queued' AND other.number < first.number)) head
		WHERE nth = 1) ranked
	WHERE free <= $3 + 0`

// claimTries is how often a claim is repeated whose slot or key another node has just taken.
const claimTries = 3

// ClaimLimitedTasks assigns queued tasks of one kind to a node within the limit per user. Nodes claim one after the
// other, so that they do not choose the same slots. As in ClaimTasks, a node whose lease was swept gets none.
func (db *DB) ClaimLimitedTasks(
	ctx context.Context, node, kind string, n, perUser int, now, deadline time.Time,
) ([]task.Task, error) {
	if perUser <= 0 {
		perUser = math.MaxInt32
	}
	// Usually no task may start, even if some are waiting, and nothing is written.
	var waiting int
	err := get(ctx, db.read, `SELECT count(*) FROM (`+startable+` LIMIT 1) waiting`,
		args{millis(now), kind, perUser}, &waiting)
	if err != nil || waiting == 0 {
		return nil, fail("claim tasks", "task", err)
	}
	var tasks []task.Task
	for range claimTries {
		err = db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
			tasks, err = db.claimLimited(ctx, tx, node, kind, n, perUser, now, deadline)
			return err
		})
		if classify(err) != classUnique {
			return tasks, fail("claim tasks", "task", err)
		}
	}
	return nil, nil // claimed in a later round
}

// claimLimited claims the tasks inside a transaction, one of each user at a time.
func (db *DB) claimLimited(
	ctx context.Context, tx querier, node, kind string, n, perUser int, now, deadline time.Time,
) (tasks []task.Task, err error) {
	if db.onPostgres() {
		if _, err := tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "claim "+kind); err != nil {
			return nil, err
		}
	}
	for len(tasks) < n {
		round, err := manyTasks(ctx, tx, `
			WITH picked AS MATERIALIZED (`+startable+` ORDER BY fresh, busy, served, picked_at, picked_id LIMIT $4 + 0)
			UPDATE task SET state = 'running', owner = $5, attempt = attempt + 1, started_at = coalesce(started_at, $1),
				deadline_at = CASE WHEN started_at IS NULL THEN $6 ELSE deadline_at END, slot = free
			FROM picked WHERE id = picked_id AND state = 'queued' AND EXISTS (SELECT 1 FROM node WHERE id = $5)
			RETURNING `+taskColumns, args{millis(now), kind, perUser, n - len(tasks), node, millis(deadline)})
		if err != nil {
			return nil, err
		}
		if len(round) == 0 {
			break
		}
		tasks = append(tasks, round...)
	}
	return tasks, nil
}

// QueuePositions returns how many tasks are ahead of each of these tasks in the queue of its kind. Tasks that do not
// wait are left out. The order is that of ClaimLimitedTasks, where earlier waiting tasks of a user count as running.
func (db *DB) QueuePositions(ctx context.Context, kinds, ids []string, now time.Time) (map[string]int, error) {
	ahead := make(map[string]int, len(ids))
	var id string
	var n int
	err := db.read.each(ctx, `
		SELECT id, ahead FROM (
			SELECT id, row_number() OVER (PARTITION BY kind ORDER BY fresh, place, served, run_at, id) - 1 AS ahead
			FROM (
				SELECT id, kind, run_at, `+notStarted+` AS fresh,
					row_number() OVER (PARTITION BY kind, user_id ORDER BY `+notStarted+`, run_at, id)
					+ `+busyTasks("first.user_id", "first.kind")+` AS place,
					`+lastServed("first.user_id", "first.kind")+` AS served
				FROM task first
				WHERE state = 'queued' AND run_at <= $1 AND kind IN `+db.dialect.in("$2")+`) ranked) ranked
		WHERE id IN `+db.dialect.in("$3"), args{millis(now), encodeList(kinds), encodeList(ids)}, []any{&id, &n},
		func() error {
			ahead[id] = n
			return nil
		})
	return ahead, fail("read the queue", "task", err)
}

// The fence conditions: $1 is the task, $2 the attempt, $3 the owner. The parentheses leave PostgreSQL only the primary
// key; the index of owners has an entry for every task that ended since the last vacuum.
const (
	fencedRunning = `id = $1 AND (attempt = $2 AND owner = $3 AND state = 'running') IS TRUE`
	fencedQueued  = `id = $1 AND attempt = $2 AND $3 = '' AND state = 'queued'`
)

func fenced(f task.Fence) string {
	if f.Owner == "" {
		return fencedQueued
	}
	return fencedRunning
}

// FinishTask ends a task or queues it again; see finishTask.
func (db *DB) FinishTask(ctx context.Context, f task.Fence, o task.Outcome) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := finishTask(ctx, tx, f, o); err != nil || !o.State.Ended() {
			return err
		}
		// If FinishTurn failed, the turn ends here without a reply. Its thread must not stay in the working state.
		_, err := tx.exec(ctx, `UPDATE thread SET status = $1 WHERE id = $2 AND status = $3`,
			string(thread.StatusIdle), f.Key, string(thread.StatusWorking))
		return err
	})
	return failTask("finish task", err)
}

// finishTask ends a task inside a transaction, with its last events, and settles its open reservation; or it queues the
// task again. It returns task.ErrLost if the fence does not hold, and task.ErrCancelled if the task is to complete but
// cancellation was requested. The transaction must then be rolled back.
func finishTask(ctx context.Context, tx querier, f task.Fence, o task.Outcome) error {
	if o.State == task.StateQueued {
		n, err := tx.exec(ctx, `UPDATE task SET state = 'queued', owner = NULL, run_at = $4 WHERE `+fenced(f),
			f.TaskID, f.Attempt, f.Owner, millis(o.RunAt))
		if err := requireFence(n, err); err != nil {
			return err
		}
		return writeEntry(ctx, tx, f.TaskID, o.Entry)
	}
	n, err := tx.exec(ctx, `
		UPDATE task SET state = $4, owner = NULL, result = $5, error_code = $6, error_detail = $7, finished_at = $8,
			prune_at = $9
		WHERE `+fenced(f)+` AND ($4 <> 'complete' OR cancel_requested_at IS NULL)`,
		f.TaskID, f.Attempt, f.Owner, string(o.State), o.Result, o.Code, o.Detail, millis(o.At),
		millis(o.At.Add(deltaLife)))
	if err != nil {
		return err
	}
	if n == 0 {
		return finishError(ctx, tx, f)
	}
	if err := endSpend(ctx, tx, f.TaskID); err != nil {
		return err
	}
	if err := writeEntry(ctx, tx, f.TaskID, o.Entry); err != nil {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO task_event (task_id, seq, attempt, kind, payload)
		SELECT $1, coalesce(max(seq), 0) + 1, $2, '`+task.EventDone+`', $3 FROM task_event WHERE task_id = $1`,
		f.TaskID, f.Attempt, o.DoneEvent())
	return err
}

func finishError(ctx context.Context, tx querier, f task.Fence) error {
	var ours int
	err := get(ctx, tx, `SELECT count(*) FROM task WHERE `+fenced(f), args{f.TaskID, f.Attempt, f.Owner}, &ours)
	switch {
	case err != nil:
		return err
	case ours == 1:
		return task.ErrCancelled
	}
	return task.ErrLost
}

// DueTasks returns tasks with a cancellation request and queued tasks past their deadline, up to n of each.
func (db *DB) DueTasks(ctx context.Context, now time.Time, n int) ([]task.Task, error) {
	wanted, err := manyTasks(ctx, db.read, `
		SELECT `+taskColumns+` FROM task WHERE cancel_requested_at IS NOT NULL AND finished_at IS NULL LIMIT $1 + 0`, args{n})
	if err != nil {
		return nil, fail("list due tasks", "task", err)
	}
	late, err := manyTasks(ctx, db.read, `
		SELECT `+taskColumns+` FROM task WHERE state = 'queued' AND deadline_at <= $1 AND cancel_requested_at IS NULL
		ORDER BY deadline_at LIMIT $2 + 0`, args{millis(now), n})
	return append(wanted, late...), fail("list due tasks", "task", err)
}

// CountTasks counts queued and running tasks.
func (db *DB) CountTasks(ctx context.Context, now time.Time) (task.Counts, error) {
	c := task.Counts{Kinds: map[string]task.KindCounts{}}
	var kind string
	var n, since int64
	age := func() time.Duration { return max(0, now.Sub(at(since))) }
	err := db.read.each(ctx, `SELECT kind, count(*), min(run_at) FROM task WHERE state = 'queued' GROUP BY kind`, nil,
		[]any{&kind, &n, &since}, func() error {
			c.Kinds[kind] = task.KindCounts{Queued: n, OldestQueued: age()}
			c.Queued += n
			c.Oldest = max(c.Oldest, age())
			return nil
		})
	if err != nil {
		return c, fail("count tasks", "task", err)
	}
	err = db.read.each(ctx, `
		SELECT kind, count(*), coalesce(min(started_at), $1) FROM task WHERE state = 'running' GROUP BY kind`,
		args{millis(now)}, []any{&kind, &n, &since}, func() error {
			k := c.Kinds[kind]
			k.Running, k.OldestRunning = n, age()
			c.Kinds[kind] = k
			c.Running += n
			return nil
		})
	return c, fail("count tasks", "task", err)
}
