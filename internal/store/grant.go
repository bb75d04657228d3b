package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/webhook"
)

// agentAccessible is the SQL condition that a user owns an agent or has a grant for it.
func agentAccessible(agentID, userID string) string {
	return `EXISTS (SELECT 1 FROM agent WHERE agent.id = ` + agentID + ` AND (agent.user_id = ` + userID + `
		OR EXISTS (SELECT 1 FROM agent_grant WHERE agent_grant.agent_id = agent.id AND agent_grant.user_id = ` + userID + `)
		OR EXISTS (SELECT 1 FROM agent_grant WHERE agent_grant.agent_id = agent.id AND agent_grant.user_id IS NULL)))`
}

// AgentGrant returns a user's grant for an agent.
func (db *DB) AgentGrant(ctx context.Context, userID, agentID string) (core.Grant, error) {
	key := agentKey{userID, agentID}
	version, known := db.AccessVersion()
	if g, ok := db.cachedGrants.get(version, known, key); ok {
		return g, nil
	}
	return cached(ctx, db, &db.cachedGrants, version, known, key, func(ctx context.Context) (core.Grant, error) {
		g, err := agentGrant(ctx, db.read, userID, agentID)
		return g, fail("find agent", "agent", err)
	})
}

type agentKey struct{ userID, agentID string }

// grantRoles selects the role of user $1 for an agent and the role of all users.
const grantRoles = `(SELECT role FROM agent_grant WHERE agent_id = agent.id AND user_id = $1),
	(SELECT role FROM agent_grant WHERE agent_id = agent.id AND user_id IS NULL)`

// agentGrant returns a user's grant for an agent. Without one, the error is sql.ErrNoRows.
func agentGrant(ctx context.Context, q querier, userID, agentID string) (core.Grant, error) {
	var owner string
	var own, all sql.NullString
	err := get(ctx, q, `SELECT user_id, `+grantRoles+` FROM agent WHERE id = $2`, args{userID, agentID},
		&owner, &own, &all)
	if err != nil {
		return core.GrantNone, err
	}
	return highestGrant(userID, owner, own, all)
}

// highestGrant returns the grant of the owner, or else the higher of the user's own and that of all users. Without
// either, the error is sql.ErrNoRows.
func highestGrant(userID, owner string, own, all sql.NullString) (core.Grant, error) {
	if owner == userID {
		return core.GrantOwner, nil
	}
	mine, _ := core.GrantOf(own.String)
	everybody, _ := core.GrantOf(all.String)
	if g := max(mine, everybody); g != core.GrantNone {
		return g, nil
	}
	return core.GrantNone, sql.ErrNoRows
}

// requireAgentOwner returns not_found unless the user owns the agent.
func requireAgentOwner(ctx context.Context, q querier, userID, agentID string) error {
	var one int
	err := get(ctx, q, `SELECT 1 FROM agent WHERE user_id = $1 AND id = $2`, args{userID, agentID}, &one)
	return fail("find agent", "agent", err)
}

// requireAgentAccess returns not_found unless the user has access to the agent.
func requireAgentAccess(ctx context.Context, q querier, userID, agentID string) error {
	_, err := agentGrant(ctx, q, userID, agentID)
	return fail("find agent", "agent", err)
}

// sharedWith returns the grants of the agents of others that are shared with a user, by agent id: the last n grants to
// the user and the last n to all users, of agents with an id below before. These include the last n agents.
func (db *DB) sharedWith(
	ctx context.Context, userID string, only []string, before string, n int,
) (map[string]core.Grant, error) {
	var id, role string
	grants := map[string]core.Grant{}
	c := conditions{args: args{userID, before, n}}
	page := ` AND agent_id < $2
			AND NOT EXISTS (SELECT 1 FROM agent WHERE agent.id = agent_id AND agent.user_id = $1)`
	if len(only) > 0 {
		page += ` AND agent_id IN ` + db.dialect.in(c.param(encodeList(only)))
	}
	page += ` ORDER BY agent_id DESC LIMIT $3 + 0`
	err := db.read.each(ctx, `
		SELECT * FROM (SELECT agent_id, role FROM agent_grant WHERE user_id = $1`+page+`) AS personal
		UNION ALL
		SELECT * FROM (SELECT agent_id, role FROM agent_grant WHERE user_id IS NULL`+page+`) AS general`,
		c.args, []any{&id, &role}, func() error {
			g, _ := core.GrantOf(role)
			grants[id] = max(grants[id], g)
			return nil
		})
	return grants, err
}

