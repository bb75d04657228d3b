package store

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin/upstream"
)

// UserByIdentity finds the user whom somebody at another provider is.
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

// LinkIdentity ties somebody at another provider to a user.
func (db *DB) LinkIdentity(ctx context.Context, id upstream.Identity, userID string, now time.Time) error {
	_, err := db.one(ctx, insertIdentity, id.Issuer, id.Subject, userID, millis(now))
	if classify(err) == classUnique {
		return core.Conflict("conflict", "This account or this identity is tied to another already.")
	}
	return fail("link identity", "user", err)
}

// InsertUserWithIdentity adds a user without a password who is somebody at another provider, and delivers the invitations
// to their address.
func (db *DB) InsertUserWithIdentity(ctx context.Context, u account.User, id upstream.Identity) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
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
