package account

import (
	"context"
	"net/mail"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ProfileStore keeps what people say of themselves. A missing user is not_found; an address that is taken is a conflict.
type ProfileStore interface {
	UserByID(ctx context.Context, userID string) (User, error)
	// ChangeUser sets what is given, and leaves what is nil alone.
	ChangeUser(ctx context.Context, userID string, name, email *string) (User, error)
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

// Change changes the actor's own account. Another address takes a recent proof of who they are: whoever has the address
// can have the password reset.
func (p *Profiles) Change(ctx context.Context, actor core.Actor, c ProfileChange) (User, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return User{}, err
	}
	before, err := p.store.UserByID(ctx, actor.UserID)
	if err != nil {
		return User{}, err
	}
	if c, err = c.tidy(before); err != nil {
		return User{}, err
	}
	if c.Email != nil {
		if err := actor.AllowProved(core.OpAccount, p.clock.Now()); err != nil {
			return User{}, err
		}
	}
	if c.Name == nil && c.Email == nil {
		return before, nil
	}
	after, err := p.store.ChangeUser(ctx, actor.UserID, c.Name, c.Email)
	if err != nil {
		return User{}, err
	}
	p.note(ctx, actor, c)
	return after, nil
}

// note writes down which fields changed, never what they hold: the log outlives the account.
func (p *Profiles) note(ctx context.Context, actor core.Actor, c ProfileChange) {
	if c.Name != nil {
		p.recorder.Note(ctx, audit.Record{Event: audit.NameChanged, UserID: actor.UserID, Actor: actor.CredentialID})
	}
	if c.Email != nil {
		p.recorder.Note(ctx, audit.Record{Event: audit.EmailChanged, UserID: actor.UserID, Actor: actor.CredentialID})
	}
}

// tidy brings the fields into the form in which they are kept and drops those that change nothing.
func (c ProfileChange) tidy(before User) (ProfileChange, error) {
	var bad []core.FieldError
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		if detail := checkName(name); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
		}
		c.Name = changed(name, before.Name)
	}
	if c.Email != nil {
		email := NormalEmail(*c.Email)
		if detail := checkEmail(email); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/email", Detail: detail})
		}
		c.Email = changed(email, before.Email)
	}
	if bad != nil {
		return ProfileChange{}, core.Invalid(bad...)
	}
	return c, nil
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
