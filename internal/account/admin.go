package account

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// AdminStore reads and changes users on behalf of administrators.
type AdminStore interface {
	UserByEmail(ctx context.Context, email string) (User, error)
	Users(ctx context.Context) ([]User, error)
	// UsersBefore returns up to n users whose name or address contains words, newest first, starting after the user
	// with the id before. An empty before starts with the newest.
	UsersBefore(ctx context.Context, words, before string, n int) ([]User, error)
	// AdjustUser passes the user to change and stores its address, role, cap and DisabledAt afterwards, in one
	// transaction.
	AdjustUser(ctx context.Context, userID string, change func(*User) error) (User, error)
	DisableUser(ctx context.Context, userID string, at time.Time) error
	SetSpendCap(ctx context.Context, userID string, spendCap *int64) error
}

// Get returns an account to an administrator.
func (s *Service) Get(ctx context.Context, actor core.Actor, userID string) (User, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return User{}, err
	}
	return s.store.UserByID(ctx, userID)
}

// ByEmail returns the account with an address.
func (s *Service) ByEmail(ctx context.Context, actor core.Actor, email string) (User, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return User{}, err
	}
	return s.store.UserByEmail(ctx, NormalEmail(email))
}

// List returns all users, oldest first.
func (s *Service) List(ctx context.Context, actor core.Actor) ([]User, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, err
	}
	return s.store.Users(ctx)
}

// maxWords is the maximum length of a user search, in code points.
const maxWords = 200

// Search returns one page of the accounts whose name or address contains words, newest first, and the next cursor.
func (s *Service) Search(ctx context.Context, actor core.Actor, words string, page core.Page) ([]User, string, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor("users", page.Cursor)
	if err != nil {
		return nil, "", err
	}
	words, detail := core.TextRule{Max: maxWords}.Clean(words)
	if detail != "" {
		return nil, "", core.InvalidField("q", detail)
	}
	users, err := s.store.UsersBefore(ctx, words, before, rows+1)
	if err != nil || len(users) <= rows {
		return users, "", err
	}
	return users[:rows], core.EncodeCursor("users", users[rows-1].ID), nil
}

// Disable blocks a user: all credentials of the account are rejected from the next request on.
func (s *Service) Disable(ctx context.Context, actor core.Actor, userID string) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	return s.store.DisableUser(ctx, userID, s.clock.Now())
}

// SetSpendCap sets the monthly spend cap of a user in micro-dollars; nil removes it.
func (s *Service) SetSpendCap(ctx context.Context, actor core.Actor, userID string, micros *int64) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	if micros != nil && *micros < 0 {
		return core.InvalidField("/cap", "Must not be negative.")
	}
	return s.store.SetSpendCap(ctx, userID, micros)
}

// Adjustment is a change to an account by an administrator; nil fields stay unchanged.
type Adjustment struct {
	// Email becomes the verified address: the administrator vouches for it.
	Email    *string
	Role     *core.Role
	Disabled *bool
	// SpendCap points to the new cap. A pointer to nil removes the cap.
	SpendCap **int64
}

// Adjust changes an account. The owner cannot be changed, administrators cannot change their own address, role or
// disabled state, and only the owner appoints administrators; otherwise one administrator could take over the
// installation. Addresses and roles require a fresh session, because an API key could use them to gain an
// administrator's account.
func (s *Service) Adjust(ctx context.Context, actor core.Actor, userID string, a Adjustment) (User, error) {
	allow := actor.AllowProved
	if a.Email != nil || a.Role != nil {
		allow = actor.AllowFreshSession
	}
	if err := allow(core.OpAdmin, s.clock.Now()); err != nil {
		return User{}, err
	}
	if a.Email != nil {
		email := NormalEmail(*a.Email)
		if detail := checkEmail(email); detail != "" {
			return User{}, core.InvalidField("/email", detail)
		}
		a.Email = &email
	}
	if a.SpendCap != nil && *a.SpendCap != nil && **a.SpendCap < 0 {
		return User{}, core.InvalidField("/spendCapMicros", "Must not be negative.")
	}
	if a.Role != nil && *a.Role != core.RoleAdmin && *a.Role != core.RoleMember {
		return User{}, core.InvalidField("/role", "Must be admin or member.")
	}
	u, err := s.store.AdjustUser(ctx, userID, func(u *User) error {
		if a.Email != nil || a.Role != nil || a.Disabled != nil {
			if err := allowAdjust(actor, *u, a); err != nil {
				return err
			}
		}
		a.apply(u, s.clock.Now())
		return nil
	})
	if err != nil {
		return User{}, err
	}
	s.recordAdjustment(ctx, actor, userID, a)
	return u, nil
}

