package store

import (
	"context"
	"slices"
)

// SealedKind is a kind of stored secret that is encrypted for the place of its row.
type SealedKind string

// The kinds, by what they are. The secrets of sources have a longer place; see source.Service.
const (
	SealedWebhooks    SealedKind = "webhook secrets"
	SealedTOTP        SealedKind = "authenticator apps"
	SealedSigningKeys SealedKind = "oauth signing keys"
	SealedReplies     SealedKind = "replies"
)

// sealedColumns are the table, the column and the SQL expression of the place of each kind.
var sealedColumns = map[SealedKind]struct{ table, column, place string }{
	SealedWebhooks:    {"webhook", "secret", "id"},
	SealedTOTP:        {"totp", "secret", "user_id"},
	SealedSigningKeys: {"oauth_key", "sealed", "id"},
	SealedReplies:     {"idempotency", "body", "user_id || ' ' || key"},
}

// SealedSecret is an encrypted secret.
type SealedSecret struct {
	Place string
	Value []byte
}

// SealedSecrets returns the stored secrets of a kind.
func (db *DB) SealedSecrets(ctx context.Context, kind SealedKind) ([]SealedSecret, error) {
	c := sealedColumns[kind]
	var s SealedSecret
	var out []SealedSecret
	err := db.read.each(ctx, `SELECT `+c.place+`, `+c.column+` FROM `+c.table+` WHERE `+c.column+` IS NOT NULL`, nil,
		[]any{&s.Place, &s.Value}, func() error {
			out = append(out, SealedSecret{Place: s.Place, Value: slices.Clone(s.Value)})
			return nil
		})
	return out, fail("list sealed secrets", "secret", err)
}

// ReplaceSealed stores a secret that was encrypted again. It changes nothing if the secret has changed since.
func (db *DB) ReplaceSealed(ctx context.Context, kind SealedKind, before SealedSecret, sealed []byte) error {
	c := sealedColumns[kind]
	_, err := db.exec(ctx, `UPDATE `+c.table+` SET `+c.column+` = $1 WHERE `+c.place+` = $2 AND `+c.column+` = $3`,
		sealed, before.Place, before.Value)
	return fail("replace a sealed secret", "secret", err)
}
