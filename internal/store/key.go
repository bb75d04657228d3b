package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

const keyColumns = `k.id, k.user_id, k.kind, k.name, k.hint, k.scopes, k.agents, k.created_at, k.expires_at, k.revoked_at, k.last_used_at`

// keyRow is a key as it is read.
type keyRow struct {
	key                     credential.Key
	scopes, agents          string
	created                 int64
	expires, revoked, usage sql.NullInt64
}

func (r *keyRow) dest() []any {
	k := &r.key
	return []any{
		&k.ID, &k.UserID, (*string)(&k.Kind), &k.Name, &k.Hint, &r.scopes, &r.agents,
		&r.created, &r.expires, &r.revoked, &r.usage,
	}
}

func (r *keyRow) value() (k credential.Key, err error) {
	k = r.key
	if k.Scopes, err = wordsOf[core.Scope](r.scopes); err != nil {
		return k, err
	}
	if k.Agents, err = wordsOf[string](r.agents); err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = at(r.created), optAt(r.expires), optAt(r.revoked), optAt(r.usage)
	return k, nil
}

const insertKey = `
	INSERT INTO credential_key (id, user_id, kind, name, hint, hash, scopes, agents, created_at, expires_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

func keyArgs(k credential.Key, hash []byte) args {
	return args{
		k.ID, k.UserID, string(k.Kind), k.Name, k.Hint, hash, listOf(k.Scopes), listOf(k.Agents),
		millis(k.CreatedAt), optMillis(k.ExpiresAt),
	}
}

// InsertKey stores a key under the hash of its secret.
func (db *DB) InsertKey(ctx context.Context, k credential.Key, hash []byte) error {
	_, err := db.one(ctx, insertKey, keyArgs(k, hash)...)
	return fail("insert key", "user", err)
}

// KeyByHash finds a key with its user and what the user has spent and reserved in the period.
func (db *DB) KeyByHash(ctx context.Context, hash []byte, period string) (credential.Found, error) {
	var k keyRow
	var u userRow
	var e entitlementRow
	var f credential.Found
	err := get(ctx, db.read, `
		SELECT `+keyColumns+`,
			u.id, u.email, u.name, u.role, u.plan, u.spend_cap, u.disabled_at, u.created_at,
			coalesce(b.reserved + b.spent, 0), `+entitlementColumns+`
		FROM credential_key k
		JOIN app_user u ON u.id = k.user_id
		LEFT JOIN budget b ON b.user_id = k.user_id AND b.period = $1`+entitlementJoin+`
		WHERE k.hash = $2`, args{period, hash}, slices.Concat(k.dest(), u.dest(), []any{&f.Used}, e.dest())...)
	if err == nil {
		f.Key, err = k.value()
	}
	if err == nil {
		f.Entitlement, err = e.value()
	}
	if err != nil {
		return credential.Found{}, fail("read key", "key", err)
	}
	f.User = u.value()
	return f, nil
}

// Keys returns a user's keys, newest first.
func (db *DB) Keys(ctx context.Context, userID string) ([]credential.Key, error) {
	var r keyRow
	keys := []credential.Key{}
	err := db.read.each(ctx, `SELECT `+keyColumns+` FROM credential_key k WHERE k.user_id = $1 ORDER BY k.id DESC`,
		args{userID}, r.dest(), func() error {
			k, err := r.value()
			keys = append(keys, k)
			return err
		})
	if err != nil {
		return nil, fail("list keys", "user", err)
	}
	return keys, nil
}

// RevokeKey ends a key; one that was revoked before keeps that time.
func (db *DB) RevokeKey(ctx context.Context, userID, keyID string, now time.Time) error {
	n, err := db.one(ctx, `UPDATE credential_key SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 AND user_id = $3`,
		millis(now), keyID, userID)
	return changed("revoke key", "key", n, err)
}

// TouchKeys records when keys were last used, without ever setting a clock back. Keys that have gone are passed over.
func (db *DB) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	return db.touch(ctx, "touch keys", `
		UPDATE credential_key SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)`, used)
}

// touch runs an update of a time for each id.
func (db *DB) touch(ctx context.Context, operation, update string, used map[string]time.Time) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		// In one order, so that two nodes can't lock each other out.
		for _, id := range slices.Sorted(maps.Keys(used)) {
			if _, err := tx.exec(ctx, update, millis(used[id]), id); err != nil {
				return err
			}
		}
		return nil
	})
	return fail(operation, "key", err)
}

// InsertCode stores a connect code under the hash of its secret.
func (db *DB) InsertCode(ctx context.Context, c credential.Code, hash []byte) error {
	_, err := db.one(ctx, `INSERT INTO connect_code (id, user_id, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
		c.ID, c.UserID, hash, millis(c.CreatedAt), millis(c.ExpiresAt))
	return fail("insert connect code", "user", err)
}

// RedeemCode uses a code up and stores the key minted from it. The update decides: it finds an unused code for one
// transaction only.
func (db *DB) RedeemCode(ctx context.Context, codeHash []byte, now time.Time, minted credential.Key, keyHash []byte) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		k := minted
		err := get(ctx, tx, `
			UPDATE connect_code SET used_at = $1, key_id = $2
			WHERE hash = $3 AND used_at IS NULL AND expires_at > $1 AND EXISTS (
				SELECT 1 FROM app_user u WHERE u.id = connect_code.user_id AND u.disabled_at IS NULL)
			RETURNING user_id`, args{millis(now), k.ID, codeHash}, &k.UserID)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, insertKey, keyArgs(k, keyHash)...)
		return err
	})
	return fail("redeem connect code", "connect code", err)
}
