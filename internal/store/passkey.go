package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/core"
	"carrel/internal/signin/passkey"
)

// InsertPasskey adds a passkey.
func (db *DB) InsertPasskey(ctx context.Context, p passkey.Passkey) error {
	_, err := db.exec(ctx,
		`INSERT INTO passkey (id, user_id, credential_id, name, record, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.ID, p.UserID, p.CredentialID, p.Name, p.Record, millis(p.CreatedAt))
	if classify(err) == classUnique {
		return core.Conflict("conflict", "This passkey is already registered.")
	}
	return fail("insert passkey", "user", err)
}

// Passkeys returns a user's passkeys, newest first.
func (db *DB) Passkeys(ctx context.Context, userID string) ([]passkey.Passkey, error) {
	p := passkey.Passkey{UserID: userID}
	var created int64
	var used sql.NullInt64
	passkeys := []passkey.Passkey{}
	err := db.read.each(ctx,
		`SELECT id, credential_id, name, record, created_at, last_used_at FROM passkey WHERE user_id = $1 ORDER BY id DESC`,
		args{userID}, []any{&p.ID, &p.CredentialID, &p.Name, &p.Record, &created, &used}, func() error {
			p.CreatedAt, p.LastUsedAt = at(created), optAt(used)
			passkeys = append(passkeys, p)
			return nil
		})
	if err != nil {
		return nil, fail("list passkeys", "user", err)
	}
	return passkeys, nil
}

// UsePasskey replaces a passkey's record and records its use.
func (db *DB) UsePasskey(ctx context.Context, userID string, credentialID, record []byte, now time.Time) error {
	n, err := db.exec(ctx, `UPDATE passkey SET record = $1, last_used_at = $2 WHERE credential_id = $3 AND user_id = $4`,
		record, millis(now), credentialID, userID)
	return requireRow("use passkey", "passkey", n, err)
}

// RenamePasskey renames a passkey.
func (db *DB) RenamePasskey(ctx context.Context, userID, id, name string) error {
	n, err := db.exec(ctx, `UPDATE passkey SET name = $1 WHERE id = $2 AND user_id = $3`, name, id, userID)
	return requireRow("rename passkey", "passkey", n, err)
}

// DeletePasskey removes a passkey.
func (db *DB) DeletePasskey(ctx context.Context, userID, id string) error {
	n, err := db.exec(ctx, `DELETE FROM passkey WHERE id = $1 AND user_id = $2`, id, userID)
	return requireRow("delete passkey", "passkey", n, err)
}
