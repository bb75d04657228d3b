package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
)

// idempotencyLife is how long a key is remembered.
const idempotencyLife = 24 * time.Hour

// ClaimIdempotency asks for the right to carry out the request that came with this key, until lockUntil. It is mine
// when the key is new, when it is older than 24 hours, or when whoever had it let the lock run out without an answer;
// in that last case the request must be the same, and the seed of the first attempt is kept, so that what it may have
// created is not created twice. Otherwise what is known of the key is returned.
func (db *DB) ClaimIdempotency(ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time) (rec core.IdempotencyRecord, mine bool, err error) {
	// A key that is released between the statements is free to be claimed again.
	for range attempts {
		n, err := db.one(ctx, `
			INSERT INTO idempotency (user_id, key, hash, seed, status, body, locked_until, created_at)
			VALUES ($1, $2, $3, $4, 0, NULL, $5, $6) ON CONFLICT DO NOTHING`,
			userID, key, hash, seed, millis(lockUntil), millis(now))
		if err != nil {
			return core.IdempotencyRecord{}, false, fail("claim idempotency key", "user", err)
		}
		if n == 1 {
			return core.IdempotencyRecord{Hash: hash, Seed: seed}, true, nil
		}
		rec, err = db.takeOver(ctx, userID, key, hash, seed, now, lockUntil)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return rec, err == nil, fail("take over idempotency key", "user", err)
		}
		rec = core.IdempotencyRecord{}
		err = get(ctx, db.read, `SELECT hash, seed, status, body FROM idempotency WHERE user_id = $1 AND key = $2`,
			args{userID, key}, &rec.Hash, &rec.Seed, &rec.Status, &rec.Body)
		if !errors.Is(err, sql.ErrNoRows) {
			return rec, false, fail("read idempotency key", "idempotency key", err)
		}
	}
	return core.IdempotencyRecord{}, false, fail("claim idempotency key", "idempotency key", errContended)
}

// takeOver claims a key that is there but forgotten or abandoned; one that is neither is sql.ErrNoRows.
func (db *DB) takeOver(ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time) (core.IdempotencyRecord, error) {
	rec := core.IdempotencyRecord{Hash: hash}
	_, err := db.write.one(ctx, `
		UPDATE idempotency SET
			hash = $1, status = 0, body = NULL, locked_until = $2,
			seed = CASE WHEN created_at <= $3 THEN $4 ELSE seed END,
			created_at = CASE WHEN created_at <= $3 THEN $5 ELSE created_at END
		WHERE user_id = $6 AND key = $7 AND (created_at <= $3 OR (status = 0 AND locked_until <= $5 AND hash = $1))
		RETURNING seed`,
		args{hash, millis(lockUntil), millis(now.Add(-idempotencyLife)), seed, millis(now), userID, key}, []any{&rec.Seed})
	return rec, err
}

// FinishIdempotency stores the answer to replay.
func (db *DB) FinishIdempotency(ctx context.Context, userID, key string, status int, body []byte, now time.Time) error {
	n, err := db.one(ctx, `UPDATE idempotency SET status = $1, body = $2, locked_until = $3 WHERE user_id = $4 AND key = $5`,
		status, body, millis(now), userID, key)
	return changed("finish idempotency key", "idempotency key", n, err)
}

// ReleaseIdempotency forgets a claim whose request came to nothing, so that it can be sent again. An answer stays.
func (db *DB) ReleaseIdempotency(ctx context.Context, userID, key string) error {
	_, err := db.one(ctx, `DELETE FROM idempotency WHERE user_id = $1 AND key = $2 AND status = 0`, userID, key)
	return fail("release idempotency key", "idempotency key", err)
}

// PruneIdempotency forgets the keys that are older.
func (db *DB) PruneIdempotency(ctx context.Context, before time.Time) error {
	_, err := db.one(ctx, `DELETE FROM idempotency WHERE created_at < $1`, millis(before))
	return fail("prune idempotency keys", "idempotency key", err)
}
