package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/webhook"
)

// accountOf returns a subquery for the account with the e-mail address or account id in param. Only the syntax of the
// invitee decides which column is compared. Unverified addresses do not match: otherwise a user could enter another
// person's address and receive their invitations.
func accountOf(invitee, param string) string {
	if strings.Contains(invitee, "@") {
		return `(SELECT id FROM app_user WHERE email = ` + param + ` AND email_verified = 1)`
	}
	return `(SELECT id FROM app_user WHERE id = ` + param + `)`
}

// Offer changes the account's existing grant and returns the account's id, or else creates or changes an invitation. An
// invitation runs the same statements whether or not the invitee has an account, so that the owner cannot tell.
func (db *DB) Offer(
	ctx context.Context, ownerID, agentID string, o agent.Offer, limit int,
) (userID string, err error) {
	invited := accountOf(o.Invitee, "$2")
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		userID = "" // the transaction may be retried
		// The lock serializes the counting of the owner's invitations.
		var address string
		if err := get(ctx, tx, `SELECT email FROM app_user WHERE id = $1`+db.dialect.lock, args{ownerID},
			&address); err != nil {
			return err
		}
		if o.Invitee == address {
			return agent.OwnAgent()
		}
		// The invitation comes first: if it is being accepted, the statement waits, and the grant exists afterwards.
		n, err := tx.exec(ctx, `
			UPDATE agent_invitation SET role = $3, user_id = coalesce(user_id, `+invited+`)
			WHERE agent_id = $1 AND invitee = $2`, agentID, o.Invitee, o.Grant.String())
		share := webhook.Share{AgentID: agentID, Status: webhook.SharePending, Grant: o.Grant.String()}
		if n > 0 && err == nil {
			return db.announceShare(ctx, tx, webhook.EventShareChanged, o.At, share)
		}
		if err != nil {
			return err
		}
		userID, err = returnedID(ctx, tx,
			`UPDATE agent_grant SET role = $3 WHERE agent_id = $1 AND user_id = `+invited+` RETURNING user_id`,
			agentID, o.Invitee, o.Grant.String())
		if userID != "" && err == nil {
			share.Status, share.UserID = webhook.ShareAccepted, userID
			return db.announceShare(ctx, tx, webhook.EventShareChanged, o.At, share)
		}
		if err != nil {
			return err
		}
		if err := checkInvitationLimit(ctx, tx, ownerID, limit); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			INSERT INTO agent_invitation (agent_id, invitee, user_id, role, created_at) VALUES ($1, $2, `+invited+`, $3, $4)`,
			agentID, o.Invitee, o.Grant.String(), millis(o.At))
		if err != nil {
			return err
		}
		return db.announceShare(ctx, tx, webhook.EventShareCreated, o.At, share)
	})
	return userID, fail("share agent", "agent", err)
}

// checkInvitationLimit returns a conflict if the owner has too many open invitations. Declined ones count, because the
// owner must not learn that they were declined.
func checkInvitationLimit(ctx context.Context, tx querier, ownerID string, limit int) error {
	var open int
	err := get(ctx, tx, `SELECT count(*) FROM agent a JOIN agent_invitation i ON i.agent_id = a.id WHERE a.user_id = $1`,
		args{ownerID}, &open)
	if err == nil && open >= limit {
		return core.Conflict("conflict",
			fmt.Sprintf("This account has %d open invitations. Withdraw one first.", limit))
	}
	return err
}

// deliverInvitations assigns the invitations to a new account's address. The address was set by an administrator or by
// the sign-in provider. An address that a user enters later is unverified and receives no invitations, otherwise users
// could read invitations to other people.
func deliverInvitations(ctx context.Context, tx querier, u account.User) error {
	_, err := tx.exec(ctx, `UPDATE agent_invitation SET user_id = $1 WHERE invitee = $2 AND user_id IS NULL`,
		u.ID, u.Email)
	return err
}

// answerable is the condition that the user $1 may see and answer an invitation i to an agent a: it is open, and the
// user did not decline another invitation of the same owner between $2 and its creation.
const answerable = `i.user_id = $1 AND i.declined_at IS NULL AND NOT EXISTS (
	SELECT 1 FROM invitation_decline d
	WHERE d.user_id = i.user_id AND d.owner_id = a.user_id AND d.declined_at > $2 AND d.declined_at <= i.created_at)`

// maxInvitations limits the list of a user's invitations.
const maxInvitations = 200

// Invitations returns the open invitations of a user, newest first.
func (db *DB) Invitations(ctx context.Context, userID string, held time.Time) ([]agent.Invitation, error) {
	var i agent.Invitation
	var role string
	var created int64
	invitations := []agent.Invitation{}
	place := map[string]int{}
	err := db.read.each(ctx, `
		SELECT i.agent_id, a.name, a.description, i.role, o.name, o.email, i.created_at
		FROM agent_invitation i JOIN agent a ON a.id = i.agent_id JOIN app_user o ON o.id = a.user_id
		WHERE `+answerable+` AND o.disabled_at IS NULL
		ORDER BY i.created_at DESC, i.agent_id DESC LIMIT $3 + 0`, args{userID, millis(held), maxInvitations},
		[]any{&i.AgentID, &i.Name, &i.Description, &role, &i.OwnerName, &i.OwnerEmail, &created}, func() error {
			i.Grant, _ = core.GrantOf(role)
			i.CreatedAt = at(created)
			if n, twice := place[i.AgentID]; twice { // invited by address and by id
				invitations[n].Grant = max(invitations[n].Grant, i.Grant)
				return nil
			}
			place[i.AgentID] = len(invitations)
			invitations = append(invitations, i)
			return nil
		})
	if err != nil {
		return nil, fail("list invitations", "user", err)
	}
	return invitations, nil
}

// AcceptInvitation turns an invitation into a grant, which it returns.
func (db *DB) AcceptInvitation(
	ctx context.Context, userID, agentID string, held, now time.Time,
) (grant core.Grant, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var role string
		grant = core.GrantNone // the transaction may be retried
		err := tx.each(ctx, `
			DELETE FROM agent_invitation WHERE agent_id = $3 AND user_id = $1 AND EXISTS (
				SELECT 1 FROM agent_invitation i JOIN agent a ON a.id = i.agent_id WHERE i.agent_id = $3 AND `+answerable+`)
			RETURNING role`, args{userID, millis(held), agentID}, []any{&role}, func() error {
			g, _ := core.GrantOf(role)
			grant = max(grant, g)
			return nil
		})
		if err != nil {
			return err
		}
		if grant == core.GrantNone {
			return sql.ErrNoRows
		}
		_, err = tx.exec(ctx, `
			INSERT INTO agent_grant (agent_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (agent_id, user_id) DO UPDATE SET role = excluded.role`, agentID, userID, grant.String(), millis(now))
		if err != nil {
			return err
		}
		return db.announceShare(ctx, tx, webhook.EventShareAccepted, now, webhook.Share{
			AgentID: agentID, Status: webhook.ShareAccepted, Grant: grant.String(), UserID: userID,
		})
	})
	return grant, fail("accept an invitation", "invitation", err)
}

// DeclineInvitation declines an invitation and deletes the user's grant. The invitation stays in the owner's list. It
// returns the id of the owner if a grant was deleted.
func (db *DB) DeclineInvitation(
	ctx context.Context, userID, agentID string, held, now time.Time,
) (ownerID string, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		declined, err := tx.exec(ctx, `
			UPDATE agent_invitation SET declined_at = $4 WHERE agent_id = $3 AND user_id = $1 AND EXISTS (
				SELECT 1 FROM agent_invitation i JOIN agent a ON a.id = i.agent_id WHERE i.agent_id = $3 AND `+answerable+`)`,
			userID, millis(held), agentID, millis(now))
		if err != nil {
			return err
		}
		ownerID, err = returnedID(ctx, tx, `
			DELETE FROM agent_grant WHERE agent_id = $1 AND user_id = $2
			RETURNING (SELECT user_id FROM agent WHERE id = $1)`, agentID, userID)
		if err != nil {
			return err
		}
		if declined == 0 && ownerID == "" {
			return sql.ErrNoRows
		}
		_, err = tx.exec(ctx, `
			INSERT INTO invitation_decline (user_id, owner_id, declined_at) SELECT $1, user_id, $2 FROM agent WHERE id = $3
			ON CONFLICT (user_id, owner_id) DO UPDATE SET declined_at = excluded.declined_at`, userID, millis(now), agentID)
		if err != nil || ownerID == "" {
			return err // a declined invitation is not announced, because the owner must not learn of it
		}
		return db.announceShare(ctx, tx, webhook.EventShareRevoked, now,
			webhook.Share{AgentID: agentID, Status: webhook.ShareRevoked, UserID: userID})
	})
	return ownerID, fail("decline an invitation", "invitation", err)
}
