package signin

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// recoveryCodes is the number of recovery codes issued at a time.
const recoveryCodes = 10

// ErrCode is the only error for a failed second factor: wrong, used and expired codes are indistinguishable.
var ErrCode = core.Unauthenticated(
	"wrong_code",
	"This code is wrong or was already used. Wait for the next code and enter it right away.",
)

// TOTP is the stored authenticator app of a user.
type TOTP struct {
	// Secret is encrypted by the Sealer.
	Secret      []byte
	ConfirmedAt *time.Time
}

// FactorStore persists authenticator apps and recovery codes. A missing row is a not_found error.
type FactorStore interface {
	userReader
	// PutTOTP stores an unconfirmed secret and replaces an earlier unconfirmed one. It is a conflict if a confirmed one
	// exists.
	PutTOTP(ctx context.Context, userID string, secret []byte, at time.Time) error
	TOTP(ctx context.Context, userID string) (TOTP, error)
	// ConfirmTOTP confirms the secret, stores the time step of the first code as used, and stores recovery codes.
	ConfirmTOTP(ctx context.Context, userID string, step int64, hashes [][]byte, at time.Time) error
	// UseTOTP marks a time step as used. A step not after the last used one is not_found; of concurrent calls exactly one
	// succeeds.
	UseTOTP(ctx context.Context, userID string, step int64) error
	// DeleteTOTP also deletes the recovery codes.
	DeleteTOTP(ctx context.Context, userID string) error
	PutRecoveryCodes(ctx context.Context, userID string, hashes [][]byte) error
	// UseRecoveryCode deletes a code. Of concurrent calls exactly one succeeds.
	UseRecoveryCode(ctx context.Context, userID string, hash []byte) error
	RecoveryCodes(ctx context.Context, userID string) (int, error)
}

// Sealer encrypts secrets. The place is authenticated along with the secret.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Factors manages the second factor of sign-ins: an authenticator app, with recovery codes for its loss.
type Factors struct {
	store   FactorStore
	clock   core.Clock
	audit   audit.Recorder
	sealer  Sealer
	key     []byte
	issuer  string
	offered bool
}

// FactorStatus is the second factor of a user.
type FactorStatus struct {
	// Offered is true if the installation allows adding an app.
	Offered bool
	// Since is when the app was confirmed; nil without an app.
	Since *time.Time
	// RecoveryCodes is the number of unused codes.
	RecoveryCodes int
}

// Status returns the second factor of the actor.
func (f *Factors) Status(ctx context.Context, actor core.Actor) (FactorStatus, error) {
	if err := AllowOwn(actor); err != nil {
		return FactorStatus{}, err
	}
	out := FactorStatus{Offered: f.offered}
	t, err := f.store.TOTP(ctx, actor.UserID)
	if core.IsKind(err, core.KindNotFound) {
		return out, nil
	}
	if err != nil || t.ConfirmedAt == nil {
		return out, err
	}
	out.Since = t.ConfirmedAt
	out.RecoveryCodes, err = f.store.RecoveryCodes(ctx, actor.UserID)
	return out, err
}

// Enrolment is the secret for an authenticator app.
type Enrolment struct {
	// Secret is for manual entry, URI for a QR code.
	Secret, URI string
}

// Begin creates an unconfirmed secret. Sign-ins require a code only after Confirm.
func (f *Factors) Begin(ctx context.Context, actor core.Actor) (Enrolment, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return Enrolment{}, err
	}
	if !f.offered {
		return Enrolment{}, core.Forbidden("forbidden", "This installation does not offer authenticator apps.")
	}
	secret := make([]byte, totpSecret)
	_, _ = rand.Read(secret) // documented never to fail
	if err := f.store.PutTOTP(ctx, actor.UserID, f.sealer.Seal(secret, actor.UserID), f.clock.Now()); err != nil {
		return Enrolment{}, err
	}
	return f.enrolment(ctx, actor.UserID, secret)
}

// Unconfirmed returns the secret that Begin created, so that a page can show it again after a wrong code.
func (f *Factors) Unconfirmed(ctx context.Context, actor core.Actor) (Enrolment, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return Enrolment{}, err
	}
	secret, confirmed, err := f.secret(ctx, actor.UserID)
	if err == nil && confirmed {
		err = core.NotFound("unconfirmed authenticator app")
	}
	if err != nil {
		return Enrolment{}, err
	}
	return f.enrolment(ctx, actor.UserID, secret)
}

func (f *Factors) enrolment(ctx context.Context, userID string, secret []byte) (Enrolment, error) {
	user, err := f.store.UserByID(ctx, userID)
	if err != nil {
		return Enrolment{}, err
	}
	return Enrolment{Secret: totpText(secret), URI: totpURI(f.issuer, user.Email, secret)}, nil
}

