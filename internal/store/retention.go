package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/task"
)

// PruneTasks deletes the deltas of up to n tasks that ended a day ago, and all but the last task of each key a while
// after their end; see task.Queue.
func (db *DB) PruneTasks(ctx context.Context, now time.Time, keep time.Duration, n int) (int, error) {
	var one int
	err := get(ctx, db.read, `SELECT 1 FROM task WHERE prune_at IS NOT NULL AND prune_at <= $1 LIMIT 1`,
		args{millis(now)}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil // an idle server writes nothing
	}
	if err != nil {
		return 0, fail("prune tasks", "task", err)
	}
	skip := ""
	if db.onPostgres() {
		skip = " FOR NO KEY UPDATE SKIP LOCKED" // skips tasks that another node is pruning
	}
	old := millis(now.Add(-keep))
	var pruned int
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		ids, err := readIDs(ctx, tx,
			`SELECT id FROM task WHERE prune_at IS NOT NULL AND prune_at <= $1 ORDER BY prune_at LIMIT $2 + 0`+skip,
			args{millis(now), n})
		if pruned = len(ids); err != nil || pruned == 0 {
			return err
		}
		listed, list := db.dialect.in("$1"), encodeList(ids)
		if _, err := tx.exec(ctx, `
			DELETE FROM task WHERE id IN `+listed+` AND finished_at <= $2
				AND EXISTS (SELECT 1 FROM task later WHERE later.key = task.key AND later.number > task.number)`,
			list, old); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM task_event WHERE task_id IN `+listed+` AND kind = '`+task.EventDelta+`'`,
			list); err != nil {
			return err
		}
		// The last event stays, so that a stream that opens later sees the end of the turn.
		ended := `task_id IN (SELECT id FROM task WHERE id IN ` + listed + ` AND finished_at <= $2)`
		if _, err := tx.exec(ctx, `DELETE FROM task_event WHERE `+ended+` AND kind <> '`+task.EventDone+`'`,
			list, old); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM task_step WHERE `+ended, list, old); err != nil {
			return err
		}
		// The last task of a key is looked at again, because another task may follow. A task with a key of its own is
		// deleted by the package of its kind.
		_, err = tx.exec(ctx, `
			UPDATE task SET prune_at = CASE WHEN key = id THEN NULL WHEN finished_at > $2 THEN finished_at + $3
				ELSE $4 + $3 END
			WHERE id IN `+listed, list, old, keep.Milliseconds(), millis(now))
		return err
	})
	return pruned, fail("prune tasks", "task", err)
}

// RollUpSpend replaces the ledger rows of one user on one day before the given one by a row for each credential, agent
// and model. It reports whether there were any. The sums and the usage do not change.
func (db *DB) RollUpSpend(ctx context.Context, before string) (found bool, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var day, userID string
		err := get(ctx, tx, `
			SELECT day, user_id FROM spend_row WHERE rolled_up = 0 AND state <> 'reserved' AND day < $1
			ORDER BY day, user_id LIMIT 1`, args{before}, &day, &userID)
		if found = err == nil; err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		}
		return db.rollUpDay(ctx, tx, userID, day)
	})
	return found, fail("roll up the ledger", "user", err)
}

// spendGroup is a row of the ledger after the roll-up.
type spendGroup struct {
	credentialID, agentID, kind, model string
	estimated                          int
}

func (db *DB) rollUpDay(ctx context.Context, tx querier, userID, day string) error {
	type sums struct{ micros, calls, created int64 }
	groups := map[spendGroup]sums{}
	var ids []string
	var order []spendGroup
	var id string
	var g spendGroup
	var s sums
	// The rows are locked and added up here, so that a late settlement is not lost.
	err := tx.each(ctx, `
		SELECT id, credential_id, agent_id, kind, model, estimated, micros, calls, created_at FROM spend_row
		WHERE day = $1 AND user_id = $2 AND rolled_up = 0 AND state <> 'reserved' ORDER BY id`+db.dialect.lock,
		args{day, userID}, []any{
			&id, &g.credentialID, &g.agentID, &g.kind, &g.model, &g.estimated, &s.micros, &s.calls, &s.created,
		}, func() error {
			ids = append(ids, id)
			sum, known := groups[g]
			if !known {
				order = append(order, g)
				sum.created = s.created
			}
			sum.micros, sum.calls = sum.micros+s.micros, sum.calls+s.calls
			groups[g] = sum
			return nil
		})
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM spend_row WHERE id IN `+db.dialect.in("$1"), encodeList(ids)); err != nil {
		return err
	}
	for _, g := range order {
		_, err := tx.exec(ctx, `
			INSERT INTO spend_row (id, user_id, day, turn_id, credential_id, agent_id, kind, model, price_version, state,
				reserved, micros, estimated, created_at, settled_at, calls, rolled_up)
			VALUES ($1, $2, $3, '', $4, $5, $6, $7, '', 'settled', 0, $8, $9, $10, $11, $12, 1)`,
			core.NewID(core.PrefixSpend), userID, day, g.credentialID, g.agentID, g.kind, g.model, groups[g].micros,
			g.estimated, groups[g].created, groups[g].created, groups[g].calls)
		if err != nil {
			return err
		}
	}
	return nil
}

// SpendDifferencesSince is SpendDifferences for a month and the months after it.
func (db *DB) SpendDifferencesSince(ctx context.Context, month string) ([]billing.SpendDifference, error) {
	var d billing.SpendDifference
	differences := []billing.SpendDifference{}
	err := db.read.each(ctx, spendDifferences, args{month},
		[]any{&d.Of, &d.ID, &d.Month, &d.Reserved, &d.Spent, &d.RowsReserved, &d.RowsSpent}, func() error {
			differences = append(differences, d)
			return nil
		})
	if err != nil {
		return nil, fail("check spend", "user", err)
	}
	return differences, nil
}

// AuditAnchor returns the last entry that was pruned from the audit log; the zero Head if none was.
func (db *DB) AuditAnchor(ctx context.Context) (anchor audit.Head, err error) {
	err = get(ctx, db.read, `SELECT pruned_seq, pruned_hash FROM audit_head WHERE id = 1`, nil, &anchor.Seq, &anchor.Hash)
	return anchor, fail("read the start of the audit log", "audit log", err)
}

// PruneAudit deletes up to n of the oldest entries that are older than before, and appends the entry that next returns
// for the head and the last deleted entry. It reports whether there were any.
func (db *DB) PruneAudit(
	ctx context.Context, before time.Time, n int, next func(head, pruned audit.Head) audit.Entry,
) (found bool, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		head, err := db.lockAudit(ctx, tx)
		if err != nil {
			return err
		}
		var pruned audit.Head
		// Times are in the order of the entries.
		err = get(ctx, tx, `
			SELECT seq, hash FROM audit WHERE at < $1 AND seq <= (SELECT pruned_seq FROM audit_head WHERE id = 1) + $2
			ORDER BY seq DESC LIMIT 1`, args{millis(before), n}, &pruned.Seq, &pruned.Hash)
		if found = err == nil; err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		}
		if _, err := tx.exec(ctx, `DELETE FROM audit WHERE seq <= $1`, pruned.Seq); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE audit_head SET pruned_seq = $1, pruned_hash = $2 WHERE id = 1`,
			pruned.Seq, pruned.Hash); err != nil {
			return err
		}
		return appendAudit(ctx, tx, next(head, pruned))
	})
	return found, fail("prune the audit log", "audit log", err)
}
