package store

import (
	"context"
	"time"
)

const (
	// pruneBatch is the number of rows deleted per statement, so that other writes can run in between.
	pruneBatch = 1000
	// pruneTaskBatch is the number of tasks deleted per statement. Their steps and events are deleted with them.
	pruneTaskBatch = 100
	// pruneUploadBatch is 1, because an upload may have a gibibyte.
	pruneUploadBatch = 1
)

// prunable is a set of old rows: those of a table for which where holds, with $1 as the time. key is the primary key.
type prunable struct{ table, key, where string }

// prune deletes rows in batches, each in a transaction.
func (db *DB) prune(ctx context.Context, p prunable, before time.Time, batch int) error {
	return db.inBatches(ctx, `DELETE FROM `+p.table, p, before, batch)
}

// inBatches deletes or updates rows in batches, each in a transaction, until none is left for which where holds.
func (db *DB) inBatches(ctx context.Context, change string, p prunable, before time.Time, batch int) error {
	query := change + ` WHERE ` + p.where + ` AND (` + p.key + `) IN (
		SELECT ` + p.key + ` FROM ` + p.table + ` WHERE ` + p.where + ` LIMIT $2 + 0)`
	for changed := int64(batch); changed == int64(batch); {
		err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) (err error) {
			changed, err = tx.exec(ctx, query, millis(before), batch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pruneTasks deletes tasks that ended before this time and for which where holds.
func (db *DB) pruneTasks(ctx context.Context, where string, before time.Time) error {
	return db.prune(ctx, prunable{"task", "id", where + ` AND finished_at < $1`}, before, pruneTaskBatch)
}
