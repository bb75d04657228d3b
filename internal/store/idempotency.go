package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
)

// idempotencyLife is how long a key is kept.
const idempotencyLife = 24 * time.Hour

// ClaimIdempotency claims a key for a request until lockUntil. claimed is true if the key is new or older than 24
// hours, or if an earlier claim for the same request expired without a response. In the last case the seed of the first
// attempt is kept, so that resources it may have created are not created twice. Otherwise the stored record is
// returned.
func (db *DB) ClaimIdempotency(
	ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time,
) (rec core.IdempotencyRecord, claimed bool, err error) {
	// Retried because the key may be released between the statements.
	for range maxAttempts {
		n, err := db.exec(ctx, `
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

// takeOver claims an expired or abandoned key. For any other key the error is sql.ErrNoRows.
func (db *DB) takeOver(
	ctx context.Context, userID, key string, hash []byte, seed string, now, lockUntil time.Time,
) (core.IdempotencyRecord, error) {
	rec := core.IdempotencyRecord{Hash: hash}
	err := db.execReturning(ctx, `
		UPDATE idempotency SET
			hash = $1, status = 0, body = NULL, locked_until = $2,
			seed = CASE WHEN created_at <= $3 THEN $4 ELSE seed END,
			created_at = CASE WHEN created_at <= $3 THEN $5 ELSE created_at END
		WHERE user_id = $6 AND key = $7 AND (created_at <= $3 OR (status = 0 AND locked_until <= $5 AND hash = $1))
		RETURNING seed`,
		args{hash, millis(lockUntil), millis(now.Add(-idempotencyLife)), seed, millis(now), userID, key},
		[]any{&rec.Seed})
	return rec, err
}

// FinishIdempotency stores the response to replay.
func (db *DB) FinishIdempotency(ctx context.Context, userID, key string, status int, body []byte, now time.Time) error {
	n, err := db.exec(ctx,
		`UPDATE idempotency SET status = $1, body = $2, locked_until = $3 WHERE user_id = $4 AND key = $5`,
		status, body, millis(now), userID, key)
	return requireRow("finish idempotency key", "idempotency key", n, err)
}

// ReleaseIdempotency deletes a claim without a response, so that the request can be retried.
func (db *DB) ReleaseIdempotency(ctx context.Context, userID, key string) error {
	_, err := db.exec(ctx, `DELETE FROM idempotency WHERE user_id = $1 AND key = $2 AND status = 0`, userID, key)
	return fail("release idempotency key", "idempotency key", err)
}

// PruneIdempotency deletes keys created before this time.
func (db *DB) PruneIdempotency(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"idempotency", "user_id, key", `created_at < $1`}, before, pruneBatch)
	return fail("prune idempotency keys", "idempotency key", err)
}
