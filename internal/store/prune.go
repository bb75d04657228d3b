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
)

// prunable is a set of old rows: those of a table for which where holds, with $1 as the time. key is the primary key.
type prunable struct{ table, key, where string }

// prune deletes rows in batches.
func (db *DB) prune(ctx context.Context, p prunable, before time.Time, batch int) error {
	query := `DELETE FROM ` + p.table + ` WHERE ` + p.where + ` AND (` + p.key + `) IN (
		SELECT ` + p.key + ` FROM ` + p.table + ` WHERE ` + p.where + ` LIMIT $2 + 0)`
	for {
		n, err := db.exec(ctx, query, millis(before), batch)
		if err != nil || n < int64(batch) {
			return err
		}
	}
}

// pruneTasks deletes tasks that ended before this time and for which where holds.
func (db *DB) pruneTasks(ctx context.Context, where string, before time.Time) error {
	return db.prune(ctx, prunable{"task", "id", where + ` AND finished_at < $1`}, before, pruneTaskBatch)
}
