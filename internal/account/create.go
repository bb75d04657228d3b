package account

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// CreateStore inserts users.
type CreateStore interface {
	InsertUser(ctx context.Context, u User, passwordHash string) error
	// InsertFirstUser inserts a user into an empty installation. It is a conflict if any user exists; of concurrent calls
	// exactly one succeeds.
	InsertFirstUser(ctx context.Context, u User, passwordHash string) error
}

// NewUser describes an account to create. The default role is member, the default plan Deps.DefaultPlan.
type NewUser struct {
	Email    string
	Name     string
	Password string
	Role     core.Role
	Plan     string
}

// Create adds a user with a password.
func (s *Service) Create(ctx context.Context, actor core.Actor, n NewUser) (User, error) {
	if err := actor.AllowFreshSession(core.OpAdmin, s.clock.Now()); err != nil {
		return User{}, err
	}
	return s.create(ctx, n, s.store.InsertUser)
}

// CreateWithoutPassword adds a user who chooses a password with a reset code. Only the owner and the operator create
// administrators.
func (s *Service) CreateWithoutPassword(ctx context.Context, actor core.Actor, n NewUser) (User, error) {
	if err := actor.AllowFreshSession(core.OpAdmin, s.clock.Now()); err != nil {
		return User{}, err
	}
	n.setDefaults(s.defaultPlan)
	if err := AllowRole(actor, n.Role); err != nil {
		return User{}, err
	}
	if err := n.check(""); err != nil {
		return User{}, err
	}
	u := n.user(s.clock.Now())
	if err := s.store.InsertUser(ctx, u, ""); err != nil {
		return User{}, err
	}
	s.audit.Note(ctx, audit.Record{Event: audit.UserCreated, UserID: u.ID, Actor: audit.ActorID(actor)})
	return u, nil
}

// CreateInvited creates the account of an invited person. The caller authorizes it with the code of the invitation, and
// insert uses the invitation up. An address that the person chose is not verified.
func (s *Service) CreateInvited(
	ctx context.Context, n NewUser, emailVerified bool, insert func(context.Context, User, string) error,
) (User, error) {
	return s.create(ctx, n, func(ctx context.Context, u User, passwordHash string) error {
		u.EmailVerified = emailVerified
		return insert(ctx, u, passwordHash)
	})
}

// AllowRole decides whether the actor may give a role to a new account. Only the owner and the operator appoint
// administrators; otherwise one administrator could fill the installation with others.
func AllowRole(actor core.Actor, role core.Role) error {
	switch {
	case role != core.RoleAdmin && role != core.RoleMember:
		return core.InvalidField("/role", "Must be admin or member.")
	case role == core.RoleAdmin && actor.Role != core.RoleOwner && actor.Credential != core.CredentialOperator:
		return core.Forbidden("forbidden", "Only the owner can appoint, change or disable administrators.")
	}
	return nil
}

// ValidEmail returns the normal form of an address, or why it is not valid.
func ValidEmail(email string) (string, error) {
	email = NormalEmail(email)
	if detail := checkEmail(email); detail != "" {
		return "", core.InvalidField("/email", detail)
	}
	return email, nil
}

// CreateFirst creates the owner of an empty installation; it is a conflict if any account exists. The caller authorizes
// it with the set-up code, which only the operator sees. The owner gets the open plan regardless of the default.
func (s *Service) CreateFirst(ctx context.Context, n NewUser) (User, error) {
	n.Role, n.Plan = core.RoleOwner, core.PlanOpen
	return s.create(ctx, n, s.store.InsertFirstUser)
}

func (s *Service) create(
	ctx context.Context, n NewUser, insert func(context.Context, User, string) error,
) (User, error) {
	n.setDefaults(s.defaultPlan)
	weak, err := s.passwords.Problem(n.Password, n.Email, n.Name)
	if err != nil {
		return User{}, err
	}
	if err := n.check(weak); err != nil {
		return User{}, err
	}
	hash, err := s.passwords.Hash(ctx, n.Password)
	if err != nil {
		return User{}, fmt.Errorf("hash password: %w", err)
	}
	u := n.user(s.clock.Now())
	if err := insert(ctx, u, hash); err != nil {
		return User{}, err
	}
	return u, nil
}

func (n *NewUser) setDefaults(plan string) {
	if n.Role == "" {
		n.Role = core.RoleMember
	}
	if n.Plan == "" {
		n.Plan = plan
	}
	n.Email = NormalEmail(n.Email)
	n.Name = strings.TrimSpace(n.Name)
}

// user returns the account, with an address for which an administrator or the operator vouches.
func (n *NewUser) user(now time.Time) User {
	return User{
		ID: core.NewID(core.PrefixUser), Email: n.Email, EmailVerified: true, Name: n.Name,
		Role: n.Role, Plan: n.Plan, CreatedAt: now,
	}
}

// check reports all invalid fields at once. weak is the problem with the password, or "".
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
	if !core.ValidPlanName(n.Plan) {
		add("/plan", "Must be the name of a plan, or none for no subscription.")
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// NewMemberWithoutPassword returns a member who signs in with an OpenID provider. Address and name come from the
// provider's claims and pass the same checks as form input.
func NewMemberWithoutPassword(email, name, plan string, now time.Time) (User, error) {
	email = NormalEmail(email)
	if detail := checkEmail(email); detail != "" {
		return User{}, core.InvalidField("/email", detail)
	}
	if detail := checkName(name); detail != "" {
		return User{}, core.InvalidField("/name", detail)
	}
	return User{
		ID: core.NewID(core.PrefixUser), Email: email, EmailVerified: true, Name: name,
		Role: core.RoleMember, Plan: plan, CreatedAt: now,
	}, nil
}
