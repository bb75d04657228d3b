package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/credential"
)

// codeQuery selects connect codes with the name of the program that redeemed them.
const codeQuery = `
	SELECT c.id, c.user_id, c.created_at, c.expires_at, c.used_at, coalesce(c.key_id, ''), coalesce(k.client_name, ''),
		c.made_with, c.key_expires_at
	FROM connect_code c LEFT JOIN credential_key k ON k.id = c.key_id `

type codeRow struct {
	code             credential.Code
	created, expires int64
	used, keyExpires sql.NullInt64
}

func (r *codeRow) dest() []any {
	c := &r.code
	return []any{&c.ID, &c.UserID, &r.created, &r.expires, &r.used, &c.KeyID, &c.ClientName, &c.MadeWith, &r.keyExpires}
}

func (r *codeRow) value() credential.Code {
	c := r.code
	c.CreatedAt, c.ExpiresAt, c.UsedAt, c.KeyExpiresAt = at(r.created), at(r.expires), optAt(r.used), optAt(r.keyExpires)
	return c
}

// InsertCode stores a connect code under the hash of its secret. If the user already has a code with this id, only its
// secret is replaced.
func (db *DB) InsertCode(ctx context.Context, c credential.Code, hash []byte) error {
	var n int64
	err := db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		if err := db.lockParentKey(ctx, tx, c.MadeWith); err != nil {
			return err
		}
		n, err = tx.exec(ctx, `
			INSERT INTO connect_code (id, user_id, hash, created_at, expires_at, made_with, key_expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at,
				expires_at = excluded.expires_at
			WHERE connect_code.user_id = excluded.user_id AND connect_code.used_at IS NULL`,
			c.ID, c.UserID, hash, millis(c.CreatedAt), millis(c.ExpiresAt), c.MadeWith, optMillis(c.KeyExpiresAt))
		return err
	})
	return requireRow("insert connect code", "user", n, err)
}

// Codes returns codes of a user, newest first.
func (db *DB) Codes(ctx context.Context, userID, before string, limit int) ([]credential.Code, error) {
	if before == "" {
		before = lastID
	}
	var r codeRow
	codes := make([]credential.Code, 0, capacityFor(limit))
	err := db.read.each(ctx, codeQuery+`WHERE c.user_id = $1 AND c.id < $2 ORDER BY c.id DESC LIMIT $3 + 0`,
		args{userID, before, limit}, r.dest(), func() error {
			codes = append(codes, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list connect codes", "user", err)
	}
	return codes, nil
}

// Code returns a code of a user.
func (db *DB) Code(ctx context.Context, userID, codeID string) (credential.Code, error) {
	var r codeRow
	err := get(ctx, db.read, codeQuery+`WHERE c.id = $1 AND c.user_id = $2`, args{codeID, userID}, r.dest()...)
	if err != nil {
		return credential.Code{}, fail("read connect code", "connect code", err)
	}
	return r.value(), nil
}

// CancelCode deletes a code unless it was redeemed.
func (db *DB) CancelCode(ctx context.Context, userID, codeID string) error {
	n, err := db.exec(ctx, `DELETE FROM connect_code WHERE id = $1 AND user_id = $2 AND used_at IS NULL`, codeID, userID)
	return requireRow("cancel connect code", "connect code", n, err)
}

// PruneCodes deletes codes that expired before this time.
func (db *DB) PruneCodes(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"connect_code", "id", `expires_at < $1`}, before, pruneBatch)
	return fail("prune connect codes", "connect code", err)
}

// RedeemCode redeems a code and stores the key minted from it. The UPDATE matches an unused code in one transaction
// only, so a code cannot be redeemed twice.
func (db *DB) RedeemCode(
	ctx context.Context, codeHash []byte, now time.Time, minted credential.Key, keyHash []byte,
) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		k := minted
		var expires sql.NullInt64
		err := get(ctx, tx, `
			UPDATE connect_code SET used_at = $1, key_id = $2
			WHERE hash = $3 AND used_at IS NULL AND expires_at > $1 AND EXISTS (
				SELECT 1 FROM app_user u WHERE u.id = connect_code.user_id AND u.disabled_at IS NULL)
			RETURNING user_id, made_with, key_expires_at`, args{millis(now), k.ID, codeHash}, &k.UserID, &k.MadeWith, &expires)
		if err != nil {
			return err
		}
		k.ExpiresAt = optAt(expires)
		if err := db.lockParentKey(ctx, tx, k.MadeWith); err != nil {
			return err
		}
		_, err = tx.exec(ctx, insertKey, keyArgs(k, keyHash)...)
		return err
	})
	return fail("redeem connect code", "connect code", err)
}
