package storetest

import (
	"sync/atomic"

	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

// pending is something that was begun as the service has it.
func (w *world) pending() signin.Pending {
	return signin.Pending{
		Kind: signin.PendingFactor, UserID: w.ada.id, SessionID: "crd_1", Data: []byte(`{"a": 1}`), ExpiresAt: w.after(10),
	}
}

// one fails the test unless exactly one of many callers at once succeeds, and the others find nothing.
func (w *world) one(what string, call func() error) {
	w.t.Helper()
	const callers = 24
	var winners atomic.Int32
	together(callers, func(int) {
		err := call()
		if err == nil {
			winners.Add(1)
			return
		}
		w.wantKind(err, core.KindNotFound, "")
	})
	if n := winners.Load(); n != 1 {
		w.t.Errorf("%s: %d of %d callers succeed", what, n, callers)
	}
}

var pendingTests = []test{
	{"WhatIsPendingIsFoundByHashKindAndTime", func(w *world) {
		p, h := w.pending(), hash()
		w.must(w.db.InsertPending(w.ctx, p, h))
		got, err := w.db.PendingByHash(w.ctx, p.Kind, h, w.now)
		w.must(err)
		w.same("found", got, p)
		for _, look := range []func() error{
			func() error { _, err := w.db.PendingByHash(w.ctx, p.Kind, hash(), w.now); return err },
			func() error {
				_, err := w.db.PendingByHash(w.ctx, signin.PendingUpstream, h, w.now)
				return err
			},
			func() error { _, err := w.db.PendingByHash(w.ctx, p.Kind, h, p.ExpiresAt); return err },
			func() error {
				_, err := w.db.TakePending(w.ctx, signin.PendingUpstream, h, w.now)
				return err
			},
			func() error { _, err := w.db.TakePending(w.ctx, p.Kind, h, p.ExpiresAt); return err },
		} {
			w.wantMissing(look(), "pending sign-in")
		}
		got, err = w.db.TakePending(w.ctx, p.Kind, h, w.now)
		w.must(err)
		w.same("taken", got, p)
	}},
	{"OfManyWhoTakeWhatIsPendingOneGetsIt", func(w *world) {
		p, h := w.pending(), hash()
		w.must(w.db.InsertPending(w.ctx, p, h))
		w.one("take", func() error { _, err := w.db.TakePending(w.ctx, p.Kind, h, w.now); return err })
	}},
	{"WhatHasExpiredIsForgotten", func(w *world) {
		old, young := w.pending(), w.pending()
		old.ExpiresAt = w.now
		oldHash, youngHash := hash(), hash()
		w.must(w.db.InsertPending(w.ctx, old, oldHash))
		w.must(w.db.InsertPending(w.ctx, young, youngHash))
		w.must(w.db.PrunePending(w.ctx, w.now))
		w.wantKind(w.db.InsertPending(w.ctx, young, youngHash), core.KindConflict, "")
		w.must(w.db.InsertPending(w.ctx, old, oldHash)) // there is room again
	}},
}

// reset is a code for a new password of Ada's.
func (w *world) reset(clears bool) signin.Reset {
	return signin.Reset{UserID: w.ada.id, ClearFactors: clears, CreatedAt: w.now, ExpiresAt: w.after(10)}
}

var resetTests = []test{
	{"ACodeForANewPasswordIsFoundUntilItsEnd", func(w *world) {
		r, first, second := w.reset(true), hash(), hash()
		w.must(w.db.PutReset(w.ctx, r, first))
		got, err := w.db.ResetByHash(w.ctx, first, w.now)
		w.must(err)
		w.same("found", got, r)
		_, err = w.db.ResetByHash(w.ctx, first, r.ExpiresAt)
		w.wantMissing(err, "reset code")
		w.must(w.db.PutReset(w.ctx, w.reset(false), second))
		_, err = w.db.ResetByHash(w.ctx, first, w.now)
		w.wantMissing(err, "reset code") // the new one takes its place
		r.UserID = "usr_none"
		w.wantMissing(w.db.PutReset(w.ctx, r, hash()), "user")
	}},
	{"OfManyWhoUseACodeOneSetsThePasswordAndAllSessionsEnd", func(w *world) {
		h := hash()
		w.insertSession(w.session(w.ada.id))
		other := w.session(w.bert.id)
		w.insertSession(other)
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.PutReset(w.ctx, w.reset(false), h))
		w.one("redeem", func() error {
			userID, err := w.db.RedeemReset(w.ctx, h, w.now, "another")
			if err == nil {
				w.same("user", userID, w.ada.id)
			}
			return err
		})
		_, stored, err := w.db.PasswordHash(w.ctx, w.ada.user.Email)
		w.must(err)
		w.same("hash", stored, "another")
		w.same("sessions", w.liveSessions(w.ada.id), []string{})
		w.same("of somebody else", w.liveSessions(w.bert.id), []string{other.ID})
		_, err = w.db.TOTP(w.ctx, w.ada.id)
		w.must(err) // it was not asked to go
	}},
	{"ACodeMayClearTheOtherFactors", func(w *world) {
		h := hash()
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.ConfirmTOTP(w.ctx, w.ada.id, 7, [][]byte{hash()}, w.now))
		w.must(w.db.InsertPasskey(w.ctx, w.passkey(w.ada.id)))
		kept := w.passkey(w.bert.id)
		w.must(w.db.InsertPasskey(w.ctx, kept))
		w.must(w.db.PutReset(w.ctx, w.reset(true), h))
		_, err := w.db.RedeemReset(w.ctx, h, w.now, "another")
		w.must(err)
		_, err = w.db.TOTP(w.ctx, w.ada.id)
		w.wantMissing(err, "authenticator app")
		n, err := w.db.RecoveryCodes(w.ctx, w.ada.id)
		w.must(err)
		w.same("codes", n, 0)
		for id, want := range map[string][]passkey.Passkey{w.ada.id: {}, w.bert.id: {kept}} {
			got, err := w.db.Passkeys(w.ctx, id)
			w.must(err)
			w.same("passkeys", got, want)
		}
	}},
	{"SomebodyWhoIsShutOutCantUseACode", func(w *world) {
		h := hash()
		w.must(w.db.PutReset(w.ctx, w.reset(false), h))
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.now))
		_, err := w.db.ResetByHash(w.ctx, h, w.now)
		w.wantMissing(err, "reset code")
		_, err = w.db.RedeemReset(w.ctx, h, w.now, "another")
		w.wantMissing(err, "reset code")
	}},
}

