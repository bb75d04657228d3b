// Package account manages the users of an installation: creation, profiles, roles, spend caps and disabling.
package account

import (
	"context"
	"net/mail"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// User is a person with an account. Credentials act on behalf of a user.
type User struct {
	ID    string
	Email string
	// EmailVerified is true when an administrator, the operator or the OpenID provider set the address. An address chosen
	// by the user is unverified and must never be used to link an identity.
	EmailVerified bool
	// PendingEmail is the address the user requested and no administrator has approved yet. Empty without a request.
	PendingEmail string
	Name         string
	Role         core.Role
	Plan         string
	// SpendCap is the monthly spend cap in micro-dollars. Nil falls back to the cap of the plan.
	SpendCap   *int64
	DisabledAt *time.Time
	CreatedAt  time.Time
}

// Store persists users. A missing user is a not_found error, an e-mail address already in use a conflict.
type Store interface {
	UserByID(ctx context.Context, userID string) (User, error)
	CreateStore
	AdminStore
	// ChangeUser updates the non-nil fields of c.
	ChangeUser(ctx context.Context, userID string, c UserChange) (User, error)
}

// PasswordHasher checks and hashes new passwords.
type PasswordHasher interface {
	// Problem returns why the password is too weak for a user with this address and name, or "".
	Problem(password, email, name string) (string, error)
	// Hash returns the hash to store.
	Hash(ctx context.Context, password string) (string, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store     Store
	Clock     core.Clock
	Audit     audit.Recorder
	Passwords PasswordHasher
	// DefaultPlan is the plan of new accounts that name none. It may be core.PlanNone.
	DefaultPlan string
}

// Service manages accounts.
type Service struct {
	store       Store
	clock       core.Clock
	audit       audit.Recorder
	passwords   PasswordHasher
	defaultPlan string
}

// NewService returns a Service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{store: d.Store, clock: d.Clock, audit: d.Audit, passwords: d.Passwords, defaultPlan: d.DefaultPlan}
}

// NormalEmail returns the form in which addresses are stored and looked up.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// MaxEmail is the maximum length of an address in SMTP (RFC 5321, section 4.5.3.1.3).
const MaxEmail = 254

func checkEmail(email string) string {
	if addr, err := mail.ParseAddress(email); err != nil || addr.Address != email || len(email) > MaxEmail {
		return "Must be an e-mail address."
	}
	return core.TextRule{Min: 1, Max: MaxEmail}.Check(email)
}

func checkName(name string) string { return core.TextRule{Min: 1, Max: 200}.Check(name) }
