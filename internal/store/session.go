package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
)

const sessionColumns = `s.id, s.user_id, s.address, s.agent, s.created_at, s.authenticated_at, s.seen_at, s.expires_at,
	s.revoked_at`

type sessionRow struct {
	session                               credential.Session
	created, authenticated, seen, expires int64
	revoked                               sql.NullInt64
}

func (r *sessionRow) dest() []any {
	s := &r.session
	return []any{&s.ID, &s.UserID, &s.Address, &s.Agent, &r.created, &r.authenticated, &r.seen, &r.expires, &r.revoked}
}

func (r *sessionRow) value() credential.Session {
	s := r.session
	s.CreatedAt, s.AuthenticatedAt, s.SeenAt, s.ExpiresAt = at(r.created), at(r.authenticated), at(r.seen), at(r.expires)
	s.RevokedAt = optAt(r.revoked)
	return s
}

// InsertSession stores a session under the hash of its secret.
func (db *DB) InsertSession(ctx context.Context, s credential.Session, hash []byte) error {
	_, err := db.exec(ctx, `
		INSERT INTO web_session (id, user_id, hash, address, agent, created_at, authenticated_at, seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		s.ID, s.UserID, hash, s.Address, s.Agent, millis(s.CreatedAt), millis(s.AuthenticatedAt), millis(s.SeenAt),
		millis(s.ExpiresAt))
	return fail("insert session", "user", err)
}

// SessionByHash returns a session, ended or not, with its user and the amounts the user has spent and reserved in the
// period.
func (db *DB) SessionByHash(ctx context.Context, hash []byte, period string) (credential.FoundSession, error) {
	var s sessionRow
	var u userRow
	var e entitlementRow
	var used int64
	err := get(ctx, db.read, `
		SELECT `+sessionColumns+`, `+joinedUser+`,
			coalesce(b.reserved + b.spent, 0), `+entitlementColumns+`
		FROM web_session s
		JOIN app_user u ON u.id = s.user_id
		LEFT JOIN budget b ON b.user_id = s.user_id AND b.period = $1`+entitlementJoin+`
		WHERE s.hash = $2`, args{period, hash}, slices.Concat(s.dest(), u.dest(), []any{&used}, e.dest())...)
	if err != nil {
		return credential.FoundSession{}, fail("read session", "session", err)
	}
	has, err := e.value()
	if err != nil {
		return credential.FoundSession{}, fail("read session", "session", err)
	}
	return credential.FoundSession{Session: s.value(), User: u.value(), Used: used, Entitlement: has}, nil
}

// Sessions returns a user's active sessions, newest first.
func (db *DB) Sessions(ctx context.Context, userID string, now, idleSince time.Time) ([]credential.Session, error) {
	var r sessionRow
	sessions := []credential.Session{}
	err := db.read.each(ctx, `
		SELECT `+sessionColumns+` FROM web_session s
		WHERE s.user_id = $1 AND s.revoked_at IS NULL AND s.expires_at > $2 AND s.seen_at > $3 ORDER BY s.id DESC`,
		args{userID, millis(now), millis(idleSince)}, r.dest(), func() error {
			sessions = append(sessions, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list sessions", "user", err)
	}
	return sessions, nil
}

// TouchSession records the last use of a session, never moving it back.
func (db *DB) TouchSession(ctx context.Context, sessionID string, now time.Time) error {
	_, err := db.exec(ctx, `UPDATE web_session SET seen_at = $1 WHERE id = $2 AND seen_at < $1`, millis(now), sessionID)
	return fail("touch session", "session", err)
}

// StepUpSession records that the user has authenticated again.
func (db *DB) StepUpSession(ctx context.Context, sessionID string, now time.Time) error {
	n, err := db.exec(ctx, `UPDATE web_session SET authenticated_at = $1 WHERE id = $2 AND revoked_at IS NULL`,
		millis(now), sessionID)
	return requireRow("step a session up", "session", n, err)
}

// RevokeSession revokes a session. A session revoked before keeps its time.
func (db *DB) RevokeSession(ctx context.Context, userID, sessionID string, now time.Time) error {
	n, err := db.exec(ctx, `UPDATE web_session SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 AND user_id = $3`,
		millis(now), sessionID, userID)
	return requireRow("revoke session", "session", n, err)
}

const revokeSessions = `UPDATE web_session SET revoked_at = $1 WHERE user_id = $2 AND id <> $3 AND revoked_at IS NULL`

// RevokeSessions revokes all sessions of a user except one.
func (db *DB) RevokeSessions(ctx context.Context, userID, except string, now time.Time) error {
	_, err := db.exec(ctx, revokeSessions, millis(now), userID, except)
	return fail("revoke sessions", "session", err)
}

// PruneSessions deletes expired sessions. Revoked sessions are kept until they expire.
func (db *DB) PruneSessions(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"web_session", "id", `expires_at <= $1`}, before, pruneBatch)
	return fail("prune sessions", "session", err)
}

// PasswordHash returns the user with an e-mail address, and their password hash.
func (db *DB) PasswordHash(ctx context.Context, email string) (account.User, string, error) {
	var r userRow
	var hash string
	err := get(ctx, db.read, `SELECT `+userColumns+`, password_hash FROM app_user WHERE email = $1`, args{email},
		append(r.dest(), &hash)...)
	if err != nil {
		return account.User{}, "", fail("read user", "user", err)
	}
	return r.value(), hash, nil
}

// SetPassword changes a user's password and revokes all sessions except one in the same transaction, so that a stolen
// session does not outlive the old password.
func (db *DB) SetPassword(ctx context.Context, userID, passwordHash, exceptSession string, now time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `UPDATE app_user SET password_hash = $1 WHERE id = $2`, passwordHash, userID)
		if err != nil {
			return err
		}
		if n == 0 {
			return sql.ErrNoRows
		}
		if _, err := tx.exec(ctx, forgetBrowsers, userID); err != nil {
			return err
		}
		_, err = tx.exec(ctx, revokeSessions, millis(now), userID, exceptSession)
		return err
	})
	return fail("set password", "user", err)
}

// InsertFirstUser adds the first user, or returns a conflict if there is one. The single row of setup ensures that only
// one of several concurrent calls succeeds.
func (db *DB) InsertFirstUser(ctx context.Context, u account.User, passwordHash string) error {
	taken := core.Conflict("set_up", "This installation already has an owner. Sign in, or ask the owner for an account.")
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		n, err := tx.exec(ctx, `
			INSERT INTO setup (id, user_id, at) SELECT 1, $1, $2 WHERE NOT EXISTS (SELECT 1 FROM app_user)
			ON CONFLICT (id) DO NOTHING`, u.ID, millis(u.CreatedAt))
		if err != nil {
			return err
		}
		if n == 0 {
			return taken
		}
		_, err = tx.exec(ctx, insertUser, userArgs(u, passwordHash)...)
		return err
	})
	return fail("insert the first user", "user", err)
}
