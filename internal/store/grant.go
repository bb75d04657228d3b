package store

import (
	"context"
	"database/sql"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
)

// reached is the condition that an agent, found by its id, is a user's own or shared with them.
func reached(agentID, userID string) string {
	return `EXISTS (SELECT 1 FROM agent WHERE agent.id = ` + agentID + ` AND (agent.user_id = ` + userID + `
		OR EXISTS (SELECT 1 FROM agent_grant WHERE agent_grant.agent_id = agent.id AND agent_grant.user_id = ` + userID + `)
		OR EXISTS (SELECT 1 FROM agent_grant WHERE agent_grant.agent_id = agent.id AND agent_grant.user_id IS NULL)))`
}

// AgentGrant returns what a user may do with an agent.
func (db *DB) AgentGrant(ctx context.Context, userID, agentID string) (core.Grant, error) {
	return remember(db, agentKey{userID, agentID}, func() (core.Grant, error) {
		g, err := agentGrant(ctx, db.read, userID, agentID)
		return g, fail("find agent", "agent", err)
	})
}

type agentKey struct{ userID, agentID string }

// agentGrant reads what a user may do with an agent: the better of what they and what everybody was given. Nothing is
// sql.ErrNoRows.
func agentGrant(ctx context.Context, q querier, userID, agentID string) (core.Grant, error) {
	var owner string
	var own, all sql.NullString
	err := get(ctx, q, `
		SELECT user_id, (SELECT role FROM agent_grant WHERE agent_id = agent.id AND user_id = $1),
			(SELECT role FROM agent_grant WHERE agent_id = agent.id AND user_id IS NULL)
		FROM agent WHERE id = $2`, args{userID, agentID}, &owner, &own, &all)
	if err != nil {
		return core.GrantNone, err
	}
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

// ownsAgent returns nil when the agent is the user's own.
func ownsAgent(ctx context.Context, q querier, userID, agentID string) error {
	var one int
	err := get(ctx, q, `SELECT 1 FROM agent WHERE user_id = $1 AND id = $2`, args{userID, agentID}, &one)
	return fail("find agent", "agent", err)
}

// hasAgent returns nil when the agent is there for the user.
func hasAgent(ctx context.Context, q querier, userID, agentID string) error {
	_, err := agentGrant(ctx, q, userID, agentID)
	return fail("find agent", "agent", err)
}

// sharedWith returns the agents that others share with a user, and what for.
func (db *DB) sharedWith(ctx context.Context, userID string) (map[string]core.Grant, error) {
	var id, role string
	grants := map[string]core.Grant{}
	err := db.read.each(ctx, `
		SELECT agent_id, role FROM agent_grant WHERE user_id = $1
		UNION ALL
		SELECT agent_id, role FROM agent_grant WHERE user_id IS NULL`, args{userID}, []any{&id, &role}, func() error {
		g, _ := core.GrantOf(role)
		grants[id] = max(grants[id], g)
		return nil
	})
	return grants, err
}

// Shares returns whom an agent is shared with: everybody first, then people by their id.
func (db *DB) Shares(ctx context.Context, agentID string) ([]agent.Share, error) {
	var s agent.Share
	var role string
	var created int64
	shares := []agent.Share{}
	err := db.read.each(ctx, `
		SELECT coalesce(g.user_id, ''), coalesce(u.name, ''), coalesce(u.email, ''), g.role, g.created_at
		FROM agent_grant g LEFT JOIN app_user u ON u.id = g.user_id WHERE g.agent_id = $1 ORDER BY 1`, args{agentID},
		[]any{&s.UserID, &s.Name, &s.Email, &role, &created}, func() error {
			s.Grant, _ = core.GrantOf(role)
			s.CreatedAt = at(created)
			shares = append(shares, s)
			return nil
		})
	if err != nil {
		return nil, fail("list whom an agent is shared with", "agent", err)
	}
	return shares, nil
}

// UserIDByEmail returns whose address this is.
func (db *DB) UserIDByEmail(ctx context.Context, email string) (id string, err error) {
	err = get(ctx, db.read, `SELECT id FROM app_user WHERE email = $1`, args{account.NormalEmail(email)}, &id)
	return id, fail("find a user by address", "user", err)
}

// PutShare shares an agent with somebody, or with everybody, in place of what they had.
func (db *DB) PutShare(ctx context.Context, agentID string, s agent.Share) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		if _, err := dropShare(ctx, tx, agentID, s.UserID); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `INSERT INTO agent_grant (agent_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)`,
			agentID, optText(s.UserID), s.Grant.String(), millis(s.CreatedAt))
		return err
	})
	return fail("share agent", "user", err)
}

// DeleteShare ends it.
func (db *DB) DeleteShare(ctx context.Context, agentID, userID string) error {
	var n int64
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) (err error) {
		n, err = dropShare(ctx, tx, agentID, userID)
		return err
	})
	return changed("end a share", "grant", n, err)
}

func dropShare(ctx context.Context, tx querier, agentID, userID string) (int64, error) {
	if userID == "" {
		return tx.exec(ctx, `DELETE FROM agent_grant WHERE agent_id = $1 AND user_id IS NULL`, agentID)
	}
	return tx.exec(ctx, `DELETE FROM agent_grant WHERE agent_id = $1 AND user_id = $2`, agentID, userID)
}