// Shares returns the grants of an agent, the grant to all users first, then the open invitations, oldest first.
func (db *DB) Shares(ctx context.Context, agentID string) ([]agent.Share, error) {
	var s agent.Share
	var role string
	var created int64
	shares := []agent.Share{}
	dest := []any{&s.UserID, &s.Name, &s.Email, &s.Invitee, &role, &created}
	add := func() error {
		s.Grant, _ = core.GrantOf(role)
		s.CreatedAt = at(created)
		shares = append(shares, s)
		return nil
	}
	err := db.read.each(ctx, `
		SELECT coalesce(g.user_id, ''), coalesce(u.name, ''), coalesce(u.email, ''), '', g.role, g.created_at
		FROM agent_grant g LEFT JOIN app_user u ON u.id = g.user_id WHERE g.agent_id = $1`, args{agentID}, dest, add)
	if err == nil {
		// Declined invitations are listed like open ones, and no account data is read: the owner must not learn whether
		// the invitee has an account.
		err = db.read.each(ctx, `
			SELECT '', '', '', invitee, role, created_at FROM agent_invitation WHERE agent_id = $1`,
			args{agentID}, dest, add)
	}
	if err != nil {
		return nil, fail("list the shares of an agent", "agent", err)
	}
	slices.SortFunc(shares, func(a, b agent.Share) int {
		switch {
		case a.Pending() != b.Pending():
			return cmp.Compare(len(a.Invitee), len(b.Invitee)) // grants have no invitee
		case a.Pending():
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Invitee, b.Invitee))
		}
		return strings.Compare(a.UserID, b.UserID)
	})
	return shares, nil
}

// ShareWithAll sets the grant to all users.
func (db *DB) ShareWithAll(ctx context.Context, agentID string, g core.Grant, now time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		event := webhook.EventShareChanged
		n, err := tx.exec(ctx, `UPDATE agent_grant SET role = $1 WHERE agent_id = $2 AND user_id IS NULL`,
			g.String(), agentID)
		if err == nil && n == 0 {
			event = webhook.EventShareCreated
			_, err = tx.exec(ctx, `
				INSERT INTO agent_grant (agent_id, user_id, role, created_at) VALUES ($1, NULL, $2, $3)
				ON CONFLICT (agent_id) WHERE user_id IS NULL DO UPDATE SET role = excluded.role`,
				agentID, g.String(), millis(now))
		}
		if err != nil {
			return err
		}
		return db.announceShare(ctx, tx, event, now, webhook.Share{
			AgentID: agentID, Status: webhook.ShareAccepted, Grant: g.String(), Everybody: true,
		})
	})
	return fail("share agent", "agent", err)
}

// DeleteShareWithAll deletes the grant to all users.
func (db *DB) DeleteShareWithAll(ctx context.Context, agentID string, now time.Time) error {
	var n int64
	err := db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		n, err = tx.exec(ctx, `DELETE FROM agent_grant WHERE agent_id = $1 AND user_id IS NULL`, agentID)
		if err != nil || n == 0 {
			return err
		}
		return db.announceShare(ctx, tx, webhook.EventShareRevoked, now,
			webhook.Share{AgentID: agentID, Status: webhook.ShareRevoked, Everybody: true})
	})
	return requireRow("end a share", "grant", n, err)
}

// DeleteShare deletes the grant and the invitation of an e-mail address or account id. It returns the id of the account
// that had the grant.
func (db *DB) DeleteShare(ctx context.Context, agentID, invitee string, now time.Time) (userID string, err error) {
	var rows int64
	err = db.inTx(ctx, func(ctx context.Context, tx querier) (err error) {
		// The invitation comes first: if it is being accepted, the statement waits, and the grant exists afterwards.
		rows, err = tx.exec(ctx, `DELETE FROM agent_invitation WHERE agent_id = $1 AND invitee = $2`, agentID, invitee)
		if err != nil {
			return err
		}
		userID, err = returnedID(ctx, tx,
			`DELETE FROM agent_grant WHERE agent_id = $1 AND user_id = `+accountOf(invitee, "$2")+` RETURNING user_id`,
			agentID, invitee)
		if userID != "" {
			rows++
		}
		if err != nil || rows == 0 {
			return err
		}
		return db.announceShare(ctx, tx, webhook.EventShareRevoked, now,
			webhook.Share{AgentID: agentID, Status: webhook.ShareRevoked, UserID: userID})
	})
	return userID, requireRow("end a share", "grant", rows, err)
}

// returnedID runs a statement that returns the id of the row it changed, and returns "" if it changed none.
func returnedID(ctx context.Context, tx querier, statement string, a ...any) (string, error) {
	ids, err := readIDs(ctx, tx, statement, a)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}
