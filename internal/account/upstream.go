package account

import (
	"time"

	"carrel/internal/core"
)

// WithoutPassword returns a new member on this plan who signs in elsewhere. What the other provider says of them is held to the same
// rules as what people type.
func WithoutPassword(email, name, plan string, now time.Time) (User, error) {
	email = NormalEmail(email)
	if detail := checkEmail(email); detail != "" {
		return User{}, core.InvalidField("/email", detail)
	}
	if detail := checkName(name); detail != "" {
		return User{}, core.InvalidField("/name", detail)
	}
	return User{
		ID: core.NewID(core.PrefixUser), Email: email, EmailVerified: true, Name: name, Role: core.RoleMember, Plan: plan, CreatedAt: now,
	}, nil
}
