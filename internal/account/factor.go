package account

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// recoveryCodes is how many codes somebody gets for when the authenticator app is lost.
const recoveryCodes = 10

// ErrCode is the one answer to a second factor that fails: wrong, used before and too old look alike.
var ErrCode = core.Unauthenticated("wrong_code", "This code is not right, or was used before. Wait for the next one and type it at once.")

// TOTP is the authenticator app of a user as it is stored.
type TOTP struct {
	// Secret is sealed.
	Secret      []byte
	ConfirmedAt *time.Time
}

// FactorStore keeps authenticator apps and recovery codes. What is not there is not_found.
type FactorStore interface {
	UserByID(ctx context.Context, userID string) (User, error)
	// PutTOTP stores a secret that waits to be confirmed, in place of another that waits; a confirmed one is a conflict.
	PutTOTP(ctx context.Context, userID string, secret []byte, at time.Time) error
	TOTP(ctx context.Context, userID string) (TOTP, error)
	// ConfirmTOTP turns a waiting secret on, with the step of its first code, and stores recovery codes.
	ConfirmTOTP(ctx context.Context, userID string, step int64, hashes [][]byte, at time.Time) error
	// UseTOTP takes a step of a confirmed secret; one at or before the last that was taken is not_found. Of many at once
	// one succeeds.
	UseTOTP(ctx context.Context, userID string, step int64) error
	// DeleteTOTP also deletes the recovery codes.
	DeleteTOTP(ctx context.Context, userID string) error
	PutRecoveryCodes(ctx context.Context, userID string, hashes [][]byte) error
	// UseRecoveryCode takes a code, once.
	UseRecoveryCode(ctx context.Context, userID string, hash []byte) error
	RecoveryCodes(ctx context.Context, userID string) (int, error)
}

// Sealer keeps secrets that must be read again.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Factors is the second factor of sign-ins: an authenticator app, and recovery codes for when it is lost.
type Factors struct {
	store    FactorStore
	clock    core.Clock
	sealer   Sealer
	key      []byte
	recorder Recorder
	issuer   string
	// offered is whether people may set up an app. Those who have one are asked for its codes in any case.
	offered bool
}

// FactorOptions is how an installation has second factors.
type FactorOptions struct {
	// Key is what codes are hashed with.
	Key []byte
	// Issuer is what authenticator apps call the installation.
	Issuer string
	// Offered is whether people may set up an app.
	Offered bool
}

// NewFactors returns the second factors of an installation.
func NewFactors(store FactorStore, clock core.Clock, sealer Sealer, recorder Recorder, o FactorOptions) *Factors {
	return &Factors{store: store, clock: clock, sealer: sealer, key: o.Key, recorder: recorder, issuer: o.Issuer, offered: o.Offered}
}

// FactorStatus is what a user has.
type FactorStatus struct {
	// Offered is whether an app can be set up here.
	Offered bool
	// Since is when the app was confirmed; nil means that there is none.
	Since *time.Time
	// RecoveryCodes is how many are left.
	RecoveryCodes int
}

// Status tells what the actor's user has.
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

// Enrolment is what somebody puts into an authenticator app.
type Enrolment struct {
	// Secret is for typing, URI for a QR code.
	Secret, URI string
}

// Begin makes a secret for an app. It is asked for only after Confirm has seen a code of it.
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

// Waiting returns the secret that waits for its first code, for a page that is shown again.
func (f *Factors) Waiting(ctx context.Context, actor core.Actor) (Enrolment, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return Enrolment{}, err
	}
	secret, on, err := f.secret(ctx, actor.UserID)
	if err == nil && on {
		err = core.NotFound("authenticator app that waits")
	}
	if err != nil {
		return Enrolment{}, err
	}
	return f.enrolment(ctx, actor.UserID, secret)
}

// enrolment shows a secret for the account of a user.
func (f *Factors) enrolment(ctx context.Context, userID string, secret []byte) (Enrolment, error) {
	user, err := f.store.UserByID(ctx, userID)
	if err != nil {
		return Enrolment{}, err
	}
	return Enrolment{Secret: totpText(secret), URI: totpURI(f.issuer, user.Email, secret)}, nil
}

