package store

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin/upstream"
)

// UserByIdentity returns the user linked to an identity at a sign-in provider.
func (db *DB) UserByIdentity(ctx context.Context, id upstream.Identity) (account.User, error) {
	var r userRow
	err := get(ctx, db.read, `
		SELECT `+joinedUser+`
		FROM upstream_identity i JOIN app_user u ON u.id = i.user_id WHERE i.issuer = $1 AND i.subject = $2`,
		args{id.Issuer, id.Subject}, r.dest()...)
	if err != nil {
		return account.User{}, fail("read identity", "user", err)
	}
	return r.value(), nil
}

const insertIdentity = `INSERT INTO upstream_identity (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)`

// LinkIdentity links an identity at a sign-in provider to a user.
func (db *DB) LinkIdentity(ctx context.Context, id upstream.Identity, userID string, now time.Time) error {
	_, err := db.exec(ctx, insertIdentity, id.Issuer, id.Subject, userID, millis(now))
	if classify(err) == classUnique {
		return core.Conflict("conflict", "This account or this identity is already linked to another one.")
	}
	return fail("link identity", "user", err)
}

// InsertUserWithIdentity adds a user without a password who signs in through a provider, and delivers the invitations
// to their address.
func (db *DB) InsertUserWithIdentity(ctx context.Context, u account.User, id upstream.Identity) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, insertUser, userArgs(u, "")...); err != nil {
			return err
		}
		if err := deliverInvitations(ctx, tx, u); err != nil {
			return err
		}
		_, err := tx.exec(ctx, insertIdentity, id.Issuer, id.Subject, u.ID, millis(u.CreatedAt))
		return err
	})
	return fail("insert user", "user", err)
}
