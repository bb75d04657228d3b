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

const keyColumns = `k.id, k.user_id, k.kind, k.name, k.hint, k.scopes, k.agents, k.created_at, k.expires_at,
	k.revoked_at, k.last_used_at, k.client_name, k.last_address, k.last_program, k.made_with`

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
		&r.created, &r.expires, &r.revoked, &r.usage, &k.ClientName, &k.LastAddress, &k.LastProgram, &k.MadeWith,
	}
}

func (r *keyRow) value() (k credential.Key, err error) {
	k = r.key
	if k.Scopes, err = decodeList[core.Scope](r.scopes); err != nil {
		return k, err
	}
	if k.Agents, err = decodeList[string](r.agents); err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = at(r.created), optAt(r.expires), optAt(r.revoked), optAt(r.usage)
	return k, nil
}

const insertKey = `
	INSERT INTO credential_key (id, user_id, kind, name, hint, hash, scopes, agents, created_at, expires_at, client_name,
		made_with)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

func keyArgs(k credential.Key, hash []byte) args {
	return args{
		k.ID, k.UserID, string(k.Kind), k.Name, k.Hint, hash, encodeList(k.Scopes), encodeList(k.Agents),
		millis(k.CreatedAt), optMillis(k.ExpiresAt), k.ClientName, k.MadeWith,
	}
}

// InsertKey stores a key under the hash of its secret. If the user already has a key with this id, only its secret is
// replaced.
func (db *DB) InsertKey(ctx context.Context, k credential.Key, hash []byte) error {
	var n int64
	err := db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		if err := db.lockParentKey(ctx, tx, k.MadeWith); err != nil {
			return err
		}
		n, err = tx.exec(ctx, insertKey+`
			ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, hint = excluded.hint
			WHERE credential_key.user_id = excluded.user_id AND credential_key.kind = excluded.kind`, keyArgs(k, hash)...)
		return err
	})
	return requireRow("insert key", "user", n, err)
}

// lockParentKey locks the key with which another credential is created, and fails if it is revoked. A concurrent
// revocation waits for the transaction and so also revokes the new credential.
func (db *DB) lockParentKey(ctx context.Context, tx querier, keyID string) error {
	if keyID == "" {
		return nil
	}
	var id string
	return get(ctx, tx, `SELECT id FROM credential_key WHERE id = $1 AND revoked_at IS NULL`+db.dialect.lock,
		args{keyID}, &id)
}

// KeyByHash returns a key with its user and the amounts that both have spent and reserved in the period.
func (db *DB) KeyByHash(ctx context.Context, hash []byte, period string) (credential.Found, error) {
	if !db.onPostgres() {
		return db.keyByHash(ctx, hash, period)
	}
	return share(ctx, db, keyHash{string(hash), period}, func(ctx context.Context) (credential.Found, error) {
		return db.keyByHash(ctx, hash, period)
	})
}

// keyHash is the key of a shared lookup.
type keyHash struct{ hash, period string }

func (db *DB) keyByHash(ctx context.Context, hash []byte, period string) (credential.Found, error) {
	var k keyRow
	var u userRow
	var e entitlementRow
	var f credential.Found
	var own sql.NullInt64
	err := get(ctx, db.read, `
		SELECT `+keyColumns+`,
			`+joinedUser+`,
			coalesce(b.reserved + b.spent, 0), `+capColumns+`, `+entitlementColumns+`
		FROM credential_key k
		JOIN app_user u ON u.id = k.user_id
		LEFT JOIN budget b ON b.user_id = k.user_id AND b.period = $1`+capJoin("k.id")+entitlementJoin+`
		WHERE k.hash = $2`, args{period, hash},
		slices.Concat(k.dest(), u.dest(), []any{&f.Used, &own, &f.CapUsed}, e.dest())...)
	if err == nil {
		f.Key, err = k.value()
	}
	if err == nil {
		f.Entitlement, err = e.value()
	}
	if err != nil {
		return credential.Found{}, fail("read key", "key", err)
	}
	f.User, f.Cap = u.value(), optInt64(own)
	return f, nil
}

// capColumns and capJoin add a credential's monthly cap and its spending in the period $1 to a query.
const capColumns = `credential_cap.micros, coalesce(credential_budget.reserved + credential_budget.spent, 0)`

func capJoin(id string) string {
	return `
		LEFT JOIN credential_cap ON credential_cap.credential_id = ` + id + `
		LEFT JOIN credential_budget ON credential_budget.credential_id = credential_cap.credential_id
			AND credential_budget.period = $1`
}

// Keys returns a user's keys, newest first.
func (db *DB) Keys(ctx context.Context, userID string) ([]credential.Key, error) {
	return db.keys(ctx, `SELECT `+keyColumns+` FROM credential_key k WHERE k.user_id = $1 ORDER BY k.id DESC`, userID)
}

func (db *DB) keys(ctx context.Context, query string, a ...any) ([]credential.Key, error) {
	var r keyRow
	keys := []credential.Key{}
	err := db.read.each(ctx, query, a, r.dest(), func() error {
		k, err := r.value()
		keys = append(keys, k)
		return err
	})
	if err != nil {
		return nil, fail("list keys", "user", err)
	}
	return keys, nil
}

// APIKeys returns the keys a user created themselves that are not revoked, newest first.
func (db *DB) APIKeys(ctx context.Context, userID, before string, limit int) ([]credential.Key, error) {
	if before == "" {
		before = lastID
	}
	return db.keys(ctx, `
		SELECT `+keyColumns+` FROM credential_key k
		WHERE k.user_id = $1 AND k.id < $2 AND k.kind = 'key' AND k.revoked_at IS NULL ORDER BY k.id DESC LIMIT $3 + 0`,
		userID, before, limit)
}

// APIKey returns a key the user created that is not revoked.
func (db *DB) APIKey(ctx context.Context, userID, keyID string) (credential.Key, error) {
	var r keyRow
	err := get(ctx, db.read, `
		SELECT `+keyColumns+` FROM credential_key k
		WHERE k.id = $1 AND k.user_id = $2 AND k.kind = 'key' AND k.revoked_at IS NULL`, args{keyID, userID}, r.dest()...)
	if err != nil {
		return credential.Key{}, fail("read key", "key", err)
	}
	return r.value()
}

// RevokeKey revokes a key and all keys created with it, and deletes their unused connect codes. A key revoked before
// keeps its time.
func (db *DB) RevokeKey(ctx context.Context, userID, keyID string, now time.Time) error {
	var n int64
	err := db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		const revoke = `UPDATE credential_key SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 AND user_id = $3`
		if n, err = tx.exec(ctx, revoke, millis(now), keyID, userID); err != nil || n == 0 {
			return err
		}
		for made := []string{keyID}; len(made) > 0; made = made[1:] {
			if err := deleteWebhooksOf(ctx, tx, made[0]); err != nil {
				return err
			}
			if _, err := tx.exec(ctx,
				`DELETE FROM connect_code WHERE made_with <> '' AND made_with = $1 AND used_at IS NULL`, made[0]); err != nil {
				return err
			}
			var id string
			next := len(made)
			err := tx.each(ctx, `SELECT id FROM credential_key WHERE made_with <> '' AND made_with = $1 AND revoked_at IS NULL`,
				args{made[0]}, []any{&id}, func() error {
					made = append(made, id)
					return nil
				})
			if err != nil {
				return err
			}
			for _, id := range made[next:] {
				if _, err := tx.exec(ctx, revoke, millis(now), id, userID); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return requireRow("revoke key", "key", n, err)
}

// TouchKeys records the last use of keys, never moving it back. Deleted keys are skipped.
func (db *DB) TouchKeys(ctx context.Context, used map[string]credential.Use) error {
	return db.touch(ctx, "touch keys", `
		UPDATE credential_key SET last_used_at = $1, last_address = $2, last_program = $3
		WHERE id = $4 AND (last_used_at IS NULL OR last_used_at < $1)`, used)
}

// touch runs an update of the last use for each id.
func (db *DB) touch(ctx context.Context, operation, update string, used map[string]credential.Use) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		// Sorted, so that two nodes cannot deadlock.
		for _, id := range slices.Sorted(maps.Keys(used)) {
			use := used[id]
			if _, err := tx.exec(ctx, update, millis(use.At), use.Address, use.Program, id); err != nil {
				return err
			}
		}
		return nil
	})
	return fail(operation, "key", err)
}
