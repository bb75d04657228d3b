package signin

import (
	"context"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// Limits of invitations.
const (
	// DefaultInvitationDays is the lifetime of an invitation.
	DefaultInvitationDays = 7
	// MaxInvitationDays is its longest lifetime.
	MaxInvitationDays = 30
	// maxInvitations is how many invitations can be open.
	maxInvitations = 200
)

// ErrInvitation is the only error for an invalid invitation code.
var ErrInvitation = core.Unauthenticated(
	"wrong_code",
	"This invitation is unknown, expired, revoked or already used. Ask your administrator for a new one.",
)

// Invitation is an invitation to create an account, without its code.
type Invitation struct {
	ID string
	// Email is the address of the account. If it is empty, the invited person chooses one, which is then not verified.
	Email string
	Role  core.Role
	// Plan is the plan of the account; empty means the default plan.
	Plan string
	// CreatorID and CreatorEmail are empty if the operator created the invitation.
	CreatorID, CreatorEmail string
	CreatedAt, ExpiresAt    time.Time
}

// InvitationStore persists invitations. A missing or expired one is a not_found error, and so is one whose creator may
// no longer give its role.
type InvitationStore interface {
	// InsertAccountInvitation stores an invitation. It is a conflict if the address has an account, or if limit
	// invitations are open.
	InsertAccountInvitation(ctx context.Context, i Invitation, hash []byte, limit int) error
	// AccountInvitations returns the open invitations, newest first.
	AccountInvitations(ctx context.Context, now time.Time) ([]Invitation, error)
	AccountInvitationByHash(ctx context.Context, hash []byte, now time.Time) (Invitation, error)
	DeleteAccountInvitation(ctx context.Context, id string, now time.Time) error
	// RedeemAccountInvitation deletes the invitation and inserts the user in one transaction. Of concurrent calls exactly
	// one succeeds.
	RedeemAccountInvitation(
		ctx context.Context, hash []byte, now time.Time, u account.User, passwordHash string,
	) error
	PruneAccountInvitations(ctx context.Context, before time.Time) error
}

// Invitations issues and redeems invitations to create an account.
type Invitations struct {
	store InvitationStore
	clock core.Clock
	key   []byte
	audit audit.Recorder
}

// NewInvitation describes an invitation. The default role is member, the default lifetime DefaultInvitationDays.
type NewInvitation struct {
	Email, Plan string
	Role        core.Role
	Days        int
}

// Issue creates an invitation and returns its code, which is shown only once. Only the owner and the operator invite
// administrators.
func (s *Invitations) Issue(ctx context.Context, actor core.Actor, n NewInvitation) (Invitation, string, error) {
	now := s.clock.Now()
	if err := actor.AllowFreshSession(core.OpAdmin, now); err != nil {
		return Invitation{}, "", err
	}
	if n.Role == "" {
		n.Role = core.RoleMember
	}
	if err := account.AllowRole(actor, n.Role); err != nil {
		return Invitation{}, "", err
	}
	if n.Days == 0 {
		n.Days = DefaultInvitationDays
	}
	if n.Days < 1 || n.Days > MaxInvitationDays {
		return Invitation{}, "", core.InvalidField("/days", "Must be from 1 to 30.")
	}
	if n.Email != "" {
		var err error
		if n.Email, err = account.ValidEmail(n.Email); err != nil {
			return Invitation{}, "", err
		}
	}
	i := Invitation{
		ID: core.NewIDIn(ctx, core.PrefixInvitation), Email: n.Email, Role: n.Role, Plan: n.Plan,
		CreatedAt: now, ExpiresAt: now.AddDate(0, 0, n.Days),
	}
	if actor.Credential != core.CredentialOperator {
		i.CreatorID = actor.UserID
	}
	code := newCode()
	err := s.store.InsertAccountInvitation(ctx, i, hashCode(s.key, "invitation", PlainCode(code)), maxInvitations)
	if err != nil {
		return Invitation{}, "", err
	}
	s.record(ctx, audit.InvitationCreated, audit.ActorID(actor), i)
	return i, code, nil
}

// List returns the open invitations, newest first.
func (s *Invitations) List(ctx context.Context, actor core.Actor) ([]Invitation, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, err
	}
	return s.store.AccountInvitations(ctx, s.clock.Now())
}

// Revoke deletes an open invitation.
func (s *Invitations) Revoke(ctx context.Context, actor core.Actor, id string) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	if err := s.store.DeleteAccountInvitation(ctx, id, s.clock.Now()); err != nil {
		return err
	}
	s.record(ctx, audit.InvitationRevoked, audit.ActorID(actor), Invitation{ID: id})
	return nil
}

// Find returns the invitation of a typed code. An invalid code is ErrInvitation.
func (s *Invitations) Find(ctx context.Context, typed string) (Invitation, error) {
	plain := PlainCode(typed)
	if !wellFormedCode(plain) {
		return Invitation{}, ErrInvitation
	}
	i, err := s.store.AccountInvitationByHash(ctx, hashCode(s.key, "invitation", plain), s.clock.Now())
	return i, asErrInvitation(err)
}

// Redeem inserts the user of an invitation, which is used up by it.
func (s *Invitations) Redeem(
	ctx context.Context, typed string, i Invitation, u account.User, passwordHash string,
) error {
	hash := hashCode(s.key, "invitation", PlainCode(typed))
	err := s.store.RedeemAccountInvitation(ctx, hash, s.clock.Now(), u, passwordHash)
	if err != nil {
		return asErrInvitation(err)
	}
	s.audit.Note(ctx, audit.Record{
		Event: audit.UserCreated, UserID: u.ID, Actor: u.ID, Detail: map[string]string{"invitation": i.ID},
	})
	return nil
}

func (s *Invitations) record(ctx context.Context, event audit.Event, actor string, i Invitation) {
	detail := map[string]string{"invitation": i.ID}
	if i.Role != "" {
		detail["role"] = string(i.Role)
	}
	s.audit.Note(ctx, audit.Record{Event: event, Actor: actor, Detail: detail})
}

func (s *Invitations) prune(ctx context.Context) error {
	return s.store.PruneAccountInvitations(ctx, s.clock.Now())
}

func asErrInvitation(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return ErrInvitation
	}
	return err
}
