package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/credential"
	"carrel/internal/oauth"
)

var _ oauth.Store = (*DB)(nil)

// PutClient stores a client. A client whose metadata document was read again keeps its creation and usage times. Beyond
// the limit of unused clients, the oldest are deleted.
func (db *DB) PutClient(ctx context.Context, c oauth.Client, unused int) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			INSERT INTO oauth_client (id, kind, name, uri, redirect_uris, auth_method, secret_hash, created_at, fetched_at,
				used_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, uri = excluded.uri, redirect_uris = excluded.redirect_uris,
				auth_method = excluded.auth_method, fetched_at = excluded.fetched_at
			WHERE oauth_client.kind = 'document' AND excluded.kind = 'document'`,
			c.ID, string(c.Kind), c.Name, c.URI, encodeList(c.RedirectURIs), string(c.AuthMethod),
			optBytes(c.SecretHash),
			millis(c.CreatedAt), optMillis(c.FetchedAt), optMillis(c.UsedAt))
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			DELETE FROM oauth_client WHERE used_at IS NULL AND created_at <= (
				SELECT created_at FROM oauth_client WHERE used_at IS NULL ORDER BY created_at DESC LIMIT 1 OFFSET $1)`, unused)
		return err
	})
	return fail("put client", "client", err)
}

// optBytes stores nil as NULL.
func optBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// Client returns a client by its id.
func (db *DB) Client(ctx context.Context, id string) (oauth.Client, error) {
	version, known := db.clientVersion()
	if c, ok := db.cachedClients.get(version, known, id); ok {
		return *c, nil
	}
	c, err := db.readClient(ctx, id)
	if err == nil && known {
		db.cachedClients.put(version, id, &c)
	}
	return c, err
}

func (db *DB) readClient(ctx context.Context, id string) (oauth.Client, error) {
	var c oauth.Client
	var uris string
	var created int64
	var fetched, used sql.NullInt64
	err := get(ctx, db.read, `
		SELECT id, kind, name, uri, redirect_uris, auth_method, secret_hash, created_at, fetched_at, used_at
		FROM oauth_client WHERE id = $1`, args{id},
		&c.ID, (*string)(&c.Kind), &c.Name, &c.URI, &uris, (*string)(&c.AuthMethod), &c.SecretHash, &created, &fetched,
		&used)
	if err == nil {
		c.RedirectURIs, err = decodeList[string](uris)
	}
	if err != nil {
		return oauth.Client{}, fail("read client", "client", err)
	}
	c.CreatedAt, c.FetchedAt, c.UsedAt = at(created), optAt(fetched), optAt(used)
	return c, nil
}

// SigningKeys returns the signing keys in order of their numbers.
func (db *DB) SigningKeys(ctx context.Context) ([]oauth.SigningKey, error) {
	var k oauth.SigningKey
	var created, active int64
	keys := []oauth.SigningKey{}
	err := db.read.each(ctx, `SELECT number, id, sealed, created_at, active_at FROM oauth_key ORDER BY number`, nil,
		[]any{&k.Number, &k.ID, &k.Sealed, &created, &active}, func() error {
			k.CreatedAt, k.ActiveAt = at(created), at(active)
			keys = append(keys, k)
			k = oauth.SigningKey{} // the next row must not reuse the byte slices
			return nil
		})
	if err != nil {
		return nil, fail("list signing keys", "key", err)
	}
	return keys, nil
}

// InsertSigningKey adds a key. If two nodes add the same number, one gets a conflict.
func (db *DB) InsertSigningKey(ctx context.Context, k oauth.SigningKey) error {
	_, err := db.exec(ctx,
		`INSERT INTO oauth_key (number, id, sealed, created_at, active_at) VALUES ($1, $2, $3, $4, $5)`,
		k.Number, k.ID, k.Sealed, millis(k.CreatedAt), millis(k.ActiveAt))
	return fail("insert signing key", "key", err)
}

