package store

import (
	"context"
	"strings"

	"carrel/internal/account"
)

var _ account.AdminStore = (*DB)(nil)

// likeEscape keeps what people type from having a meaning in LIKE.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// UsersBefore returns up to n users, newest first. On SQLite only the letters of ASCII are the same large and small.
func (db *DB) UsersBefore(ctx context.Context, words, before string, n int) ([]account.User, error) {
	var r userRow
	users := make([]account.User, 0, room(n))
	err := db.read.each(ctx, `SELECT `+userColumns+` FROM app_user
		WHERE id < $1 AND closing_at IS NULL AND (lower(email) LIKE lower($2) ESCAPE '\' OR lower(name) LIKE lower($2) ESCAPE '\') ORDER BY id DESC LIMIT $3 + 0`,
		args{firstPage(before), "%" + likeEscape.Replace(words) + "%", n}, r.dest(), func() error {
			users = append(users, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list users", "user", err)
	}
	return users, nil
}

// AdjustUser lets change edit the address, the role, the cap and the end of a user.
func (db *DB) AdjustUser(ctx context.Context, userID string, change func(*account.User) error) (account.User, error) {
	var u account.User
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		var r userRow
		err := get(ctx, tx, `SELECT `+userColumns+` FROM app_user WHERE id = $1 AND closing_at IS NULL`+db.dialect.lock, args{userID}, r.dest()...)
		if err != nil {
			return err
		}
		u = r.value()
		if err := change(&u); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			UPDATE app_user SET role = $1, spend_cap = $2, disabled_at = $3, email = $4, email_verified = $5, pending_email = $6 WHERE id = $7`,
			string(u.Role), optInt(u.SpendCap), optMillis(u.DisabledAt), u.Email, flag(u.EmailVerified), u.PendingEmail, userID)
		return err
	})
	if classify(err) == classUnique {
		return account.User{}, emailTaken()
	}
	if err != nil {
		return account.User{}, fail("adjust user", "user", err)
	}
	return u, nil
}