var totpTests = []test{
	{"AnAppWaitsUntilItIsConfirmed", func(w *world) {
		_, err := w.db.TOTP(w.ctx, w.ada.id)
		w.wantMissing(err, "authenticator app")
		w.wantMissing(w.db.ConfirmTOTP(w.ctx, w.ada.id, 1, nil, w.now), "authenticator app that waits")
		w.wantMissing(w.db.PutTOTP(w.ctx, "usr_none", []byte("x"), w.now), "user")
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("first"), w.now))
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("second"), w.now))
		got, err := w.db.TOTP(w.ctx, w.ada.id)
		w.must(err)
		w.same("waiting", got, signin.TOTP{Secret: []byte("second")})
		w.wantMissing(w.db.UseTOTP(w.ctx, w.ada.id, 100), "code")
		w.must(w.db.ConfirmTOTP(w.ctx, w.ada.id, 7, [][]byte{hash(), hash()}, w.after(1)))
		confirmed := w.after(1)
		got, err = w.db.TOTP(w.ctx, w.ada.id)
		w.must(err)
		w.same("confirmed", got, signin.TOTP{Secret: []byte("second"), ConfirmedAt: &confirmed})
		w.wantKind(w.db.PutTOTP(w.ctx, w.ada.id, []byte("third"), w.now), core.KindConflict, "")
		w.wantMissing(w.db.ConfirmTOTP(w.ctx, w.ada.id, 8, nil, w.now), "authenticator app that waits")
	}},
	{"AStepIsTakenOnceAndNoneBeforeIt", func(w *world) {
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.ConfirmTOTP(w.ctx, w.ada.id, 7, nil, w.now))
		w.wantMissing(w.db.UseTOTP(w.ctx, w.ada.id, 7), "code")
		w.one("step", func() error { return w.db.UseTOTP(w.ctx, w.ada.id, 9) })
		w.wantMissing(w.db.UseTOTP(w.ctx, w.ada.id, 8), "code")
		w.must(w.db.UseTOTP(w.ctx, w.ada.id, 10))
	}},
	{"ARecoveryCodeIsTakenOnceByItsUser", func(w *world) {
		h := hash()
		w.must(w.db.PutRecoveryCodes(w.ctx, w.ada.id, [][]byte{hash(), hash()}))
		w.must(w.db.PutRecoveryCodes(w.ctx, w.ada.id, [][]byte{h, hash(), hash()})) // in place of those
		w.wantMissing(w.db.UseRecoveryCode(w.ctx, w.bert.id, h), "code")
		w.one("code", func() error { return w.db.UseRecoveryCode(w.ctx, w.ada.id, h) })
		n, err := w.db.RecoveryCodes(w.ctx, w.ada.id)
		w.must(err)
		w.same("left", n, 2)
	}},
	{"AnAppGoesWithItsCodes", func(w *world) {
		w.wantMissing(w.db.DeleteTOTP(w.ctx, w.ada.id), "authenticator app")
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.ConfirmTOTP(w.ctx, w.ada.id, 7, [][]byte{hash()}, w.now))
		w.must(w.db.DeleteTOTP(w.ctx, w.ada.id))
		n, err := w.db.RecoveryCodes(w.ctx, w.ada.id)
		w.must(err)
		w.same("left", n, 0)
	}},
}

