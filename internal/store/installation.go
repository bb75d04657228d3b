package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

// secretSize is the key length of keyed hashes.
const secretSize = 32

// KeyState is what the database knows about the keys of its installation.
type KeyState struct {
	// Secret is generated at first use. It is the secret key if the operator sets none: it is stored next to the data it
	// protects, and in return a copy of the database is a complete backup.
	Secret []byte
	// Check is the fingerprint of the secret key that the stored secrets are sealed with, or empty.
	Check string
	// HashKey is the sealed key of credential hashes, or nil if it is the secret key itself.
	HashKey []byte
}

// Secret returns the secret that is stored in the database.
func (db *DB) Secret(ctx context.Context) ([]byte, error) {
	s, err := db.KeyState(ctx)
	return s.Secret, err
}

// KeyState returns the stored keys. The first call generates the secret.
func (db *DB) KeyState(ctx context.Context) (KeyState, error) {
	var s KeyState
	read := func(ctx context.Context, q querier) error {
		return get(ctx, q, `SELECT secret, coalesce(key_check, ''), hash_key FROM installation WHERE id = 1`, nil,
			&s.Secret, &s.Check, &s.HashKey)
	}
	err := read(ctx, db.read)
	if !errors.Is(err, sql.ErrNoRows) {
		return s, fail("read the installation's secret", "installation", err)
	}
	fresh := make([]byte, secretSize)
	if _, err := rand.Read(fresh); err != nil {
		return s, fmt.Errorf("generate a secret: %w", err)
	}
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, `INSERT INTO installation (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`,
			fresh); err != nil {
			return err
		}
		return read(ctx, tx)
	})
	return s, fail("generate the installation's secret", "installation", err)
}

// SetKeyState stores the fingerprint of the secret key and the sealed hash key. It changes nothing if another process
// has changed the fingerprint since before was read.
func (db *DB) SetKeyState(ctx context.Context, before, after KeyState) error {
	_, err := db.exec(ctx, `UPDATE installation SET key_check = $1, hash_key = $2
		WHERE id = 1 AND coalesce(key_check, '') = $3`, after.Check, after.HashKey, before.Check)
	return fail("store the installation's key", "installation", err)
}

// AgentOwner returns the id of an agent's owner, for administrative commands.
func (db *DB) AgentOwner(ctx context.Context, agentID string) (string, error) {
	var userID string
	err := get(ctx, db.read, `SELECT user_id FROM agent WHERE id = $1`, args{agentID}, &userID)
	return userID, fail("find an agent's owner", "agent", err)
}
