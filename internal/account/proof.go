package account

import (
	"context"
	"errors"
	"net/netip"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ErrProof is the answer to a proof that fails, to somebody whose session we know already.
var ErrProof = core.Forbidden("proof_failed", "The password is not right.")

// ErrFactorNeeded asks for the code of the authenticator app as well.
var ErrFactorNeeded = core.InvalidField("/code", "Type the code of your authenticator app, or a recovery code.")

// ProofStore is what proofs read.
type ProofStore interface {
	UserByID(ctx context.Context, userID string) (User, error)
	PasswordHash(ctx context.Context, email string) (User, string, error)
}

// SteppedUp notes in a session that its user has just proved who they are.
type SteppedUp interface {
	StepUp(ctx context.Context, sessionID string) error
}

// Proofs let people prove once more who they are, before acts that a stolen session must not be enough for.
type Proofs struct {
	store    ProofStore
	accounts *Service
	factors  *Factors
	limits   *Limits
	sessions SteppedUp
	clock    core.Clock
	recorder Recorder
}

// NewProofs returns proofs that are limited together with all other guesses.
func NewProofs(store ProofStore, accounts *Service, factors *Factors, limits *Limits, sessions SteppedUp, clock core.Clock, recorder Recorder) *Proofs {
	return &Proofs{store: store, accounts: accounts, factors: factors, limits: limits, sessions: sessions, clock: clock, recorder: recorder}
}

// Means is what somebody can prove themselves with, beside passkeys.
type Means struct {
	// Password is whether the account has one.
	Password bool
	// Code is whether the code of an authenticator app is asked for with it.
	Code bool
}

// Means tells what the actor's user has.
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

// WithPassword proves with the password, and with the second factor if there is one: whoever could do without it could
// also remove it.
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
		return ErrFactorNeeded // before anything is counted: the form of before did not ask
	}
	counted, err := p.limits.Attempt(ctx, Guess{From: from, Email: user.Email, SessionID: actor.CredentialID})
	if err != nil {
		return err
	}
	if _, _, err := p.accounts.SignIn(ctx, user.Email, password); err != nil {
		if errors.Is(err, ErrSignIn) {
			p.failed(ctx, actor, "wrong password")
			return ErrProof
		}
		return err
	}
	if needed {
		if err := p.factors.Check(ctx, user.ID, code); err != nil {
			if errors.Is(err, ErrCode) {
				p.failed(ctx, actor, "wrong code")
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

func (p *Proofs) failed(ctx context.Context, actor core.Actor, reason string) {
	p.recorder.Note(ctx, audit.Record{
		Event: audit.StepUpFailed, UserID: actor.UserID, Actor: actor.CredentialID, Detail: map[string]string{"reason": reason},
	})
}

// Accept notes a proof that was checked elsewhere: a passkey, or another provider.
func (p *Proofs) Accept(ctx context.Context, actor core.Actor, with string) error {
	if err := AllowOwn(actor); err != nil {
		return err
	}
	if err := p.sessions.StepUp(ctx, actor.CredentialID); err != nil {
		return err
	}
	p.recorder.Note(ctx, audit.Record{
		Event: audit.SteppedUp, UserID: actor.UserID, Actor: actor.CredentialID, Detail: map[string]string{"with": with},
	})
	return nil
}