// allowAdjust decides whether the actor may change the address, role or disabled state of a user.
func allowAdjust(actor core.Actor, u User, a Adjustment) error {
	operator := actor.Credential == core.CredentialOperator
	switch {
	case operator && a.Role == nil && a.Disabled == nil:
		return nil
	case u.Role == core.RoleOwner:
		return core.Conflict("conflict", "The owner's account cannot be changed.")
	case u.ID == actor.UserID && a.Email != nil:
		return core.Conflict("conflict", "Change your own e-mail address with PATCH /api/account.")
	case u.ID == actor.UserID:
		return core.Conflict("conflict", "You cannot change your own role or disable yourself. Ask another administrator.")
	case actor.Role != core.RoleOwner && !operator && (a.Role != nil || u.Role == core.RoleAdmin):
		return core.Forbidden("forbidden", "Only the owner can appoint, change or disable administrators.")
	}
	return nil
}

// ForReset returns an account whose password the actor may reset. The rules of Adjust apply: otherwise an
// administrator could take over the account of the owner or of another administrator.
func (s *Service) ForReset(ctx context.Context, actor core.Actor, userID string) (User, error) {
	if err := actor.AllowFreshSession(core.OpAdmin, s.clock.Now()); err != nil {
		return User{}, err
	}
	u, err := s.store.UserByID(ctx, userID)
	if err != nil {
		return User{}, err
	}
	switch {
	case actor.Credential == core.CredentialOperator:
		return u, nil
	case u.ID == actor.UserID:
		return User{}, core.Conflict("conflict", "Change your own password with PUT /api/account/password.")
	case u.Role == core.RoleOwner:
		return User{}, core.Conflict("conflict", "The owner's password is reset with carrel admin user reset.")
	case u.Role == core.RoleAdmin && actor.Role != core.RoleOwner:
		return User{}, core.Forbidden("forbidden", "Only the owner can reset the password of an administrator.")
	}
	return u, nil
}

func (a Adjustment) apply(u *User, now time.Time) {
	if a.Email != nil {
		u.Email, u.EmailVerified, u.PendingEmail = *a.Email, true, ""
	}
	if a.Role != nil {
		u.Role = *a.Role
	}
	if a.SpendCap != nil {
		u.SpendCap = *a.SpendCap
	}
	switch {
	case a.Disabled == nil:
	case !*a.Disabled:
		u.DisabledAt = nil
	case u.DisabledAt == nil:
		u.DisabledAt = &now
	}
}

func (s *Service) recordAdjustment(ctx context.Context, actor core.Actor, userID string, a Adjustment) {
	record := func(event audit.Event, detail map[string]string) {
		s.audit.Note(ctx, audit.Record{Event: event, UserID: userID, Actor: audit.ActorID(actor), Detail: detail})
	}
	if a.Email != nil {
		record(audit.EmailChanged, nil)
	}
	if a.Role != nil {
		record(audit.RoleChanged, map[string]string{"role": string(*a.Role)})
	}
	if a.SpendCap != nil {
		record(audit.CapChanged, nil)
	}
	if a.Disabled != nil && *a.Disabled {
		record(audit.UserDisabled, nil)
	} else if a.Disabled != nil {
		record(audit.UserEnabled, nil)
	}
}
