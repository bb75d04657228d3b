package store

import (
	"context"
	"crypto/rand"
	"fmt"
)

// secretSize is that of the key of keyed hashes.
const secretSize = 32

// Secret returns the installation's own secret, drawn at random when it is first asked for. It serves where the
// operator sets none: it lies beside what it protects, and in return a copy of the database is a whole backup.
func (db *DB) Secret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, secretSize)
	if _, err := rand.Read(fresh); err != nil {
		return nil, fmt.Errorf("draw a secret: %w", err)
	}
	var secret []byte
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, `INSERT INTO installation (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`, fresh); err != nil {
			return err
		}
		return get(ctx, tx, `SELECT secret FROM installation WHERE id = 1`, nil, &secret)
	})
	return secret, fail("read the installation's secret", "installation", err)
}

// AgentOwner returns whose agent it is, for commands of the operator.
func (db *DB) AgentOwner(ctx context.Context, agentID string) (string, error) {
	var userID string
	err := get(ctx, db.read, `SELECT user_id FROM agent WHERE id = $1`, args{agentID}, &userID)
	return userID, fail("find an agent's owner", "agent", err)
}
