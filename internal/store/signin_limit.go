package store

import (
	"context"
	"time"

	"carrel/internal/signin"
)

var (
	_ signin.LimitStore   = (*DB)(nil)
	_ signin.BrowserStore = (*DB)(nil)
)

// TakeAttempts takes an attempt from each bucket until one is empty. A bucket is stored as the time at which it is full
// again, so that one statement both checks and counts (the generic cell rate algorithm).
func (db *DB) TakeAttempts(
	ctx context.Context, buckets []signin.Bucket, now time.Time,
) (taken int, wait time.Duration, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		taken, wait = 0, 0
		for _, b := range buckets {
			latest := b.Latest(now) // full later than this, it has no attempt now
			n, err := tx.exec(ctx, `
				INSERT INTO signin_limit (key, full_at) VALUES ($1, $2)
				ON CONFLICT (key) DO UPDATE
					SET full_at = CASE WHEN signin_limit.full_at > $3 THEN signin_limit.full_at ELSE $3 END + $4
				WHERE signin_limit.full_at <= $5`,
				b.Key, millis(now.Add(b.Every)), millis(now), b.Every.Milliseconds(), millis(latest))
			if err != nil {
				return err
			}
			if n == 0 {
				var full int64
				if err := get(ctx, tx, `SELECT full_at FROM signin_limit WHERE key = $1`, args{b.Key}, &full); err != nil {
					return err
				}
				wait = max(at(full).Sub(latest), time.Millisecond)
				return nil // attempts taken from earlier buckets stay taken
			}
			taken++
		}
		return nil
	})
	return taken, wait, fail("count an attempt", "limit", err)
}

// ReturnAttempts returns an attempt to each bucket.
func (db *DB) ReturnAttempts(ctx context.Context, buckets []signin.Bucket) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		for _, b := range buckets {
			if _, err := tx.exec(ctx, `UPDATE signin_limit SET full_at = full_at - $1 WHERE key = $2`,
				b.Every.Milliseconds(), b.Key); err != nil {
				return err
			}
		}
		return nil
	})
	return fail("return an attempt", "limit", err)
}

// PruneAttempts deletes full buckets, which equal missing ones.
func (db *DB) PruneAttempts(ctx context.Context, now time.Time) error {
	err := db.prune(ctx, prunable{"signin_limit", "key", `full_at <= $1`}, now, pruneBatch)
	return fail("prune limits", "limit", err)
}

// RememberBrowser marks a browser as known to a user, and replaces its hash for all users.
func (db *DB) RememberBrowser(ctx context.Context, userID string, old, hash []byte, expiresAt time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if old != nil {
			if _, err := tx.exec(ctx, `UPDATE signin_browser SET hash = $1 WHERE hash = $2`, hash, old); err != nil {
				return err
			}
		}
		_, err := tx.exec(ctx, `
			INSERT INTO signin_browser (hash, user_id, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (hash, user_id) DO UPDATE SET expires_at = excluded.expires_at`, hash, userID, millis(expiresAt))
		return err
	})
	return fail("remember a browser", "user", err)
}

// KnowsBrowser reports whether a browser is known to the user with this e-mail address.
func (db *DB) KnowsBrowser(ctx context.Context, hash []byte, email string, now time.Time) (bool, error) {
	var n int
	err := get(ctx, db.read, `
		SELECT count(*) FROM signin_browser b JOIN app_user u ON u.id = b.user_id
		WHERE b.hash = $1 AND b.expires_at > $2 AND u.email = $3`,
		args{hash, millis(now), email}, &n)
	return n > 0, fail("look up a browser", "browser", err)
}

// forgetBrowsers is part of every password change.
const forgetBrowsers = `DELETE FROM signin_browser WHERE user_id = $1`

// PruneBrowsers deletes browsers that expired before this time.
func (db *DB) PruneBrowsers(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"signin_browser", "hash, user_id", `expires_at <= $1`}, before, pruneBatch)
	return fail("prune browsers", "browser", err)
}
