package signin

import (
	"context"
	"errors"
	"net/netip"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ErrProof is returned for a wrong password in an authenticated session.
var ErrProof = core.Forbidden("proof_failed", "The password is not right.")

// ErrFactorNeeded is returned if a second factor is required and no code was given.
var ErrFactorNeeded = core.InvalidField("/code", "Enter the code of your authenticator app or a recovery code.")

// StepUpper stores in a session that its user has proved their identity again.
type StepUpper interface {
	StepUp(ctx context.Context, sessionID string) error
}

// Proofs verifies the identity of a signed-in user again (step-up authentication). Sensitive operations require a
// recent proof, so a stolen session is not sufficient for them.
type Proofs struct {
	store     PasswordStore
	passwords *Passwords
	factors   *Factors
	limits    *Limits
	sessions  StepUpper
	audit     audit.Recorder
}

// Means are the proofs an account supports, except passkeys.
type Means struct {
	// Password is true if the account has a password.
	Password bool
	// Code is true if the password must be accompanied by a second factor.
	Code bool
}

// Means returns the proofs that the actor's account supports.
func (p *Proofs) Means(ctx context.Context, actor core.Actor) (Means, error) {
	if err := AllowOwn(actor); err != nil {
		return Means{}, err
	}
	user, err := p.store.UserByID(ctx, actor.UserID)
	if err != nil {
		return Means{}, err
	}
	_, hash, err := p.store.PasswordHash(ctx, user.Email)
	if err != nil {
		return Means{}, err
	}
	needed, err := p.factors.Needed(ctx, actor.UserID)
	return Means{Password: hash != "", Code: needed}, err
}

// WithPassword verifies the password, and also the second factor of an account that uses it. Otherwise the password
// alone would be sufficient to remove the second factor.
func (p *Proofs) WithPassword(ctx context.Context, actor core.Actor, from netip.Addr, password, code string) error {
	if err := AllowOwn(actor); err != nil {
		return err
	}
	user, err := p.store.UserByID(ctx, actor.UserID)
	if err != nil {
		return err
	}
	needed, err := p.factors.Needed(ctx, user.ID)
	if err != nil {
		return err
	}
	if needed && code == "" {
		return ErrFactorNeeded // not counted as an attempt: the first form has no field for the code
	}
	counted, err := p.limits.Attempt(ctx, Guess{From: from, Email: user.Email, SessionID: actor.CredentialID})
	if err != nil {
		return err
	}
	if _, _, err := p.passwords.Verify(ctx, user.Email, password); err != nil {
		if errors.Is(err, ErrSignIn) {
			p.recordFailure(ctx, actor, "wrong password")
			return ErrProof
		}
		return err
	}
	if needed {
		if err := p.factors.Check(ctx, user.ID, code); err != nil {
			if errors.Is(err, ErrCode) {
				p.recordFailure(ctx, actor, "wrong code")
				return core.InvalidField("/code", ErrCode.Detail)
			}
			return err
		}
	}
	if err := p.limits.Forgive(ctx, counted); err != nil {
		return err
	}
	return p.Accept(ctx, actor, "password")
}

func (p *Proofs) recordFailure(ctx context.Context, actor core.Actor, reason string) {
	p.audit.Note(ctx, audit.Record{
		Event:  audit.StepUpFailed,
		UserID: actor.UserID,
		Actor:  actor.CredentialID,
		Detail: map[string]string{"reason": reason},
	})
}

// Accept stores a proof verified by the caller: a passkey or an OpenID provider. method goes to the audit log.
func (p *Proofs) Accept(ctx context.Context, actor core.Actor, method string) error {
	if err := AllowOwn(actor); err != nil {
		return err
	}
	if err := p.sessions.StepUp(ctx, actor.CredentialID); err != nil {
		return err
	}
	p.audit.Note(ctx, audit.Record{
		Event: audit.SteppedUp, UserID: actor.UserID, Actor: actor.CredentialID, Detail: map[string]string{"with": method},
	})
	return nil
}
