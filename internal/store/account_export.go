package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/accountdata"
	"carrel/internal/task"
)

var _ accountdata.ExportStore = (*DB)(nil)

const exportColumns = `id, user_id, status, attempt, done, total, bytes, error_code, error_detail, created_at,
	finished_at, expires_at, agents`

type exportRow struct {
	export            accountdata.Export
	created, agents   int64
	finished, expires sql.NullInt64
}

func (r *exportRow) dest() []any {
	e := &r.export
	return []any{
		&e.ID, &e.UserID, (*string)(&e.Status), &e.Attempt, &e.Done, &e.Total, &e.Bytes, &e.ErrorCode, &e.ErrorDetail,
		&r.created, &r.finished, &r.expires, &r.agents,
	}
}

func (r *exportRow) value() accountdata.Export {
	e := r.export
	e.CreatedAt, e.FinishedAt, e.ExpiresAt = at(r.created), optAt(r.finished), optAt(r.expires)
	e.Parts.Agents = r.agents == 1
	return e
}

// BeginExport stores an export with its task, or returns the export in progress. The lock on the user serializes
// concurrent calls.
func (db *DB) BeginExport(
	ctx context.Context, e accountdata.Export, t task.Task,
) (stored accountdata.Export, inserted task.Task, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		inserted = task.Task{}
		var one int
		if err := get(ctx, tx, `SELECT 1 FROM app_user WHERE id = $1`+db.dialect.lock, args{e.UserID},
			&one); err != nil {
			return err
		}
		var r exportRow
		err := get(ctx, tx, `SELECT `+exportColumns+` FROM account_export WHERE user_id = $1`,
			args{e.UserID}, r.dest()...)
		switch {
		case err == nil && r.export.Status == accountdata.StatusWorking:
			stored = r.value()
			return nil
		case err == nil:
			if err := dropExport(ctx, tx, r.export.ID); err != nil {
				return err
			}
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if _, err := tx.exec(ctx, `
			INSERT INTO account_export (`+exportColumns+`) VALUES ($1, $2, $3, 0, 0, 0, 0, '', '', $4, NULL, NULL, $5)`,
			e.ID, e.UserID, string(e.Status), millis(e.CreatedAt), flag(e.Parts.Agents)); err != nil {
			return err
		}
		stored = e
		inserted, err = db.insertTask(ctx, tx, t)
		return err
	})
	if err != nil {
		return accountdata.Export{}, task.Task{}, fail("begin an export", "user", err)
	}
	return stored, inserted, nil
}

// dropExport removes an export with its parts and its task.
func dropExport(ctx context.Context, tx querier, id string) error {
	if _, err := tx.exec(ctx, `DELETE FROM account_export WHERE id = $1`, id); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `DELETE FROM task WHERE id = $1`, id)
	return err
}

// Export returns the export of a user.
func (db *DB) Export(ctx context.Context, userID string) (accountdata.Export, error) {
	var r exportRow
	err := get(ctx, db.read, `SELECT `+exportColumns+` FROM account_export WHERE user_id = $1`,
		args{userID}, r.dest()...)
	if err != nil {
		return accountdata.Export{}, fail("read export", "export", err)
	}
	return r.value(), nil
}

// CountOwned returns the number of documents, threads, memories, favourites and items in the bin in a user's archive.
func (db *DB) CountOwned(ctx context.Context, userID string) (int64, error) {
	var n int64
	err := get(ctx, db.read, `
		SELECT (SELECT count(*) FROM document d JOIN source s ON s.id = d.source_id JOIN agent a ON a.id = s.agent_id
			WHERE a.user_id = $1)
			+ (SELECT count(*) FROM thread WHERE user_id = $1 AND deleted_at IS NULL)
			+ (SELECT count(*) FROM memory WHERE user_id = $1 AND status <> 'dismissed')
			+ (SELECT count(*) FROM favourite WHERE user_id = $1)
			+ (SELECT count(*) FROM bin_item WHERE user_id = $1)`, args{userID}, &n)
	return n, fail("count a user's data", "user", err)
}

// RestartExport discards the parts of earlier attempts and makes the current attempt the valid one.
func (db *DB) RestartExport(ctx context.Context, f task.Fence, total int64) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		err := get(ctx, tx, `SELECT 1 FROM task WHERE `+fencedRunning+db.dialect.lock,
			args{f.TaskID, f.Attempt, f.Owner}, &one)
		if err == nil {
			err = get(ctx, tx,
				`UPDATE account_export SET attempt = $1, done = 0, total = $2, bytes = 0 WHERE id = $3 RETURNING 1`,
				args{f.Attempt, total, f.TaskID}, &one)
		}
		if err != nil {
			return lostIfNoRows(err)
		}
		_, err = tx.exec(ctx, `DELETE FROM account_export_part WHERE export_id = $1`, f.TaskID)
		return err
	})
	return failTask("restart an export", err)
}

