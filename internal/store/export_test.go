package store

import (
	"context"
)

// Count returns the number of rows of a table.
func (db *DB) Count(ctx context.Context, table string) (n int, err error) {
	err = get(ctx, db.read, "SELECT count(*) FROM "+table, nil, &n)
	return n, err
}
