package account

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// DirectoryStore keeps users for those who administer them. A missing user is not_found.
type DirectoryStore interface {
	UserByID(ctx context.Context, userID string) (User, error)
	// UsersBefore returns up to n users, newest first: those older than the id in before, unless it is empty, whose name
	// or address has the words in it.
	UsersBefore(ctx context.Context, words, before string, n int) ([]User, error)
	// AdjustUser lets change edit the address, the role, the cap and the end of a user, and stores the outcome, in one
	// transaction. An address that is taken is a conflict.
	AdjustUser(ctx context.Context, userID string, change func(*User) error) (User, error)
}

// Directory is where those who administer the installation see and change accounts. It shows nothing that is the users'
// own, and nobody acts as somebody else.
type Directory struct {
	store    DirectoryStore
	clock    core.Clock
	recorder Recorder
}

// NewDirectory returns a directory on this store.
func NewDirectory(store DirectoryStore, clock core.Clock, recorder Recorder) *Directory {
	return &Directory{store: store, clock: clock, recorder: recorder}
}

// Get returns an account.
func (d *Directory) Get(ctx context.Context, actor core.Actor, userID string) (User, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return User{}, err
	}
	return d.store.UserByID(ctx, userID)
}

// maxWords bounds what users are searched for by, in code points.
const maxWords = 200

// List returns a page of the accounts whose name or address has the words in it, newest first, and the cursor of the next
// page.
func (d *Directory) List(ctx context.Context, actor core.Actor, words string, page core.Page) ([]User, string, error) {
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
	users, err := d.store.UsersBefore(ctx, words, before, rows+1)
	if err != nil || len(users) <= rows {
		return users, "", err
	}
	return users[:rows], core.EncodeCursor("users", users[rows-1].ID), nil
}

// Adjustment is what to change of an account; nil leaves something as it is.
type Adjustment struct {
	// Email is an address that the administrator answers for.
	Email    *string
	Role     *core.Role
	Disabled *bool
	// SpendCap points to the cap, or to nil to take it away.
	SpendCap **int64
}

// Adjust changes an account. The owner stays as they are, nobody changes the address, the role or the end of themselves,
// and only the owner makes admins: otherwise one admin could take the installation from the others. Addresses and roles
// take a session with a recent proof, because with a key alone they would turn it into an account that administers.
func (d *Directory) Adjust(ctx context.Context, actor core.Actor, userID string, a Adjustment) (User, error) {
	allow := actor.AllowProved
	if a.Email != nil || a.Role != nil {
		allow = actor.AllowFreshSession
	}
	if err := allow(core.OpAdmin, d.clock.Now()); err != nil {
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
	u, err := d.store.AdjustUser(ctx, userID, func(u *User) error {
		if a.Email != nil || a.Role != nil || a.Disabled != nil {
			if err := d.mayRule(actor, *u, a); err != nil {
				return err
			}
		}
		a.apply(u, d.clock.Now())
		return nil
	})
	if err != nil {
		return User{}, err
	}
	d.note(ctx, actor, userID, a)
	return u, nil
}

// mayRule decides whether the actor may change the address, the role or the end of a user.
func (d *Directory) mayRule(actor core.Actor, u User, a Adjustment) error {
	operator := actor.Credential == core.CredentialOperator
	switch {
	case operator && a.Role == nil && a.Disabled == nil:
		return nil
	case u.Role == core.RoleOwner:
		return core.Conflict("conflict", "The owner of the installation stays as they are.")
	case u.ID == actor.UserID && a.Email != nil:
		return core.Conflict("conflict", "Change your own e-mail address with PATCH /api/account.")
	case u.ID == actor.UserID:
		return core.Conflict("conflict", "Nobody changes their own role or shuts themselves out. Another admin can.")
	case actor.Role != core.RoleOwner && !operator && (a.Role != nil || u.Role == core.RoleAdmin):
		return core.Forbidden("forbidden", "Only the owner makes admins, changes their address or role, or disables them.")
	}
	return nil
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

func (d *Directory) note(ctx context.Context, actor core.Actor, userID string, a Adjustment) {
	by := actor.CredentialID
	if actor.Credential == core.CredentialOperator {
		by = string(core.CredentialOperator)
	}
	record := func(event audit.Event, detail map[string]string) {
		d.recorder.Note(ctx, audit.Record{Event: event, UserID: userID, Actor: by, Detail: detail})
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
