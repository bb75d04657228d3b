package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/core"
	"carrel/internal/signin"
)

// InsertPending stores a pending sign-in step under the hash of its secret.
func (db *DB) InsertPending(ctx context.Context, p signin.Pending, hash []byte) error {
	_, err := db.exec(ctx,
		`INSERT INTO signin_pending (hash, kind, user_id, session_id, data, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		hash, string(p.Kind), p.UserID, p.SessionID, []byte(p.Data), millis(p.ExpiresAt))
	return fail("insert pending", "user", err)
}

// PendingByHash returns a pending step that has not expired.
func (db *DB) PendingByHash(
	ctx context.Context, kind signin.PendingKind, hash []byte, now time.Time,
) (signin.Pending, error) {
	return readPending(ctx, db.read, `
		SELECT user_id, session_id, data, expires_at FROM signin_pending WHERE hash = $1 AND kind = $2 AND expires_at > $3`,
		kind, hash, now)
}

// TakePending deletes and returns a pending step. Only one caller gets it.
func (db *DB) TakePending(
	ctx context.Context, kind signin.PendingKind, hash []byte, now time.Time,
) (p signin.Pending, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		p, err = readPending(ctx, tx, `
			DELETE FROM signin_pending WHERE hash = $1 AND kind = $2 AND expires_at > $3
			RETURNING user_id, session_id, data, expires_at`, kind, hash, now)
		return err
	})
	return p, fail("take pending", "pending sign-in", err)
}

func readPending(
	ctx context.Context, q querier, query string, kind signin.PendingKind, hash []byte, now time.Time,
) (signin.Pending, error) {
	p := signin.Pending{Kind: kind}
	var expires int64
	err := get(ctx, q, query, args{hash, string(kind), millis(now)}, &p.UserID, &p.SessionID, (*[]byte)(&p.Data), &expires)
	if err != nil {
		return signin.Pending{}, fail("read pending", "pending sign-in", err)
	}
	p.ExpiresAt = at(expires)
	return p, nil
}

// PrunePending deletes expired steps.
func (db *DB) PrunePending(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"signin_pending", "hash", `expires_at <= $1`}, before, pruneBatch)
	return fail("prune pending", "pending sign-in", err)
}

// PutReset stores a password reset code, replacing an earlier one.
func (db *DB) PutReset(ctx context.Context, r signin.Reset, hash []byte) error {
	_, err := db.exec(ctx, `
		INSERT INTO password_reset (user_id, hash, clear_factors, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, clear_factors = excluded.clear_factors,
			created_at = excluded.created_at, expires_at = excluded.expires_at`,
		r.UserID, hash, flag(r.ClearFactors), millis(r.CreatedAt), millis(r.ExpiresAt))
	return fail("put reset", "user", err)
}

// usableReset is the condition that a reset code has not expired and its user is not disabled.
const usableReset = `hash = $1 AND expires_at > $2 AND EXISTS (
	SELECT 1 FROM app_user u WHERE u.id = password_reset.user_id AND u.disabled_at IS NULL)`

// ResetByHash returns a usable reset code.
func (db *DB) ResetByHash(ctx context.Context, hash []byte, now time.Time) (signin.Reset, error) {
	var r signin.Reset
	var created, expires int64
	var clears int
	err := get(ctx, db.read,
		`SELECT user_id, clear_factors, created_at, expires_at FROM password_reset WHERE `+usableReset,
		args{hash, millis(now)}, &r.UserID, &clears, &created, &expires)
	if err != nil {
		return signin.Reset{}, fail("read reset", "reset code", err)
	}
	r.ClearFactors, r.CreatedAt, r.ExpiresAt = clears != 0, at(created), at(expires)
	return r, nil
}

// RedeemReset redeems a reset code and sets the password. The DELETE matches in one transaction only, so a code cannot
// be used twice.
func (db *DB) RedeemReset(
	ctx context.Context, hash []byte, now time.Time, passwordHash string,
) (userID string, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var clears int
		err := get(ctx, tx, `DELETE FROM password_reset WHERE `+usableReset+` RETURNING user_id, clear_factors`,
			args{hash, millis(now)}, &userID, &clears)
		if err != nil {
			return err
		}
		if clears != 0 {
			for _, table := range []string{"totp", "recovery_code", "passkey"} {
				if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, userID); err != nil {
					return err
				}
			}
		}
		if _, err := tx.exec(ctx, `UPDATE app_user SET password_hash = $1 WHERE id = $2`, passwordHash, userID); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, forgetBrowsers, userID); err != nil {
			return err
		}
		_, err = tx.exec(ctx, revokeSessions, millis(now), userID, "")
		return err
	})
	return userID, fail("redeem reset", "reset code", err)
}

// PutTOTP stores an authenticator secret that is not confirmed yet.
func (db *DB) PutTOTP(ctx context.Context, userID string, secret []byte, now time.Time) error {
	n, err := db.exec(ctx, `
		INSERT INTO totp (user_id, secret, last_step, created_at) VALUES ($1, $2, 0, $3)
		ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = 0, created_at = excluded.created_at
		WHERE totp.confirmed_at IS NULL`, userID, secret, millis(now))
	if err == nil && n == 0 {
		return core.Conflict("conflict", "An authenticator app is already set up. Remove it first.")
	}
	return fail("put totp", "user", err)
}

// TOTP returns a user's authenticator app, confirmed or not.
func (db *DB) TOTP(ctx context.Context, userID string) (signin.TOTP, error) {
	var t signin.TOTP
	var confirmed sql.NullInt64
	err := get(ctx, db.read, `SELECT secret, confirmed_at FROM totp WHERE user_id = $1`, args{userID},
		&t.Secret, &confirmed)
	if err != nil {
		return signin.TOTP{}, fail("read totp", "authenticator app", err)
	}
	t.ConfirmedAt = optAt(confirmed)
	return t, nil
}

// ConfirmTOTP activates a pending authenticator secret and stores the recovery codes.
func (db *DB) ConfirmTOTP(ctx context.Context, userID string, step int64, hashes [][]byte, now time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx,
			`UPDATE totp SET confirmed_at = $1, last_step = $2 WHERE user_id = $3 AND confirmed_at IS NULL`,
			millis(now), step, userID)
		if err != nil {
			return err
		}
		if n == 0 {
			return sql.ErrNoRows
		}
		return putCodes(ctx, tx, userID, hashes)
	})
	return fail("confirm totp", "pending authenticator app", err)
}

// UseTOTP records a TOTP time step as used. The UPDATE requires a later step than the last, so a code cannot be
// replayed.
func (db *DB) UseTOTP(ctx context.Context, userID string, step int64) error {
	n, err := db.exec(ctx,
		`UPDATE totp SET last_step = $1 WHERE user_id = $2 AND confirmed_at IS NOT NULL AND last_step < $1`, step, userID)
	return requireRow("use totp", "code", n, err)
}

// DeleteTOTP deletes a user's authenticator app and recovery codes.
func (db *DB) DeleteTOTP(ctx context.Context, userID string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `DELETE FROM totp WHERE user_id = $1`, userID)
		if err != nil {
			return err
		}
		if n == 0 {
			return sql.ErrNoRows
		}
		_, err = tx.exec(ctx, `DELETE FROM recovery_code WHERE user_id = $1`, userID)
		return err
	})
	return fail("delete totp", "authenticator app", err)
}

// PutRecoveryCodes replaces a user's recovery codes.
func (db *DB) PutRecoveryCodes(ctx context.Context, userID string, hashes [][]byte) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error { return putCodes(ctx, tx, userID, hashes) })
	return fail("put recovery codes", "user", err)
}

func putCodes(ctx context.Context, tx querier, userID string, hashes [][]byte) error {
	if _, err := tx.exec(ctx, `DELETE FROM recovery_code WHERE user_id = $1`, userID); err != nil {
		return err
	}
	for _, hash := range hashes {
		if _, err := tx.exec(ctx, `INSERT INTO recovery_code (user_id, hash) VALUES ($1, $2)`, userID, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode consumes a recovery code.
func (db *DB) UseRecoveryCode(ctx context.Context, userID string, hash []byte) error {
	n, err := db.exec(ctx, `DELETE FROM recovery_code WHERE user_id = $1 AND hash = $2`, userID, hash)
	return requireRow("use recovery code", "code", n, err)
}

// RecoveryCodes returns the number of unused recovery codes.
func (db *DB) RecoveryCodes(ctx context.Context, userID string) (int, error) {
	var n int
	err := get(ctx, db.read, `SELECT count(*) FROM recovery_code WHERE user_id = $1`, args{userID}, &n)
	return n, fail("count recovery codes", "user", err)
}
