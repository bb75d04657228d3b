package signin

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// ErrSignIn is the only error for a failed sign-in. Unknown address, wrong password and disabled account are
// indistinguishable, so an attacker cannot find out which addresses have an account.
var ErrSignIn = core.Unauthenticated("sign_in_failed", "The e-mail address or the password is not right.")

// Failure is the reason for a failed sign-in. It goes to the audit log and must not reach the client.
type Failure struct {
	// User is the zero User for an unknown address.
	User account.User
	// Reason is "unknown account", "wrong password" or "disabled account".
	Reason string
}

// PasswordStore persists password hashes.
type PasswordStore interface {
	userReader
	// PasswordHash returns the user with an address and the hash of their password, "" if they have none.
	PasswordHash(ctx context.Context, email string) (account.User, string, error)
	// SetPassword stores a hash and ends all sessions of the user except one.
	SetPassword(ctx context.Context, userID, passwordHash, exceptSession string, at time.Time) error
}

// Passwords verifies and sets passwords.
type Passwords struct {
	store PasswordStore
	clock core.Clock
	audit audit.Recorder
	// slots limits concurrent hashing: each hash needs 19 MiB and a core.
	slots chan struct{}
}

func newPasswords(store PasswordStore, clock core.Clock, recorder audit.Recorder) *Passwords {
	return &Passwords{
		store: store, clock: clock, audit: recorder, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}
}

// Verify returns the user with this address and password. All failures are ErrSignIn and take the same time: for an
// unknown address the password is compared with a decoy hash.
func (p *Passwords) Verify(ctx context.Context, email, password string) (account.User, Failure, error) {
	var u account.User
	var hash string
	email = account.NormalEmail(email)
	err := error(core.NotFound("user"))
	// Invalid text is not looked up: SQLite and PostgreSQL treat it differently.
	if (core.TextRule{Min: 1, Max: account.MaxEmail}).Check(email) == "" {
		u, hash, err = p.store.PasswordHash(ctx, email)
	}
	unknown := core.IsKind(err, core.KindNotFound)
	if err != nil && !unknown {
		return account.User{}, Failure{}, err
	}
	if hash == "" {
		hash = decoyHash // unknown address, or an account without a password
	}
	ok, err := p.matches(ctx, hash, password)
	switch {
	case err != nil:
		return account.User{}, Failure{}, err
	case unknown:
		return account.User{}, Failure{Reason: "unknown account"}, ErrSignIn
	case !ok:
		return account.User{}, Failure{User: u, Reason: "wrong password"}, ErrSignIn
	case u.DisabledAt != nil:
		return account.User{}, Failure{User: u, Reason: "disabled account"}, ErrSignIn
	}
	return u, Failure{}, nil
}

// Set sets the password of any user and ends all their sessions except one, or all if exceptSession is empty.
func (p *Passwords) Set(ctx context.Context, actor core.Actor, userID, password, exceptSession string) error {
	if err := actor.AllowFreshSession(core.OpAdmin, p.clock.Now()); err != nil {
		return err
	}
	hash, err := p.hashFor(ctx, userID, password)
	if err != nil {
		return err
	}
	return p.store.SetPassword(ctx, userID, hash, exceptSession, p.clock.Now())
}

// Change sets the password of the actor and ends their other sessions. The current password is not required: the
// session has a recent proof, and the account may have no password yet.
func (p *Passwords) Change(ctx context.Context, actor core.Actor, password string) error {
	if err := AllowOwnProved(actor, p.clock.Now()); err != nil {
		return err
	}
	hash, err := p.hashFor(ctx, actor.UserID, password)
	if err != nil {
		return err
	}
	if err := p.store.SetPassword(ctx, actor.UserID, hash, actor.CredentialID, p.clock.Now()); err != nil {
		return err
	}
	p.audit.Note(ctx, audit.Record{Event: audit.PasswordChanged, UserID: actor.UserID, Actor: actor.CredentialID})
	return nil
}

// hashFor checks a new password of a user and returns its hash.
func (p *Passwords) hashFor(ctx context.Context, userID, password string) (string, error) {
	user, err := p.store.UserByID(ctx, userID)
	if err != nil {
		return "", err
	}
	weak, err := p.Problem(password, user.Email, user.Name)
	if err != nil {
		return "", err
	}
	if weak != "" {
		return "", core.InvalidField("/password", weak)
	}
	hash, err := p.Hash(ctx, password)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

// Hash implements account.PasswordHasher. It waits for a slot, so concurrent requests cannot exhaust cores and memory.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.acquire(ctx); err != nil {
		return "", err
	}
	defer p.release()
	return HashPassword(password)
}

func (p *Passwords) matches(ctx context.Context, hash, password string) (bool, error) {
	if err := p.acquire(ctx); err != nil {
		return false, err
	}
	defer p.release()
	return CheckPassword(hash, password), nil
}

func (p *Passwords) acquire(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Passwords) release() { <-p.slots }
