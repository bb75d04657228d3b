package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

var _ credential.Store = (*DB)(nil)

// connectionQuery selects the credentials with which programs act for a user ($1) at a time ($2): minted keys and OAuth
// grants. rest ends the query of either table, whose alias is r, so that a limit applies before the tables are merged.
func connectionQuery(rest string) string {
	return `
	SELECT id, kind, name, client_name, scopes, agents, created_at, expires_at, last_used_at, last_address, last_program
	FROM (
		SELECT * FROM (
			SELECT r.id, r.kind, r.name, r.client_name, r.scopes, r.agents, r.created_at, r.expires_at, r.last_used_at,
				r.last_address, r.last_program
			FROM credential_key r
			WHERE r.user_id = $1 AND r.kind = 'minted' AND r.revoked_at IS NULL
				AND (r.expires_at IS NULL OR r.expires_at > $2) AND ` + rest + `) AS minted
		UNION ALL
		SELECT * FROM (
			SELECT r.id, 'oauth', CASE r.name WHEN '' THEN c.name ELSE r.name END, c.name, r.scopes, '[]', r.created_at,
				r.expires_at, r.last_used_at, r.last_address, r.last_program
			FROM oauth_grant r JOIN oauth_client c ON c.id = r.client_id
			WHERE r.user_id = $1 AND r.revoked_at IS NULL AND r.expires_at > $2 AND ` + rest + `) AS granted
	) AS connection `
}

type connectionRow struct {
	connection     credential.Connection
	scopes, agents string
	created        int64
	expires, used  sql.NullInt64
}

func (r *connectionRow) dest() []any {
	c := &r.connection
	return []any{
		&c.ID, (*string)(&c.Kind), &c.Name, &c.ClientName, &r.scopes, &r.agents, &r.created, &r.expires, &r.used,
		&c.LastAddress, &c.LastProgram,
	}
}

func (r *connectionRow) value() (c credential.Connection, err error) {
	c = r.connection
	if c.Agents, err = decodeList[string](r.agents); err != nil {
		return c, err
	}
	granted, err := decodeList[string](r.scopes)
	if err != nil {
		return c, err
	}
	// Grants also have scopes outside the API, such as openid.
	c.Scopes = oauth.APIScopes(granted)
	c.CreatedAt, c.ExpiresAt, c.LastUsedAt = at(r.created), optAt(r.expires), optAt(r.used)
	return c, nil
}

// Connections returns a user's active connections, newest first.
func (db *DB) Connections(
	ctx context.Context, userID string, now time.Time, after *credential.ConnectionKey, limit int,
) ([]credential.Connection, error) {
	created, id := int64(lastTime), ""
	if after != nil {
		created, id = millis(after.CreatedAt), after.ID
	}
	var r connectionRow
	list := make([]credential.Connection, 0, capacityFor(limit))
	query := connectionQuery(`(r.created_at, r.id) < ($3, $4) ORDER BY r.created_at DESC, r.id DESC LIMIT $5 + 0`) +
		`ORDER BY created_at DESC, id DESC LIMIT $5 + 0`
	err := db.read.each(ctx, query, args{userID, millis(now), created, id, limit}, r.dest(), func() error {
		c, err := r.value()
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, fail("list connections", "user", err)
	}
	return list, nil
}

// Connection returns an active connection of a user.
func (db *DB) Connection(
	ctx context.Context, userID, connectionID string, now time.Time,
) (credential.Connection, error) {
	var r connectionRow
	err := get(ctx, db.read, connectionQuery(`r.id = $3`), args{userID, millis(now), connectionID}, r.dest()...)
	if err != nil {
		return credential.Connection{}, fail("read connection", "connection", err)
	}
	return r.value()
}

// RenameConnection renames a connection that is not revoked.
func (db *DB) RenameConnection(ctx context.Context, userID, connectionID, name string) error {
	rename := `UPDATE credential_key SET name = $1
		WHERE id = $2 AND user_id = $3 AND kind = 'minted' AND revoked_at IS NULL`
	if core.IsID(core.PrefixGrant, connectionID) {
		rename = `UPDATE oauth_grant SET name = $1 WHERE id = $2 AND user_id = $3 AND revoked_at IS NULL`
	}
	n, err := db.exec(ctx, rename, name, connectionID, userID)
	return requireRow("rename connection", "connection", n, err)
}
