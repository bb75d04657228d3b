package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
)

// Reads of users exclude closed accounts, which are being deleted.
const userColumns = `id, email, name, role, plan, spend_cap, disabled_at, created_at, email_verified, pending_email`

// joinedUser is userColumns for a join in which the user is called u.
const joinedUser = `u.id, u.email, u.name, u.role, u.plan, u.spend_cap, u.disabled_at, u.created_at, u.email_verified,
	u.pending_email`

type userRow struct {
	user               account.User
	spendCap, disabled sql.NullInt64
	created            int64
	verified           int
}

func (r *userRow) dest() []any {
	u := &r.user
	return []any{
		&u.ID, &u.Email, &u.Name, (*string)(&u.Role), &u.Plan, &r.spendCap, &r.disabled, &r.created, &r.verified,
		&u.PendingEmail,
	}
}

func (r *userRow) value() account.User {
	u := r.user
	if r.spendCap.Valid {
		micros := r.spendCap.Int64
		u.SpendCap = &micros
	}
	u.DisabledAt, u.CreatedAt, u.EmailVerified = optAt(r.disabled), at(r.created), r.verified != 0
	return u
}

const insertUser = `
	INSERT INTO app_user (id, email, name, role, plan, spend_cap, password_hash, disabled_at, created_at, email_verified)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

func userArgs(u account.User, passwordHash string) args {
	return args{
		u.ID, u.Email, u.Name, string(u.Role), u.Plan, optInt(u.SpendCap), passwordHash, optMillis(u.DisabledAt),
		millis(u.CreatedAt), flag(u.EmailVerified),
	}
}

// InsertUser adds a user and delivers the invitations to their address.
func (db *DB) InsertUser(ctx context.Context, u account.User, passwordHash string) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, insertUser, userArgs(u, passwordHash)...); err != nil {
			return err
		}
		return deliverInvitations(ctx, tx, u)
	})
	if classify(err) == classUnique {
		return emailTaken()
	}
	return fail("insert user", "user", err)
}

// UserByEmail returns the user with a normalized e-mail address.
func (db *DB) UserByEmail(ctx context.Context, email string) (account.User, error) {
	var r userRow
	err := get(ctx, db.read, `SELECT `+userColumns+` FROM app_user WHERE email = $1 AND closing_at IS NULL`,
		args{email}, r.dest()...)
	if err != nil {
		return account.User{}, fail("read user", "user", err)
	}
	return r.value(), nil
}

// UserByID returns a user.
func (db *DB) UserByID(ctx context.Context, userID string) (account.User, error) {
	var r userRow
	err := get(ctx, db.read, `SELECT `+userColumns+` FROM app_user WHERE id = $1 AND closing_at IS NULL`,
		args{userID}, r.dest()...)
	if err != nil {
		return account.User{}, fail("read user", "user", err)
	}
	return r.value(), nil
}

// ChangeUser sets the given fields of a user. An address entered by the user is unverified.
func (db *DB) ChangeUser(ctx context.Context, userID string, c account.UserChange) (account.User, error) {
	var r userRow
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		return get(ctx, tx, `
			UPDATE app_user SET name = coalesce($1, name), email = coalesce($2, email),
				email_verified = CASE WHEN $2 IS NULL THEN email_verified ELSE 0 END,
				pending_email = CASE WHEN $2 IS NULL THEN coalesce($3, pending_email) ELSE '' END
			WHERE id = $4
			RETURNING `+userColumns, args{optString(c.Name), optString(c.Email), optString(c.PendingEmail), userID}, r.dest()...)
	})
	if classify(err) == classUnique {
		return account.User{}, emailTaken()
	}
	if err != nil {
		return account.User{}, fail("change user", "user", err)
	}
	return r.value(), nil
}

// optString stores an optional string.
func optString(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func emailTaken() error {
	return core.Conflict("conflict", "A user with this e-mail address already exists. Choose another address.")
}

// Users returns all users, oldest first.
func (db *DB) Users(ctx context.Context) ([]account.User, error) {
	var r userRow
	users := []account.User{}
	err := db.read.each(ctx, `SELECT `+userColumns+
		` FROM app_user WHERE closing_at IS NULL ORDER BY id`, nil, r.dest(), func() error {
		users = append(users, r.value())
		return nil
	})
	if err != nil {
		return nil, fail("list users", "user", err)
	}
	return users, nil
}

// DisableUser disables a user. A user disabled before keeps that time.
func (db *DB) DisableUser(ctx context.Context, userID string, now time.Time) error {
	n, err := db.exec(ctx, `UPDATE app_user SET disabled_at = coalesce(disabled_at, $1) WHERE id = $2`,
		millis(now), userID)
	return requireRow("disable user", "user", n, err)
}

// SetSpendCap sets a user's monthly cap; nil removes it.
func (db *DB) SetSpendCap(ctx context.Context, userID string, micros *int64) error {
	n, err := db.exec(ctx, `UPDATE app_user SET spend_cap = $1 WHERE id = $2`, optInt(micros), userID)
	return requireRow("set spend cap", "user", n, err)
}
