// Package account holds the people of an installation: who they are, their role, plan and spend cap.
package account

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"carrel/internal/core"
)

// User is a person who can sign in and whom credentials act for.
type User struct {
	ID    string
	Email string
	// EmailVerified is whether an administrator, the operator or the OpenID provider set the address. An address that its
	// user chose proves nothing about them.
	EmailVerified bool
	// PendingEmail is the address that the user asked for and an administrator has not set yet, or empty.
	PendingEmail string
	Name         string
	Role         core.Role
	Plan         string
	// SpendCap is what the user may spend in a month, in micro-dollars; nil means no cap.
	SpendCap   *int64
	DisabledAt *time.Time
	CreatedAt  time.Time
}

// Store keeps users. A missing user is a not_found error; an e-mail address that is taken is a conflict.
type Store interface {
	InsertUser(ctx context.Context, u User, passwordHash string) error
	UserByEmail(ctx context.Context, email string) (User, error)
	UserByID(ctx context.Context, userID string) (User, error)
	Users(ctx context.Context) ([]User, error)
	DisableUser(ctx context.Context, userID string, at time.Time) error
	SetSpendCap(ctx context.Context, userID string, spendCap *int64) error
	// InsertFirstUser is InsertUser for an installation without users; else it is a conflict. Of many at once one succeeds.
	InsertFirstUser(ctx context.Context, u User, passwordHash string) error
	// PasswordHash is UserByEmail, with the hash of the password.
	PasswordHash(ctx context.Context, email string) (User, string, error)
	// SetPassword also ends the sessions of the user, but for one.
	SetPassword(ctx context.Context, userID, passwordHash, exceptSession string, at time.Time) error
}

// Service is the door to accounts.
type Service struct {
	store    Store
	clock    core.Clock
	recorder Recorder
	// standard is the plan of accounts that are made without one.
	standard string
	// hashing bounds how many passwords are hashed at once: each takes 19 MiB and a core.
	hashing chan struct{}
}

// NewService returns a service on this store. standard is the plan that new accounts get, or none.
func NewService(store Store, clock core.Clock, standard string) *Service {
	return &Service{store: store, clock: clock, standard: standard, hashing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
}

// NewUser is what an admin says of a person to let in.
type NewUser struct {
	Email    string
	Name     string
	Password string
	Role     core.Role
	Plan     string
}

// minPassword follows NIST SP 800-63B for a password that stands alone; maxPassword keeps hashing bounded.
const (
	minPassword = 8
	maxPassword = 256
)

// maxEmail is the longest address that mail can be sent to (RFC 5321, 4.5.3.1.3).
const maxEmail = 254

// Create adds a user with a password.
func (s *Service) Create(ctx context.Context, actor core.Actor, n NewUser) (User, error) {
	if err := actor.AllowFreshSession(core.OpAdmin, s.clock.Now()); err != nil {
		return User{}, err
	}
	return s.create(ctx, n, s.store.InsertUser)
}

// CreateFirst makes the owner of an installation that has no account yet; with one it is a conflict. Who may do this is
// decided by the set-up code, which only the operator has seen. Whoever runs the installation needs to buy nothing from it.
func (s *Service) CreateFirst(ctx context.Context, n NewUser) (User, error) {
	n.Role, n.Plan = core.RoleOwner, core.PlanOpen
	return s.create(ctx, n, s.store.InsertFirstUser)
}

func (s *Service) create(ctx context.Context, n NewUser, insert func(context.Context, User, string) error) (User, error) {
	if n.Role == "" {
		n.Role = core.RoleMember
	}
	if n.Plan == "" {
		n.Plan = s.standard
	}
	n.Email = NormalEmail(n.Email)
	n.Name = strings.TrimSpace(n.Name)
	weak, err := passwordProblem(n.Password, n.Email, n.Name)
	if err != nil {
		return User{}, err
	}
	if err := n.check(weak); err != nil {
		return User{}, err
	}
	hash, err := s.hash(ctx, n.Password)
	if err != nil {
		return User{}, fmt.Errorf("hash password: %w", err)
	}
	u := User{
		ID: core.NewID(core.PrefixUser), Email: n.Email, EmailVerified: true, Name: n.Name,
		Role: n.Role, Plan: n.Plan, CreatedAt: s.clock.Now(),
	}
	if err := insert(ctx, u, hash); err != nil {
		return User{}, err
	}
	return u, nil
}

// check returns all that is wrong with the account; weak is what is wrong with its password.
func (n NewUser) check(weak string) error {
	var bad []core.FieldError
	add := func(pointer, detail string) {
		if detail != "" {
			bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
		}
	}
	add("/email", checkEmail(n.Email))
	add("/name", checkName(n.Name))
	add("/password", weak)
	switch n.Role {
	case core.RoleOwner, core.RoleAdmin, core.RoleMember:
	default:
		add("/role", "Must be admin or member.")
	}
	add("/plan", checkPlan(n.Plan))
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

func checkPlan(plan string) string {
	if !planName.MatchString(plan) {
		return "Must be the name of a plan, or none for no subscription."
	}
	return ""
}

// NormalEmail is the form in which addresses are kept and looked up.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// ByEmail finds a user by address.
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

// Disable shuts a user out at once: every credential of theirs fails from the next request on.
func (s *Service) Disable(ctx context.Context, actor core.Actor, userID string) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	return s.store.DisableUser(ctx, userID, s.clock.Now())
}

// SetSpendCap sets what a user may spend in a month, in micro-dollars; nil takes the cap away.
func (s *Service) SetSpendCap(ctx context.Context, actor core.Actor, userID string, micros *int64) error {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return err
	}
	if micros != nil && *micros < 0 {
		return core.InvalidField("/cap", "Must not be negative.")
	}
	return s.store.SetSpendCap(ctx, userID, micros)
}