// lostIfNoRows turns sql.ErrNoRows of a fenced write into task.ErrLost.
func lostIfNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return task.ErrLost
	}
	return err
}

// AppendExport appends a part to the archive.
func (db *DB) AppendExport(ctx context.Context, f task.Fence, n int64, data []byte, done int64) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		err := get(ctx, tx,
			`UPDATE account_export SET bytes = bytes + $1, done = $2
			WHERE id = $3 AND attempt = $4 AND status = 'working' RETURNING 1`,
			args{int64(len(data)), done, f.TaskID, f.Attempt}, &one)
		if err != nil {
			return lostIfNoRows(err)
		}
		_, err = tx.exec(ctx, `INSERT INTO account_export_part (export_id, attempt, n, data) VALUES ($1, $2, $3, $4)`,
			f.TaskID, f.Attempt, n, data)
		return err
	})
	return failTask("append to an export", err)
}

// FinishExport ends an export with its task. A failed export keeps no parts.
func (db *DB) FinishExport(ctx context.Context, f task.Fence, o task.Outcome, expires time.Time) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		if err := finishTask(ctx, tx, f, o); err != nil {
			return err
		}
		if o.State == task.StateComplete {
			_, err := tx.exec(ctx,
				`UPDATE account_export SET status = 'complete', finished_at = $1, expires_at = $2 WHERE id = $3`,
				millis(o.At), millis(expires), f.TaskID)
			return err
		}
		if _, err := tx.exec(ctx, `
			UPDATE account_export SET status = 'failed', bytes = 0, error_code = $1, error_detail = $2, finished_at = $3,
				expires_at = $4
			WHERE id = $5`,
			o.Code, o.Detail, millis(o.At), millis(expires), f.TaskID); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `DELETE FROM account_export_part WHERE export_id = $1`, f.TaskID)
		return err
	})
	return failTask("finish an export", err)
}

// ExportPart returns one part of an archive.
func (db *DB) ExportPart(ctx context.Context, e accountdata.Export, n int64) ([]byte, error) {
	var data []byte
	err := get(ctx, db.read, `SELECT data FROM account_export_part WHERE export_id = $1 AND attempt = $2 AND n = $3`,
		args{e.ID, e.Attempt, n}, &data)
	return data, fail("read a part of an export", "export", err)
}

// DeleteExport deletes a user's export.
func (db *DB) DeleteExport(ctx context.Context, userID string) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var id string
		if err := get(ctx, tx, `SELECT id FROM account_export WHERE user_id = $1`, args{userID}, &id); err != nil {
			return err
		}
		return dropExport(ctx, tx, id)
	})
	return fail("delete export", "export", err)
}

// PruneExports deletes expired exports, each in its own transaction because archives may be large.
func (db *DB) PruneExports(ctx context.Context, now time.Time) error {
	ids, err := readIDs(ctx, db.read, `SELECT id FROM account_export WHERE expires_at IS NOT NULL AND expires_at <= $1`,
		args{millis(now)})
	for _, id := range ids {
		if err != nil {
			break
		}
		err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error { return dropExport(ctx, tx, id) })
	}
	return fail("prune exports", "export", err)
}

// AgentsWithOwn returns the agents with which a user has threads, memories, favourites, saved searches or deleted
// items.
func (db *DB) AgentsWithOwn(ctx context.Context, userID string) ([]string, error) {
	ids, err := readIDs(ctx, db.read, `
		SELECT agent_id FROM thread WHERE user_id = $1 UNION SELECT agent_id FROM memory WHERE user_id = $1
		UNION SELECT agent_id FROM favourite WHERE user_id = $1
		UNION SELECT agent_id FROM saved_search WHERE user_id = $1
		UNION SELECT agent_id FROM bin_item WHERE user_id = $1`, args{userID})
	return ids, fail("list agents", "agent", err)
}

// FirstUsage returns the first day in a user's spend ledger, or "".
func (db *DB) FirstUsage(ctx context.Context, userID string) (string, error) {
	var day string
	err := get(ctx, db.read, `SELECT coalesce(min(day), '') FROM spend_row WHERE user_id = $1`, args{userID}, &day)
	return day, fail("read the first day of usage", "user", err)
}
