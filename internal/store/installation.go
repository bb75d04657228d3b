package store

import (
	"context"
	"crypto/rand"
	"fmt"
)

// secretSize is the key length of keyed hashes.
const secretSize = 32

// Secret returns the installation's secret, generated at first use. It is used if the operator sets none. It is stored
// next to the data it protects; in return, a copy of the database is a complete backup.
func (db *DB) Secret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, secretSize)
	if _, err := rand.Read(fresh); err != nil {
		return nil, fmt.Errorf("generate a secret: %w", err)
	}
	var secret []byte
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, `INSERT INTO installation (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`,
			fresh); err != nil {
			return err
		}
		return get(ctx, tx, `SELECT secret FROM installation WHERE id = 1`, nil, &secret)
	})
	return secret, fail("read the installation's secret", "installation", err)
}

// AgentOwner returns the id of an agent's owner, for administrative commands.
func (db *DB) AgentOwner(ctx context.Context, agentID string) (string, error) {
	var userID string
	err := get(ctx, db.read, `SELECT user_id FROM agent WHERE id = $1`, args{agentID}, &userID)
	return userID, fail("find an agent's owner", "agent", err)
}
