package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
)

const grantColumns = `g.id, g.user_id, g.client_id, c.name, g.scopes, g.resources, g.auth_time, g.created_at,
	g.expires_at, g.last_used_at, g.revoked_at`

type grantRow struct {
	grant                      oauth.Grant
	scopes, resources          string
	authTime, created, expires int64
	used, revoked              sql.NullInt64
}

func (r *grantRow) dest() []any {
	g := &r.grant
	return []any{
		&g.ID, &g.UserID, &g.ClientID, &g.ClientName, &r.scopes, &r.resources, &r.authTime, &r.created, &r.expires,
		&r.used, &r.revoked,
	}
}

func (r *grantRow) value() (g oauth.Grant, err error) {
	g = r.grant
	if g.Scopes, err = decodeList[string](r.scopes); err != nil {
		return g, err
	}
	if g.Resources, err = decodeList[string](r.resources); err != nil {
		return g, err
	}
	g.AuthTime, g.CreatedAt, g.ExpiresAt = at(r.authTime), at(r.created), at(r.expires)
	g.LastUsedAt, g.RevokedAt = optAt(r.used), optAt(r.revoked)
	return g, nil
}

const (
	// grantQuery selects a grant with its user. Disabled users have no grants.
	grantQuery = `
		SELECT ` + grantColumns + `, ` + joinedUser + ` FROM oauth_grant g` + grantJoins + ` AND g.id = $1`
	// refreshQuery selects a refresh token with its grant.
	refreshQuery = `
		SELECT ` + grantColumns + `, ` + joinedUser + `, r.created_at
		FROM oauth_refresh r JOIN oauth_grant g ON g.id = r.grant_id` + grantJoins + ` AND r.hash = $1`
	grantJoins = ` JOIN oauth_client c ON c.id = g.client_id JOIN app_user u ON u.id = g.user_id
		WHERE u.disabled_at IS NULL`
)

func oneGrant(ctx context.Context, q querier, grantID string) (oauth.Token, error) {
	return grantWith(ctx, q, grantQuery, grantID)
}

// grantWith returns the grant and the user that the query selects. The query may select more columns.
func grantWith(ctx context.Context, q querier, query string, key any, more ...any) (t oauth.Token, err error) {
	var g grantRow
	var u userRow
	if err := get(ctx, q, query, args{key}, slices.Concat(g.dest(), u.dest(), more)...); err != nil {
		return t, err
	}
	t.User = u.value()
	t.Grant, err = g.value()
	return t, err
}