// Confirm turns the second factor on, once the app has shown a right code, and returns recovery codes, which can't be
// had again.
func (f *Factors) Confirm(ctx context.Context, actor core.Actor, code string) ([]string, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return nil, err
	}
	secret, on, err := f.secret(ctx, actor.UserID)
	switch {
	case core.IsKind(err, core.KindNotFound):
		return nil, core.Conflict("conflict", "There is no authenticator app that waits for a code. Begin again.")
	case err != nil:
		return nil, err
	case on:
		return nil, core.Conflict("conflict", "There is an authenticator app already. Remove it first.")
	}
	step, ok := totpStep(secret, plainDigits(code), f.clock.Now())
	if !ok {
		return nil, core.InvalidField("/code", "This is not the code that the app shows now. It has six digits.")
	}
	codes, hashes := f.newCodes(actor.UserID)
	if err := f.store.ConfirmTOTP(ctx, actor.UserID, step, hashes, f.clock.Now()); err != nil {
		return nil, err
	}
	f.note(ctx, actor, audit.TOTPAdded)
	return codes, nil
}

// Renew gives new recovery codes in place of those that are left.
func (f *Factors) Renew(ctx context.Context, actor core.Actor) ([]string, error) {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return nil, err
	}
	if needed, err := f.Needed(ctx, actor.UserID); err != nil || !needed {
		if err == nil {
			err = core.Conflict("conflict", "There is no authenticator app that codes would stand in for.")
		}
		return nil, err
	}
	codes, hashes := f.newCodes(actor.UserID)
	if err := f.store.PutRecoveryCodes(ctx, actor.UserID, hashes); err != nil {
		return nil, err
	}
	f.note(ctx, actor, audit.RecoveryCodesMade)
	return codes, nil
}

// Remove turns the second factor off, or gives up one that waits.
func (f *Factors) Remove(ctx context.Context, actor core.Actor) error {
	if err := AllowOwnProved(actor, f.clock.Now()); err != nil {
		return err
	}
	if err := f.store.DeleteTOTP(ctx, actor.UserID); err != nil {
		return err
	}
	f.note(ctx, actor, audit.TOTPRemoved)
	return nil
}

// Needed reports whether a user has a second factor that must be asked for.
func (f *Factors) Needed(ctx context.Context, userID string) (bool, error) {
	t, err := f.store.TOTP(ctx, userID)
	if core.IsKind(err, core.KindNotFound) {
		return false, nil
	}
	return t.ConfirmedAt != nil, err
}

// Check takes a code of the app or a recovery code, each once. A code that is not good is ErrCode. Whether somebody may
// try is decided by the caller's limits.
func (f *Factors) Check(ctx context.Context, userID, typed string) error {
	if plain := PlainCode(typed); wellFormedCode(plain) {
		err := f.store.UseRecoveryCode(ctx, userID, f.hash(userID, plain))
		if err == nil {
			f.recorder.Note(ctx, audit.Record{Event: audit.RecoveryCodeUsed, UserID: userID})
		}
		return orErrCode(err)
	}
	secret, on, err := f.secret(ctx, userID)
	if err != nil || !on {
		return orErrCode(err)
	}
	step, ok := totpStep(secret, plainDigits(typed), f.clock.Now())
	if !ok {
		return ErrCode
	}
	return orErrCode(f.store.UseTOTP(ctx, userID, step))
}

// orErrCode is ErrCode for a code that was not there to be taken.
func orErrCode(err error) error {
	if core.IsKind(err, core.KindNotFound) {
		return ErrCode
	}
	return err
}

// secret returns the opened secret of a user's app, and whether it is confirmed.
func (f *Factors) secret(ctx context.Context, userID string) (secret []byte, on bool, err error) {
	t, err := f.store.TOTP(ctx, userID)
	if err != nil {
		return nil, false, err
	}
	secret, err = f.sealer.Open(t.Secret, userID)
	return secret, t.ConfirmedAt != nil, err
}

// newCodes returns fresh recovery codes and what is stored of them. The user is part of the hash: nobody's code is good
// for another.
func (f *Factors) newCodes(userID string) (codes []string, hashes [][]byte) {
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

func (f *Factors) note(ctx context.Context, actor core.Actor, event audit.Event) {
	f.recorder.Note(ctx, audit.Record{Event: event, UserID: actor.UserID, Actor: actor.CredentialID})
}

// plainDigits reads a code as people type it: apps show it in two groups.
func plainDigits(typed string) string {
	return strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(typed)
}
