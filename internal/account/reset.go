package account

import (
	"context"
	"fmt"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ResetLife is how long the code for a new password can be used.
const ResetLife = 24 * time.Hour

// ErrReset is the one answer to a code for a new password that fails.
var ErrReset = core.Unauthenticated("wrong_code", "This code is unknown, expired or already used. Ask whoever runs this installation for a new one.")

// Reset is a code for a new password, without the code.
type Reset struct {
	UserID string
	// ClearFactors is whether its use removes passkeys and the authenticator app.
	ClearFactors bool
	CreatedAt    time.Time
	ExpiresAt    time.Time
}

// ResetStore keeps codes for new passwords. What is not there is not_found.
type ResetStore interface {
	// PutReset stores a code in place of the one that the user had.
	PutReset(ctx context.Context, r Reset, hash []byte) error
	// ResetByHash finds a code that can be used.
	ResetByHash(ctx context.Context, hash []byte, now time.Time) (Reset, error)
	// RedeemReset uses a code up, sets the password and ends all sessions of the user, in one transaction. Of many at
	// once one succeeds.
	RedeemReset(ctx context.Context, hash []byte, now time.Time, passwordHash string) (userID string, err error)
}

// Resets lets people choose a new password with a code that an admin gave them.
type Resets struct {
	store    ResetStore
	accounts *Service
	clock    core.Clock
	key      []byte
	recorder Recorder
}

// NewResets returns resets whose codes are hashed with key.
func NewResets(store ResetStore, accounts *Service, clock core.Clock, key []byte, recorder Recorder) *Resets {
	return &Resets{store: store, accounts: accounts, clock: clock, key: key, recorder: recorder}
}

// Issue makes a code for a user and returns it; it can't be had again. It is told, not sent as part of a link: links
// stay in histories, in logs of proxies and in chats.
func (r *Resets) Issue(ctx context.Context, actor core.Actor, userID string, clearFactors bool) (Reset, string, error) {
	if err := actor.AllowFreshSession(core.OpAdmin, r.clock.Now()); err != nil {
		return Reset{}, "", err
	}
	code, now := newCode(), r.clock.Now()
	reset := Reset{UserID: userID, ClearFactors: clearFactors, CreatedAt: now, ExpiresAt: now.Add(ResetLife)}
	if err := r.store.PutReset(ctx, reset, hashCode(r.key, "reset", PlainCode(code))); err != nil {
		return Reset{}, "", err
	}
	by := actor.CredentialID
	if by == "" {
		by = string(actor.Credential)
	}
	r.recorder.Note(ctx, audit.Record{Event: audit.ResetIssued, UserID: userID, Actor: by})
	return reset, code, nil
}

// Redeem gives the code's user a new password and signs them out everywhere. A code that is not good is ErrReset.
func (r *Resets) Redeem(ctx context.Context, typed, password string) (userID string, err error) {
	plain := PlainCode(typed)
	if !wellFormedCode(plain) {
		return "", ErrReset
	}
	hash := hashCode(r.key, "reset", plain)
	// Looked up first, so that guessing does not make the server hash passwords.
	reset, err := r.store.ResetByHash(ctx, hash, r.clock.Now())
	if err != nil {
		return "", orErrReset(err)
	}
	passwordHash, err := r.accounts.newPassword(ctx, reset.UserID, password)
	if err != nil {
		return "", orErrReset(err)
	}
	userID, err = r.store.RedeemReset(ctx, hash, r.clock.Now(), passwordHash)
	if err != nil {
		return "", orErrReset(err)
	}
	r.recorder.Note(ctx, audit.Record{Event: audit.PasswordReset, UserID: userID})
	return userID, nil
}

func orErrReset(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return ErrReset
	}
	return err
}

// newPassword checks a new password for a user and returns its hash.
func (s *Service) newPassword(ctx context.Context, userID, password string) (string, error) {
	user, err := s.store.UserByID(ctx, userID)
	if err != nil {
		return "", err
	}
	weak, err := passwordProblem(password, user.Email, user.Name)
	if err != nil {
		return "", err
	}
	if weak != "" {
		return "", core.InvalidField("/password", weak)
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}
