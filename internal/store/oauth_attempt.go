package store

import (
	"context"
	"database/sql"

	"carrel/internal/oauth"
)

// RecordAttempt stores a failed attempt, or increments the count of an equal one.
func (db *DB) RecordAttempt(ctx context.Context, a oauth.Attempt) error {
	_, err := db.exec(ctx, `
		INSERT INTO oauth_attempt (id, user_id, client_id, client_name, stage, problem, wrong, address, program, count,
			first_at, last_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (coalesce(user_id, ''), client_id, stage, problem) DO UPDATE SET
			client_name = excluded.client_name, wrong = excluded.wrong, address = excluded.address, program = excluded.program,
			count = oauth_attempt.count + excluded.count, last_at = excluded.last_at`,
		a.ID, optText(a.UserID), a.ClientID, a.ClientName, string(a.Stage), a.Problem, a.Wrong, a.Address, a.Program,
		a.Count,
		millis(a.FirstAt), millis(a.LastAt))
	return fail("record attempt", "user", err)
}

// Attempts returns a user's failed attempts, latest first, including attempts of unknown users if anonymous is set.
func (db *DB) Attempts(ctx context.Context, userID string, anonymous bool, limit int) ([]oauth.Attempt, error) {
	const columns = `SELECT id, user_id, client_id, client_name, stage, problem, wrong, address, program, count,
		first_at, last_at FROM oauth_attempt `
	query := columns + `WHERE user_id = $1 ORDER BY last_at DESC, id DESC LIMIT $2`
	if anonymous {
		query = columns + `WHERE user_id = $1 OR user_id IS NULL ORDER BY last_at DESC, id DESC LIMIT $2`
	}
	var a oauth.Attempt
	var user sql.NullString
	var first, last int64
	list := []oauth.Attempt{}
	err := db.read.each(ctx, query, args{userID, limit}, []any{
		&a.ID, &user, &a.ClientID, &a.ClientName, (*string)(&a.Stage), &a.Problem, &a.Wrong, &a.Address, &a.Program,
		&a.Count, &first, &last,
	}, func() error {
		a.UserID, a.FirstAt, a.LastAt = user.String, at(first), at(last)
		list = append(list, a)
		return nil
	})
	if err != nil {
		return nil, fail("list attempts", "user", err)
	}
	return list, nil
}

// TokenOwner returns the user, client and grant of an authorization code or refresh token.
func (db *DB) TokenOwner(ctx context.Context, hash []byte) (oauth.TokenOwner, error) {
	var h oauth.TokenOwner
	err := get(ctx, db.read, `
		SELECT user_id, client_id, grant_id FROM oauth_code WHERE hash = $1
		UNION ALL
		SELECT g.user_id, g.client_id, g.id FROM oauth_refresh r JOIN oauth_grant g ON g.id = r.grant_id WHERE r.hash = $2`,
		args{hash, hash}, &h.UserID, &h.ClientID, &h.GrantID)
	return h, fail("read holder", "token", err)
}
