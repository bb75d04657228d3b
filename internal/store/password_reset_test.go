package store_test

import (
	"carrel/internal/signin"
	"carrel/internal/signin/passkey"
)

// reset returns an unsaved reset code of Ada's.
func (w *fixture) reset(clears bool) signin.Reset {
	return signin.Reset{UserID: w.ada.id, ClearFactors: clears, CreatedAt: w.now, ExpiresAt: w.after(10)}
}

var resetTests = []test{
	{"ResetCodeIsFoundUntilItExpires", func(w *fixture) {
		r, first, second := w.reset(true), hash(), hash()
		w.must(w.db.PutReset(w.ctx, r, first))
		got, err := w.db.ResetByHash(w.ctx, first, w.now)
		w.must(err)
		w.same("found", got, r)
		_, err = w.db.ResetByHash(w.ctx, first, r.ExpiresAt)
		w.wantMissing(err, "reset code")
		w.must(w.db.PutReset(w.ctx, w.reset(false), second))
		_, err = w.db.ResetByHash(w.ctx, first, w.now)
		w.wantMissing(err, "reset code") // replaced by the new code
		r.UserID = "usr_none"
		w.wantMissing(w.db.PutReset(w.ctx, r, hash()), "user")
	}},
	{"ConcurrentResetsSucceedOnceAndRevokeSessions", func(w *fixture) {
		h := hash()
		w.insertSession(w.session(w.ada.id))
		other := w.session(w.bert.id)
		w.insertSession(other)
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.PutReset(w.ctx, w.reset(false), h))
		w.exactlyOne("redeem", func() error {
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
		w.same("of another user", w.liveSessions(w.bert.id), []string{other.ID})
		_, err = w.db.TOTP(w.ctx, w.ada.id)
		w.must(err) // this reset does not clear the factors
	}},
	{"ResetMayClearOtherFactors", func(w *fixture) {
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
	{"DisabledUserCannotReset", func(w *fixture) {
		h := hash()
		w.must(w.db.PutReset(w.ctx, w.reset(false), h))
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.now))
		_, err := w.db.ResetByHash(w.ctx, h, w.now)
		w.wantMissing(err, "reset code")
		_, err = w.db.RedeemReset(w.ctx, h, w.now, "another")
		w.wantMissing(err, "reset code")
	}},
}