// passkey is a passkey of the user as the service makes it.
func (w *world) passkey(userID string) passkey.Passkey {
	return passkey.Passkey{
		ID: core.NewID(core.PrefixCredential), UserID: userID, CredentialID: hash(), Name: "Phone", Record: []byte(`{"id": "x"}`), CreatedAt: w.now,
	}
}

var passkeyTests = []test{
	{"PasskeysAreListedNewestFirst", func(w *world) {
		first, second, other := w.passkey(w.ada.id), w.passkey(w.ada.id), w.passkey(w.bert.id)
		for _, p := range []passkey.Passkey{first, second, other} {
			w.must(w.db.InsertPasskey(w.ctx, p))
		}
		got, err := w.db.Passkeys(w.ctx, w.ada.id)
		w.must(err)
		w.same("listed", got, []passkey.Passkey{second, first})
		again := w.passkey(w.bert.id)
		again.CredentialID = first.CredentialID
		w.wantKind(w.db.InsertPasskey(w.ctx, again), core.KindConflict, "")
		w.wantMissing(w.db.InsertPasskey(w.ctx, w.passkey("usr_none")), "user")
	}},
	{"APasskeyIsUsedRenamedAndRemovedByItsUserAlone", func(w *world) {
		p := w.passkey(w.ada.id)
		w.must(w.db.InsertPasskey(w.ctx, p))
		w.wantMissing(w.db.UsePasskey(w.ctx, w.bert.id, p.CredentialID, nil, w.now), "passkey")
		w.wantMissing(w.db.RenamePasskey(w.ctx, w.bert.id, p.ID, "Mine"), "passkey")
		w.wantMissing(w.db.DeletePasskey(w.ctx, w.bert.id, p.ID), "passkey")
		used := w.after(5)
		w.must(w.db.UsePasskey(w.ctx, w.ada.id, p.CredentialID, []byte("counted"), used))
		w.must(w.db.RenamePasskey(w.ctx, w.ada.id, p.ID, "Laptop"))
		p.Record, p.LastUsedAt, p.Name = []byte("counted"), &used, "Laptop"
		got, err := w.db.Passkeys(w.ctx, w.ada.id)
		w.must(err)
		w.same("changed", got, []passkey.Passkey{p})
		w.must(w.db.DeletePasskey(w.ctx, w.ada.id, p.ID))
		w.wantMissing(w.db.UsePasskey(w.ctx, w.ada.id, p.CredentialID, nil, w.now), "passkey")
	}},
}
