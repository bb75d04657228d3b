package store

import (
	"context"
	"time"
)

// TakeLease gives the owner a lease for a duration, or renews it, and reports whether the owner has it: another owner
// keeps a lease that has not ended. On PostgreSQL the clock is the server's.
func (db *DB) TakeLease(ctx context.Context, name, owner string, duration time.Duration) (bool, error) {
	clock, a := db.leaseClock(args{name, owner, duration.Milliseconds()})
	n, err := db.exec(ctx, `
		INSERT INTO lease (name, owner, until) VALUES ($1, $2, `+clock+` + $3)
		ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE lease.owner = excluded.owner OR lease.until <= `+clock, a...)
	return n > 0, fail("take a lease", "lease", err)
}

// ReleaseLease ends the lease of an owner, so that another can take it at once.
func (db *DB) ReleaseLease(ctx context.Context, name, owner string) error {
	_, err := db.exec(ctx, `DELETE FROM lease WHERE name = $1 AND owner = $2`, name, owner)
	return fail("release a lease", "lease", err)
}