// InsertAuthCode stores an authorization code under the hash of its secret.
func (db *DB) InsertAuthCode(ctx context.Context, c oauth.Code, hash []byte) error {
	_, err := db.exec(ctx, `
		INSERT INTO oauth_code (hash, grant_id, user_id, client_id, redirect_uri, challenge, nonce, scopes, resources,
			auth_time, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		hash, c.GrantID, c.UserID, c.ClientID, c.RedirectURI, c.Challenge, c.Nonce, encodeList(c.Scopes),
		encodeList(c.Resources), millis(c.AuthTime), millis(c.ExpiresAt))
	return fail("insert authorization code", "client", err)
}

// RedeemAuthCode redeems an authorization code and starts its grant. The UPDATE matches an unused code in one
// transaction only, and only with the client, redirect URI and challenge it was issued for. A reused code revokes its
// grant.
func (db *DB) RedeemAuthCode(
	ctx context.Context, clock core.Clock, r oauth.Redemption,
) (issued oauth.Issued, err error) {
	reused := false
	err = db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		reused, issued = false, oauth.Issued{}
		var grantID string
		var used sql.NullInt64
		if err = get(ctx, tx, `SELECT grant_id, used_at FROM oauth_code WHERE hash = $1`+db.dialect.lock,
			args{r.CodeHash}, &grantID, &used); err != nil {
			return err
		}
		now := clock.Now()
		if used.Valid {
			reused = true
			issued.Ended, err = revokeGrantOf(ctx, tx, grantID, now)
			return err
		}
		var g grantRow
		err = get(ctx, tx, `
			UPDATE oauth_code SET used_at = $1
			WHERE hash = $2 AND used_at IS NULL AND expires_at > $1 AND client_id = $3 AND redirect_uri = $4 AND challenge = $5
			RETURNING user_id, scopes, resources, auth_time, nonce`,
			args{millis(now), r.CodeHash, r.ClientID, r.RedirectURI, r.Challenge},
			&g.grant.UserID, &g.scopes, &g.resources, &g.authTime, &issued.Nonce)
		if err != nil {
			return err
		}
		begun, err := g.value()
		if err != nil {
			return err
		}
		begun.ID, begun.ClientID, begun.CreatedAt = grantID, r.ClientID, now
		issued.Token, err = beginGrant(ctx, tx, begun, r)
		return err
	})
	switch {
	case err != nil:
		return oauth.Issued{}, fail("redeem authorization code", "authorization code", err)
	case reused:
		return oauth.Issued{Ended: issued.Ended}, oauth.ErrReused
	}
	return issued, nil
}

// beginGrant stores a grant with its first tokens.
func beginGrant(ctx context.Context, tx querier, g oauth.Grant, r oauth.Redemption) (oauth.Token, error) {
	now := g.CreatedAt
	_, err := tx.exec(ctx, `
		INSERT INTO oauth_grant (id, user_id, client_id, scopes, resources, auth_time, created_at, expires_at, last_used_at,
			prune_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8)`,
		g.ID, g.UserID, g.ClientID, encodeList(g.Scopes), encodeList(g.Resources),
		millis(g.AuthTime), millis(now), millis(g.EndAfter(now)), millis(now))
	if err != nil {
		return oauth.Token{}, err
	}
	if _, err = tx.exec(ctx, `UPDATE oauth_client SET used_at = $1 WHERE id = $2 AND used_at IS NULL`,
		millis(now), g.ClientID); err != nil {
		return oauth.Token{}, err
	}
	if g.Offline() {
		if _, err := insertRefresh(ctx, tx, g.ID, r.RefreshHash, millis(now)); err != nil {
			return oauth.Token{}, err
		}
	}
	t, err := oneGrant(ctx, tx, g.ID)
	if err != nil {
		return t, err
	}
	if t.Scopes, t.Resources, err = r.Narrow(t.Grant); err != nil {
		return t, err
	}
	t.CreatedAt, t.ExpiresAt = now, now.Add(oauth.AccessLife)
	return t, insertToken(ctx, tx, t, r.AccessHash)
}

// insertRefresh stores a refresh token and reports whether it is new.
func insertRefresh(ctx context.Context, tx querier, grantID string, hash []byte, now int64) (bool, error) {
	n, err := tx.exec(ctx, `
		INSERT INTO oauth_refresh (hash, grant_id, created_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`,
		hash, grantID, now)
	return n > 0, err
}

func insertToken(ctx context.Context, tx querier, t oauth.Token, hash []byte) error {
	_, err := tx.exec(ctx, `
		INSERT INTO oauth_token (hash, grant_id, scopes, resources, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		hash, t.Grant.ID, encodeList(t.Scopes), encodeList(t.Resources), millis(t.CreatedAt), millis(t.ExpiresAt))
	return err
}

// RotateRefresh replaces a refresh token by its successor. Within oauth.RefreshGrace a repeated request gets the same
// tokens; later reuse revokes the grant.
//
// A token is replaced if its successor exists, so nothing is written to the token itself. Refreshes of a grant wait for
// each other.
func (db *DB) RotateRefresh(ctx context.Context, clock core.Clock, r oauth.Rotation) (issued oauth.Issued, err error) {
	reused := false
	err = db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		reused, issued = false, oauth.Issued{}
		var created int64
		t, err := grantWith(ctx, tx, refreshQuery+db.dialect.lockOf("g"), r.RefreshHash, &created)
		if err != nil {
			return err
		}
		now := clock.Now()
		if t.Grant.ClientID != r.ClientID || !t.Grant.Live(now) {
			return sql.ErrNoRows
		}
		first, err := insertRefresh(ctx, tx, t.Grant.ID, r.NewRefresh, millis(now))
		if err != nil {
			return err
		}
		if first {
			if !now.Before(refreshEnd(created)) {
				return sql.ErrNoRows
			}
			t.CreatedAt, t.ExpiresAt = now, now.Add(oauth.AccessLife)
			issued.Token, err = refreshGrant(ctx, tx, t, r)
			return err
		}
		var replaced int64
		if err = get(ctx, tx, `SELECT created_at FROM oauth_refresh WHERE hash = $1`, args{r.NewRefresh},
			&replaced); err != nil {
			return err
		}
		if now.Sub(at(replaced)) <= oauth.RefreshGrace {
			issued.Token, err = tokenByHash(ctx, tx, r.NewAccess)
			return err
		}
		reused = true
		issued.Ended, err = revokeGrantOf(ctx, tx, t.Grant.ID, now)
		return err
	})
	switch {
	case err != nil:
		return oauth.Issued{}, fail("rotate refresh token", "refresh token", err)
	case reused:
		return oauth.Issued{Ended: issued.Ended}, oauth.ErrReused
	}
	return issued, nil
}

// refreshEnd returns the time until which a refresh token created then is accepted. An older one was replaced, because
// its grant would have expired otherwise, but its successor may be pruned already.
func refreshEnd(created int64) time.Time { return at(created).Add(oauth.RefreshIdle) }

// refreshGrant extends a grant and stores its new access token.
func refreshGrant(ctx context.Context, tx querier, t oauth.Token, r oauth.Rotation) (_ oauth.Token, err error) {
	if t.Scopes, t.Resources, err = r.Narrow(t.Grant); err != nil {
		return t, err
	}
	now := t.CreatedAt
	t.Grant.ExpiresAt, t.Grant.LastUsedAt = t.Grant.EndAfter(now), &now
	if _, err = tx.exec(ctx, `UPDATE oauth_grant SET expires_at = $1, last_used_at = $2 WHERE id = $3`,
		millis(t.Grant.ExpiresAt), millis(now), t.Grant.ID); err != nil {
		return t, err
	}
	return t, insertToken(ctx, tx, t, r.NewAccess)
}

