package account

import (
	"context"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// UserChange is the stored form of a user's change to their own account; nil fields stay unchanged.
type UserChange struct {
	Name *string
	// Email replaces the address, marks it as unverified and clears PendingEmail.
	Email *string
	// PendingEmail becomes the requested address; "" withdraws the request.
	PendingEmail *string
}

// Profile returns the account of the actor.
func (s *Service) Profile(ctx context.Context, actor core.Actor) (User, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return User{}, err
	}
	return s.store.UserByID(ctx, actor.UserID)
}

// ProfileChange is a change to the actor's own account; nil fields stay unchanged.
type ProfileChange struct {
	Name, Email *string
}

// ChangeProfile changes the account of the actor. The address is the sign-in name, so a change requires a fresh
// session. It takes effect at once for administrators, who can see all accounts anyway. The address a member asks for
// becomes PendingEmail without a lookup, so the reply does not reveal whether it belongs to another account.
func (s *Service) ChangeProfile(ctx context.Context, actor core.Actor, c ProfileChange) (User, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return User{}, err
	}
	before, err := s.store.UserByID(ctx, actor.UserID)
	if err != nil {
		return User{}, err
	}
	change, err := c.diff(before)
	if err != nil {
		return User{}, err
	}
	if change.Email != nil || change.PendingEmail != nil {
		if err := actor.AllowFreshSession(core.OpAccount, s.clock.Now()); err != nil {
			return User{}, err
		}
	}
	if change == (UserChange{}) {
		return before, nil
	}
	after, err := s.store.ChangeUser(ctx, actor.UserID, change)
	if err != nil {
		return User{}, err
	}
	s.recordChange(ctx, actor, change)
	return after, nil
}

// recordChange records the names of the changed fields, not their values: the audit log outlives the account.
func (s *Service) recordChange(ctx context.Context, actor core.Actor, c UserChange) {
	for _, changed := range []struct {
		field *string
		event audit.Event
	}{{c.Name, audit.NameChanged}, {c.Email, audit.EmailChanged}, {c.PendingEmail, audit.EmailRequested}} {
		if changed.field != nil {
			s.audit.Note(ctx, audit.Record{Event: changed.event, UserID: actor.UserID, Actor: actor.CredentialID})
		}
	}
}

// diff validates and normalizes the change and drops fields that equal the current values.
func (c ProfileChange) diff(before User) (UserChange, error) {
	var out UserChange
	var bad []core.FieldError
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		if detail := checkName(name); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
		}
		out.Name = ifChanged(name, before.Name)
	}
	if c.Email != nil {
		email := NormalEmail(*c.Email)
		if detail := checkEmail(email); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/email", Detail: detail})
		}
		switch {
		case before.Role.Administers():
			out.Email = ifChanged(email, before.Email)
		case email == before.Email:
			out.PendingEmail = ifChanged("", before.PendingEmail) // withdraws an open request
		default:
			out.PendingEmail = ifChanged(email, before.PendingEmail)
		}
	}
	if bad != nil {
		return UserChange{}, core.Invalid(bad...)
	}
	return out, nil
}

// ifChanged returns nil when the value equals the one before.
func ifChanged(value, before string) *string {
	if value == before {
		return nil
	}
	return &value
}
