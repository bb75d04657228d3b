package signin

import (
	"context"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ResetLife is the lifetime of a reset code.
const ResetLife = 24 * time.Hour

// ErrReset is the only error for an invalid reset code.
var ErrReset = core.Unauthenticated(
	"wrong_code",
	"This code is unknown, expired or already used. Ask your administrator for a new one.",
)

// Reset is a password reset, without its code.
type Reset struct {
	UserID string
	// ClearFactors removes passkeys and the authenticator app when the code is redeemed.
	ClearFactors bool
	CreatedAt    time.Time
	ExpiresAt    time.Time
}

// ResetStore persists password resets. A missing or expired one is a not_found error.
type ResetStore interface {
	// PutReset stores a reset and replaces an earlier one of the user.
	PutReset(ctx context.Context, r Reset, hash []byte) error
	ResetByHash(ctx context.Context, hash []byte, now time.Time) (Reset, error)
	// RedeemReset deletes the reset, sets the password and ends all sessions of the user in one transaction. Of
	// concurrent calls exactly one succeeds.
	RedeemReset(ctx context.Context, hash []byte, now time.Time, passwordHash string) (userID string, err error)
}

// Resets issues and redeems password reset codes.
type Resets struct {
	store     ResetStore
	passwords *Passwords
	clock     core.Clock
	key       []byte
	audit     audit.Recorder
}

// Issue creates a reset and returns its code, which is shown only once. There is no reset link, because links stay in
// browser histories, proxy logs and chats.
func (r *Resets) Issue(ctx context.Context, actor core.Actor, userID string, clearFactors bool) (Reset, string, error) {
	if err := actor.AllowFreshSession(core.OpAdmin, r.clock.Now()); err != nil {
		return Reset{}, "", err
	}
	code, now := newCode(), r.clock.Now()
	reset := Reset{UserID: userID, ClearFactors: clearFactors, CreatedAt: now, ExpiresAt: now.Add(ResetLife)}
	if err := r.store.PutReset(ctx, reset, hashCode(r.key, "reset", PlainCode(code))); err != nil {
		return Reset{}, "", err
	}
	r.audit.Note(ctx, audit.Record{Event: audit.ResetIssued, UserID: userID, Actor: audit.ActorID(actor)})
	return reset, code, nil
}

// Redeem sets the password of the code's user and ends all their sessions. An invalid code is ErrReset.
func (r *Resets) Redeem(ctx context.Context, typed, password string) (userID string, err error) {
	plain := PlainCode(typed)
	if !wellFormedCode(plain) {
		return "", ErrReset
	}
	hash := hashCode(r.key, "reset", plain)
	// The code is looked up before the password is hashed, so guessing codes stays cheap for the server.
	reset, err := r.store.ResetByHash(ctx, hash, r.clock.Now())
	if err != nil {
		return "", asErrReset(err)
	}
	passwordHash, err := r.passwords.hashFor(ctx, reset.UserID, password)
	if err != nil {
		return "", asErrReset(err)
	}
	userID, err = r.store.RedeemReset(ctx, hash, r.clock.Now(), passwordHash)
	if err != nil {
		return "", asErrReset(err)
	}
	r.audit.Note(ctx, audit.Record{Event: audit.PasswordReset, UserID: userID})
	return userID, nil
}

func asErrReset(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return ErrReset
	}
	return err
}
