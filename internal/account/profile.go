package account

import (
	"context"
	"net/mail"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ProfileStore keeps what people say of themselves. A missing user is not_found.
type ProfileStore interface {
	UserByID(ctx context.Context, userID string) (User, error)
	// ChangeUser sets what is given. An address that is taken is a conflict.
	ChangeUser(ctx context.Context, userID string, c UserChange) (User, error)
}

// UserChange is what a store changes of a user; nil leaves a field as it is.
type UserChange struct {
	Name *string
	// Email becomes the address, which then counts as chosen by its user. It ends a request for another one.
	Email *string
	// PendingEmail becomes the address that waits for an administrator; empty ends a request.
	PendingEmail *string
}

// Recorder writes down what happens to accounts. What has happened can't be undone, so it has no error.
type Recorder interface {
	Note(ctx context.Context, r audit.Record)
}

// Profiles is where people see and change what is known of them.
type Profiles struct {
	store    ProfileStore
	clock    core.Clock
	recorder Recorder
}

// NewProfiles returns profiles on this store.
func NewProfiles(store ProfileStore, clock core.Clock, recorder Recorder) *Profiles {
	return &Profiles{store: store, clock: clock, recorder: recorder}
}

// Get returns the account that the actor acts for.
func (p *Profiles) Get(ctx context.Context, actor core.Actor) (User, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return User{}, err
	}
	return p.store.UserByID(ctx, actor.UserID)
}

// ProfileChange is what to change of a profile; nil leaves something as it is.
type ProfileChange struct {
	Name, Email *string
}

// Change changes the actor's own account. The address takes a session with a recent proof: it is what the account is
// signed in with. Administrators, who see all accounts, change theirs at once. The address that a member asks for waits
// for an administrator and is not looked up, so that the reply is the same whether it has an account or not.
func (p *Profiles) Change(ctx context.Context, actor core.Actor, c ProfileChange) (User, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return User{}, err
	}
	before, err := p.store.UserByID(ctx, actor.UserID)
	if err != nil {
		return User{}, err
	}
	change, err := c.of(before)
	if err != nil {
		return User{}, err
	}
	if change.Email != nil || change.PendingEmail != nil {
		if err := actor.AllowFreshSession(core.OpAccount, p.clock.Now()); err != nil {
			return User{}, err
		}
	}
	if change == (UserChange{}) {
		return before, nil
	}
	after, err := p.store.ChangeUser(ctx, actor.UserID, change)
	if err != nil {
		return User{}, err
	}
	p.note(ctx, actor, change)
	return after, nil
}

// note writes down which fields changed, never what they hold: the log outlives the account.
func (p *Profiles) note(ctx context.Context, actor core.Actor, c UserChange) {
	for _, changed := range []struct {
		field *string
		event audit.Event
	}{{c.Name, audit.NameChanged}, {c.Email, audit.EmailChanged}, {c.PendingEmail, audit.EmailRequested}} {
		if changed.field != nil {
			p.recorder.Note(ctx, audit.Record{Event: changed.event, UserID: actor.UserID, Actor: actor.CredentialID})
		}
	}
}

// of returns what to store: the fields in the form in which they are kept, without those that change nothing.
func (c ProfileChange) of(before User) (UserChange, error) {
	var out UserChange
	var bad []core.FieldError
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		if detail := checkName(name); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
		}
		out.Name = changed(name, before.Name)
	}
	if c.Email != nil {
		email := NormalEmail(*c.Email)
		if detail := checkEmail(email); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/email", Detail: detail})
		}
		switch {
		case before.Role.Administers():
			out.Email = changed(email, before.Email)
		case email == before.Email:
			out.PendingEmail = changed("", before.PendingEmail) // they stay with the address that they have
		default:
			out.PendingEmail = changed(email, before.PendingEmail)
		}
	}
	if bad != nil {
		return UserChange{}, core.Invalid(bad...)
	}
	return out, nil
}

// changed returns what is new, or nil for what is as it was.
func changed(now, before string) *string {
	if now == before {
		return nil
	}
	return &now
}

func checkName(name string) string { return core.TextRule{Min: 1, Max: 200}.Check(name) }

func checkEmail(email string) string {
	if addr, err := mail.ParseAddress(email); err != nil || addr.Address != email || len(email) > maxEmail {
		return "Must be an e-mail address."
	}
	return core.TextRule{Min: 1, Max: maxEmail}.Check(email)
}
