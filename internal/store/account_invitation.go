package store

import (
	"context"
	"database/sql"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// openInvitation is the condition that an invitation has not expired at $1, and that its creator may still give its
// role: administrators invite members, and only the owner invites administrators.
const openInvitation = `account_invitation.expires_at > $1 AND (account_invitation.created_by IS NULL OR EXISTS (
	SELECT 1 FROM app_user c WHERE c.id = account_invitation.created_by AND c.disabled_at IS NULL
		AND c.closing_at IS NULL AND (c.role = 'owner' OR c.role = 'admin' AND account_invitation.role = 'member')))`

const invitationColumns = `account_invitation.id, account_invitation.email, account_invitation.role,
	account_invitation.plan, account_invitation.created_by, u.email, account_invitation.created_at,
	account_invitation.expires_at`

const fromInvitations = ` FROM account_invitation LEFT JOIN app_user u ON u.id = account_invitation.created_by WHERE `

type accountInvitationRow struct {
	invitation       signin.Invitation
	creator, email   sql.NullString
	created, expires int64
}

func (r *accountInvitationRow) dest() []any {
	i := &r.invitation
	return []any{&i.ID, &i.Email, (*string)(&i.Role), &i.Plan, &r.creator, &r.email, &r.created, &r.expires}
}

func (r *accountInvitationRow) value() signin.Invitation {
	i := r.invitation
	i.CreatorID, i.CreatorEmail = r.creator.String, r.email.String
	i.CreatedAt, i.ExpiresAt = at(r.created), at(r.expires)
	return i
}

// InsertAccountInvitation stores an invitation under the hash of its code.
func (db *DB) InsertAccountInvitation(ctx context.Context, i signin.Invitation, hash []byte, limit int) error {
	var creator any
	if i.CreatorID != "" {
		creator = i.CreatorID
	}
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var taken, open int
		err := get(ctx, tx, `SELECT (SELECT count(*) FROM app_user WHERE email = $1),
			(SELECT count(*) FROM account_invitation WHERE expires_at > $2)`,
			args{i.Email, millis(i.CreatedAt)}, &taken, &open)
		switch {
		case err != nil:
			return err
		case taken > 0:
			return emailTaken()
		case open >= limit:
			return core.Conflict("conflict", "Too many invitations are open. Revoke some first.")
		}
		_, err = tx.exec(ctx, `
			INSERT INTO account_invitation (id, hash, email, role, plan, created_by, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			i.ID, hash, i.Email, string(i.Role), i.Plan, creator, millis(i.CreatedAt), millis(i.ExpiresAt))
		return err
	})
	return fail("insert account invitation", "user", err)
}

// AccountInvitations returns the open invitations, newest first.
func (db *DB) AccountInvitations(ctx context.Context, now time.Time) ([]signin.Invitation, error) {
	var r accountInvitationRow
	out := []signin.Invitation{}
	err := db.read.each(ctx, `SELECT `+invitationColumns+fromInvitations+openInvitation+`
		ORDER BY account_invitation.created_at DESC, account_invitation.id DESC`, args{millis(now)}, r.dest(), func() error {
		out = append(out, r.value())
		return nil
	})
	return out, fail("list account invitations", "invitation", err)
}

// AccountInvitationByHash returns an open invitation.
func (db *DB) AccountInvitationByHash(ctx context.Context, hash []byte, now time.Time) (signin.Invitation, error) {
	var r accountInvitationRow
	err := get(ctx, db.read, `SELECT `+invitationColumns+fromInvitations+openInvitation+`
		AND account_invitation.hash = $2`,
		args{millis(now), hash}, r.dest()...)
	if err != nil {
		return signin.Invitation{}, fail("read account invitation", "invitation", err)
	}
	return r.value(), nil
}

// DeleteAccountInvitation deletes an open invitation.
func (db *DB) DeleteAccountInvitation(ctx context.Context, id string, now time.Time) error {
	n, err := db.exec(ctx, `DELETE FROM account_invitation WHERE id = $1 AND expires_at > $2`, id, millis(now))
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return fail("delete account invitation", "invitation", err)
}

// RedeemAccountInvitation replaces an invitation by the account of the invited person. The DELETE matches in one
// transaction only, so an invitation cannot be used twice.
func (db *DB) RedeemAccountInvitation(
	ctx context.Context, hash []byte, now time.Time, u account.User, passwordHash string,
) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var id string
		err := get(ctx, tx, `DELETE FROM account_invitation WHERE `+openInvitation+` AND hash = $2 RETURNING id`,
			args{millis(now), hash}, &id)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, insertUser, userArgs(u, passwordHash)...); err != nil {
			return err
		}
		if !u.EmailVerified {
			return nil // invitations to this address may be meant for another person
		}
		return deliverInvitations(ctx, tx, u)
	})
	if classify(err) == classUnique {
		return emailTaken()
	}
	return fail("redeem account invitation", "invitation", err)
}

// PruneAccountInvitations deletes expired invitations.
func (db *DB) PruneAccountInvitations(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"account_invitation", "id", `expires_at <= $1`}, before, pruneBatch)
	return fail("prune account invitations", "invitation", err)
}
