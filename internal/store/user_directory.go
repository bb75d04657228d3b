package store

import (
	"context"
	"strings"

	"carrel/internal/account"
)

var _ account.AdminStore = (*DB)(nil)

// likeEscape escapes LIKE wildcards in search input.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// UsersBefore returns up to n users whose address or name contains words, newest first. On SQLite only ASCII letters
// are compared case-insensitively.
func (db *DB) UsersBefore(ctx context.Context, words, before string, n int) ([]account.User, error) {
	var r userRow
	users := make([]account.User, 0, capacityFor(n))
	err := db.read.each(ctx, `SELECT `+userColumns+` FROM app_user
		WHERE id < $1 AND closing_at IS NULL
			AND (lower(email) LIKE lower($2) ESCAPE '\' OR lower(name) LIKE lower($2) ESCAPE '\')
		ORDER BY id DESC LIMIT $3 + 0`,
		args{beforeOrLast(before), "%" + likeEscape.Replace(words) + "%", n}, r.dest(), func() error {
			users = append(users, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list users", "user", err)
	}
	return users, nil
}

// AdjustUser calls change on a user and stores the address, role, cap and disabled time.
func (db *DB) AdjustUser(ctx context.Context, userID string, change func(*account.User) error) (account.User, error) {
	var u account.User
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var r userRow
		err := get(ctx, tx, `SELECT `+userColumns+` FROM app_user WHERE id = $1 AND closing_at IS NULL`+db.dialect.lock,
			args{userID}, r.dest()...)
		if err != nil {
			return err
		}
		u = r.value()
		if err := change(&u); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			UPDATE app_user SET role = $1, spend_cap = $2, disabled_at = $3, email = $4, email_verified = $5, pending_email = $6
			WHERE id = $7`,
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