// Confirm turns the second factor on if the code is right. It returns the recovery codes, which are shown only once.
func (f *Factors) Confirm(ctx context.Context, actor core.Actor, code string) ([]string, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return nil, err
	}
	secret, confirmed, err := f.secret(ctx, actor.UserID)
	switch {
	case core.IsKind(err, core.KindNotFound):
		return nil, core.Conflict("conflict", "There is no authenticator app to confirm. Start again.")
	case err != nil:
		return nil, err
	case confirmed:
		return nil, core.Conflict("conflict", "This account already has an authenticator app. Remove it first.")
	}
	step, ok := totpStep(secret, plainDigits(code), f.clock.Now())
	if !ok {
		return nil, core.InvalidField("/code", "This is not the current six-digit code of the app.")
	}
	codes, hashes := f.newRecoveryCodes(actor.UserID)
	if err := f.store.ConfirmTOTP(ctx, actor.UserID, step, hashes, f.clock.Now()); err != nil {
		return nil, err
	}
	f.record(ctx, actor, audit.TOTPAdded)
	return codes, nil
}

// Renew replaces the remaining recovery codes by new ones.
func (f *Factors) Renew(ctx context.Context, actor core.Actor) ([]string, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return nil, err
	}
	if needed, err := f.Needed(ctx, actor.UserID); err != nil || !needed {
		if err == nil {
			err = core.Conflict("conflict", "This account has no authenticator app, so it needs no recovery codes.")
		}
		return nil, err
	}
	codes, hashes := f.newRecoveryCodes(actor.UserID)
	if err := f.store.PutRecoveryCodes(ctx, actor.UserID, hashes); err != nil {
		return nil, err
	}
	f.record(ctx, actor, audit.RecoveryCodesMade)
	return codes, nil
}

// Remove deletes the authenticator app, confirmed or not, and its recovery codes.
func (f *Factors) Remove(ctx context.Context, actor core.Actor) error {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return err
	}
	if err := f.store.DeleteTOTP(ctx, actor.UserID); err != nil {
		return err
	}
	f.record(ctx, actor, audit.TOTPRemoved)
	return nil
}

// Needed reports whether the sign-in of a user requires a second factor.
func (f *Factors) Needed(ctx context.Context, userID string) (bool, error) {
	t, err := f.store.TOTP(ctx, userID)
	if core.IsKind(err, core.KindNotFound) {
		return false, nil
	}
	return t.ConfirmedAt != nil, err
}

// Check accepts a code of the app or a recovery code, each only once. Any other code is ErrCode. The caller limits the
// attempts.
func (f *Factors) Check(ctx context.Context, userID, typed string) error {
	if plain := PlainCode(typed); wellFormedCode(plain) {
		err := f.store.UseRecoveryCode(ctx, userID, f.hash(userID, plain))
		if err == nil {
			f.audit.Note(ctx, audit.Record{Event: audit.RecoveryCodeUsed, UserID: userID})
		}
		return asErrCode(err)
	}
	secret, confirmed, err := f.secret(ctx, userID)
	if err != nil || !confirmed {
		return asErrCode(err)
	}
	step, ok := totpStep(secret, plainDigits(typed), f.clock.Now())
	if !ok {
		return ErrCode
	}
	return asErrCode(f.store.UseTOTP(ctx, userID, step))
}

// asErrCode replaces not_found by ErrCode.
func asErrCode(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return ErrCode
	}
	return err
}

// secret returns the decrypted secret of a user's app.
func (f *Factors) secret(ctx context.Context, userID string) (secret []byte, confirmed bool, err error) {
	t, err := f.store.TOTP(ctx, userID)
	if err != nil {
		return nil, false, err
	}
	secret, err = f.sealer.Open(t.Secret, userID)
	return secret, t.ConfirmedAt != nil, err
}

// newRecoveryCodes returns random recovery codes and their hashes. A hash includes the user id, so a code is valid for
// one user only.
func (f *Factors) newRecoveryCodes(userID string) (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		code := newCode()
		codes = append(codes, code)
		hashes = append(hashes, f.hash(userID, PlainCode(code)))
	}
	return codes, hashes
}

func (f *Factors) hash(userID, plain string) []byte {
	return hashCode(f.key, "recovery "+userID, plain)
}

func (f *Factors) record(ctx context.Context, actor core.Actor, event audit.Event) {
	f.audit.Note(ctx, audit.Record{Event: event, UserID: actor.UserID, Actor: actor.CredentialID})
}

// plainDigits removes separators: apps show codes in two groups.
func plainDigits(typed string) string {
	return strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(typed)
}