// PruneOAuth deletes expired codes, tokens, grants, attempts, unused clients and old signing keys.
func (db *DB) PruneOAuth(ctx context.Context, now, unused, traces time.Time) error {
	// Refreshes leave prune_at behind expires_at.
	if err := db.inBatches(ctx, `UPDATE oauth_grant SET prune_at = expires_at`,
		prunable{"oauth_grant", "id", `prune_at < $1 AND expires_at >= $1`}, traces, pruneBatch); err != nil {
		return fail("prune oauth", "client", err)
	}
	for _, step := range []struct {
		prunable
		before time.Time
	}{
		{prunable{"oauth_code", "hash", `expires_at < $1`}, traces},
		{prunable{"oauth_token", "hash", `expires_at < $1`}, now},
		// An older refresh token was replaced before traces, or its grant had expired then.
		{prunable{"oauth_refresh", "hash", `created_at < $1`}, traces.Add(-oauth.RefreshIdle)},
		{prunable{"oauth_grant", "id", `prune_at < $1 AND expires_at < $1`}, traces},
		{prunable{"oauth_attempt", "id", `last_at < $1`}, traces},
		{prunable{"oauth_client", "id", `used_at IS NULL AND created_at < $1`}, unused},
		// The previous key may still be in use for signing or for verification.
		{prunable{"oauth_key", "number", `active_at < $1 AND number < (SELECT max(number) - 1 FROM oauth_key)`}, traces},
	} {
		if err := db.prune(ctx, step.prunable, step.before, pruneBatch); err != nil {
			return fail("prune oauth", "client", err)
		}
	}
	return nil
}

// Grants returns a user's grants, newest first.
func (db *DB) Grants(ctx context.Context, userID string) ([]oauth.Grant, error) {
	var r grantRow
	grants := []oauth.Grant{}
	err := db.read.each(ctx, `
		SELECT `+grantColumns+` FROM oauth_grant g JOIN oauth_client c ON c.id = g.client_id
		WHERE g.user_id = $1 ORDER BY g.id DESC`, args{userID}, r.dest(), func() error {
		g, err := r.value()
		grants = append(grants, g)
		return err
	})
	if err != nil {
		return nil, fail("list grants", "user", err)
	}
	return grants, nil
}

// RevokeGrant revokes a grant and reports whether it was active. A grant revoked before keeps its time.
func (db *DB) RevokeGrant(ctx context.Context, userID, grantID string, now time.Time) (ended bool, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx,
			`UPDATE oauth_grant SET revoked_at = $1 WHERE id = $2 AND user_id = $3 AND revoked_at IS NULL`,
			millis(now), grantID, userID)
		if ended = n > 0; ended && err == nil {
			return deleteWebhooksOf(ctx, tx, grantID)
		}
		if err != nil {
			return err
		}
		var id string
		return get(ctx, tx, `SELECT id FROM oauth_grant WHERE id = $1 AND user_id = $2`, args{grantID, userID}, &id)
	})
	return ended, fail("revoke grant", "connection", err)
}

// RevokeToken deletes an access token of the client, or revokes the grant of a refresh token.
func (db *DB) RevokeToken(ctx context.Context, clientID string, hash []byte, now time.Time) (ended bool, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			DELETE FROM oauth_token WHERE hash = $1 AND grant_id IN (SELECT id FROM oauth_grant WHERE client_id = $2)`,
			hash, clientID)
		if err != nil {
			return err
		}
		grantID, err := returnedID(ctx, tx, `
			UPDATE oauth_grant SET revoked_at = $1
			WHERE client_id = $2 AND revoked_at IS NULL AND id = (SELECT grant_id FROM oauth_refresh WHERE hash = $3)
			RETURNING id`, millis(now), clientID, hash)
		if ended = grantID != ""; !ended || err != nil {
			return err
		}
		return deleteWebhooksOf(ctx, tx, grantID)
	})
	return ended, fail("revoke token", "token", err)
}

// TouchGrants records the last use of grants, never moving it back.
func (db *DB) TouchGrants(ctx context.Context, used map[string]credential.Use) error {
	return db.touch(ctx, "touch grants", `
		UPDATE oauth_grant SET last_used_at = $1, last_address = $2, last_program = $3
		WHERE id = $4 AND (last_used_at IS NULL OR last_used_at < $1)`, used)
}

// revokeGrantOf revokes a grant inside a transaction and reports whether it was active.
func revokeGrantOf(ctx context.Context, tx querier, grantID string, now time.Time) (ended bool, err error) {
	n, err := tx.exec(ctx, `UPDATE oauth_grant SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL`,
		millis(now), grantID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, deleteWebhooksOf(ctx, tx, grantID)
}
