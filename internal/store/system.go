package store

import (
	"context"
	"time"
)

// Node is a running server on this database.
type Node struct {
	ID, Version string
	JoinedAt    time.Time
}

// Nodes returns the running servers, oldest first. On SQLite there is at most one, which does not renew its lease and
// ended all earlier ones.
func (db *DB) Nodes(ctx context.Context) ([]Node, error) {
	var alive string
	var a args
	if db.onPostgres() {
		var clock string
		clock, a = db.leaseClock(nil)
		alive = `WHERE lease_until > ` + clock
	}
	var n Node
	var joined int64
	nodes := []Node{}
	err := db.read.each(ctx, `SELECT id, version, joined_at FROM node `+alive+` ORDER BY joined_at, id`, a,
		[]any{&n.ID, &n.Version, &joined}, func() error {
			n.JoinedAt = at(joined)
			nodes = append(nodes, n)
			return nil
		})
	if err != nil {
		return nil, fail("list nodes", "node", err)
	}
	return nodes, nil
}

// Size returns the engine, "sqlite" or "postgres", and the size of the database in bytes.
func (db *DB) Size(ctx context.Context) (kind string, bytes int64, err error) {
	size := `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`
	if db.onPostgres() {
		size = `SELECT pg_database_size(current_database())`
	}
	err = get(ctx, db.read, size, nil, &bytes)
	return db.dialect.name, bytes, fail("measure the database", "database", err)
}
