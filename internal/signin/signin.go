// Package signin verifies the identity of users: passwords, second factors, password resets, step-up proofs and the
// limits on guessing any of them. Package signin/passkey adds WebAuthn, package signin/upstream OpenID providers.
package signin

import (
	"context"
	"errors"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// Paths of the pages on which a code is entered. Links to them have the code behind a #, which browsers do not send.
const (
	ResetPath = "/reset"
	JoinPath  = "/join"
)

// Store persists passwords, second factors, reset codes, attempt counters, known browsers, pending steps and
// invitations.
type Store interface {
	PasswordStore
	FactorStore
	ResetStore
	LimitStore
	BrowserStore
	PendingStore
	InvitationStore
}

// userReader looks up users by id.
type userReader interface {
	UserByID(ctx context.Context, userID string) (account.User, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store Store
	Clock core.Clock
	Audit audit.Recorder
	// Sessions stores in a session that its user has proved their identity again.
	Sessions StepUpper
	// Sealer encrypts the secrets of authenticator apps.
	Sealer Sealer
	// Key is the HMAC key for stored codes and tokens.
	Key []byte
	// Issuer is the name of the installation in authenticator apps.
	Issuer string
	// OfferTOTP allows users to add an authenticator app. Codes of existing apps are required regardless.
	OfferTOTP bool
	// LimitAttempts turns the limits on guessing on.
	LimitAttempts bool
}

// Service groups the ways to prove an identity, which share one store and one set of limits.
type Service struct {
	Passwords *Passwords
	Factors   *Factors
	Resets    *Resets
	Limits    *Limits
	Proofs    *Proofs
	Browsers  *Browsers
	Pending   *PendingSteps
	// Invitations let people create their accounts.
	Invitations *Invitations
}

// NewService returns a Service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	s := &Service{
		Passwords: newPasswords(d.Store, d.Clock, d.Audit),
		Factors: &Factors{
			store: d.Store, clock: d.Clock, audit: d.Audit, sealer: d.Sealer, key: d.Key, issuer: d.Issuer, offered: d.OfferTOTP,
		},
		Browsers: &Browsers{store: d.Store, clock: d.Clock, key: d.Key},
		Pending:  &PendingSteps{store: d.Store, clock: d.Clock, key: d.Key},
	}
	s.Resets = &Resets{store: d.Store, passwords: s.Passwords, clock: d.Clock, key: d.Key, audit: d.Audit}
	s.Invitations = &Invitations{store: d.Store, clock: d.Clock, key: d.Key, audit: d.Audit}
	s.Limits = &Limits{store: d.Store, browsers: s.Browsers, clock: d.Clock, key: d.Key, on: d.LimitAttempts}
	s.Proofs = &Proofs{
		store: d.Store, passwords: s.Passwords, factors: s.Factors, limits: s.Limits, sessions: d.Sessions, audit: d.Audit,
	}
	return s
}

// Prune deletes expired pending steps, known browsers and invitations, and attempt counters that are back at their
// limit.
func (s *Service) Prune(ctx context.Context) error {
	return errors.Join(s.Pending.prune(ctx), s.Limits.prune(ctx), s.Browsers.prune(ctx), s.Invitations.prune(ctx))
}

// AllowOwn allows reading the actor's own sign-in settings. It requires a session.
func AllowOwn(actor core.Actor) error { return actor.AllowSession(core.OpAccount) }

// AllowOwnProved allows changing the actor's own sign-in settings. It requires a session with a recent proof.
func AllowOwnProved(actor core.Actor, now time.Time) error {
	return actor.AllowFreshSession(core.OpAccount, now)
}