// tokenByHash reads an access token with its grant and user.
func tokenByHash(ctx context.Context, q querier, hash []byte) (oauth.Token, error) {
	var grantID, scopes, resources string
	var created, expires int64
	err := get(ctx, q, `
		SELECT grant_id, scopes, resources, created_at, expires_at FROM oauth_token WHERE hash = $1`, args{hash},
		&grantID, &scopes, &resources, &created, &expires)
	if err != nil {
		return oauth.Token{}, err
	}
	t, err := oneGrant(ctx, q, grantID)
	if err != nil {
		return t, err
	}
	var errScopes, errResources error
	t.Scopes, errScopes = decodeList[string](scopes)
	t.Resources, errResources = decodeList[string](resources)
	t.CreatedAt, t.ExpiresAt = at(created), at(expires)
	return t, errors.Join(errScopes, errResources)
}

// AccessToken returns an access token by its hash.
func (db *DB) AccessToken(ctx context.Context, hash []byte) (oauth.Token, error) {
	t, err := tokenByHash(ctx, db.read, hash)
	return t, fail("read access token", "token", err)
}

// RefreshToken returns a refresh token, with its grant and user, unless its successor exists.
func (db *DB) RefreshToken(ctx context.Context, hash, successor []byte) (oauth.Token, error) {
	var created int64
	t, err := grantWith(ctx, db.read, refreshQuery, hash, &created)
	if err != nil {
		return oauth.Token{}, fail("read refresh token", "token", err)
	}
	var replaced bool
	if err := get(ctx, db.read, `SELECT count(*) > 0 FROM oauth_refresh WHERE hash = $1`, args{successor},
		&replaced); err != nil || replaced {
		return oauth.Token{}, fail("read refresh token", "token", cmp.Or(err, sql.ErrNoRows))
	}
	t.Scopes, t.Resources, t.CreatedAt = t.Grant.Scopes, t.Grant.Resources, at(created)
	if t.ExpiresAt = refreshEnd(created); t.Grant.ExpiresAt.Before(t.ExpiresAt) {
		t.ExpiresAt = t.Grant.ExpiresAt
	}
	return t, nil
}

// TokenByHash returns an access token as a key, with its user and the amounts the user has spent and reserved in the
// period. It is one query because it runs before every request.
func (db *DB) TokenByHash(ctx context.Context, hash []byte, period string) (credential.Found, error) {
	if !db.onPostgres() {
		return db.tokenByHash(ctx, hash, period)
	}
	return share(ctx, db, tokenHash{string(hash), period}, func(ctx context.Context) (credential.Found, error) {
		return db.tokenByHash(ctx, hash, period)
	})
}

// tokenHash is the key of a shared lookup.
type tokenHash struct{ hash, period string }

func (db *DB) tokenByHash(ctx context.Context, hash []byte, period string) (credential.Found, error) {
	var u userRow
	var e entitlementRow
	var f credential.Found
	var scopes, resources string
	var created, expires int64
	var revoked, own sql.NullInt64
	k := &f.Key
	err := get(ctx, db.read, `
		SELECT g.id, c.name, t.scopes, t.resources, t.created_at, t.expires_at, g.revoked_at,
			`+joinedUser+`,
			coalesce(b.reserved + b.spent, 0), `+capColumns+`, `+entitlementColumns+`
		FROM oauth_token t
		JOIN oauth_grant g ON g.id = t.grant_id
		JOIN oauth_client c ON c.id = g.client_id
		JOIN app_user u ON u.id = g.user_id
		LEFT JOIN budget b ON b.user_id = g.user_id AND b.period = $1`+capJoin("g.id")+entitlementJoin+`
		WHERE t.hash = $2`, args{period, hash},
		slices.Concat([]any{&k.ID, &k.Name, &scopes, &resources, &created, &expires, &revoked}, u.dest(),
			[]any{&f.Used, &own, &f.CapUsed}, e.dest())...)
	if err != nil {
		return credential.Found{}, fail("read access token", "token", err)
	}
	if f.Entitlement, err = e.value(); err != nil {
		return credential.Found{}, fail("read access token", "token", err)
	}
	f.User, f.Cap = u.value(), optInt64(own)
	granted, err := decodeList[string](scopes)
	if err != nil {
		return credential.Found{}, fail("read access token", "token", err)
	}
	if f.Audience, err = decodeList[string](resources); err != nil {
		return credential.Found{}, fail("read access token", "token", err)
	}
	end := at(expires)
	k.UserID, k.Kind, k.Scopes = f.User.ID, core.CredentialOAuth, oauth.APIScopes(granted)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = at(created), &end, optAt(revoked)
	return f, nil
}
