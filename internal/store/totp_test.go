package store_test

import (
	"carrel/internal/core"
	"carrel/internal/signin"
)

var totpTests = []test{
	{"AuthenticatorIsPendingUntilConfirmed", func(w *fixture) {
		_, err := w.db.TOTP(w.ctx, w.ada.id)
		w.wantMissing(err, "authenticator app")
		w.wantMissing(w.db.ConfirmTOTP(w.ctx, w.ada.id, 1, nil, w.now), "pending authenticator app")
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
		w.wantMissing(w.db.ConfirmTOTP(w.ctx, w.ada.id, 8, nil, w.now), "pending authenticator app")
	}},
	{"TimeStepIsUsedOnceAndNeverMovesBack", func(w *fixture) {
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.ConfirmTOTP(w.ctx, w.ada.id, 7, nil, w.now))
		w.wantMissing(w.db.UseTOTP(w.ctx, w.ada.id, 7), "code")
		w.exactlyOne("step", func() error { return w.db.UseTOTP(w.ctx, w.ada.id, 9) })
		w.wantMissing(w.db.UseTOTP(w.ctx, w.ada.id, 8), "code")
		w.must(w.db.UseTOTP(w.ctx, w.ada.id, 10))
	}},
	{"RecoveryCodeIsUsedOnceByItsUser", func(w *fixture) {
		h := hash()
		w.must(w.db.PutRecoveryCodes(w.ctx, w.ada.id, [][]byte{hash(), hash()}))
		w.must(w.db.PutRecoveryCodes(w.ctx, w.ada.id, [][]byte{h, hash(), hash()})) // replaces the earlier codes
		w.wantMissing(w.db.UseRecoveryCode(w.ctx, w.bert.id, h), "code")
		w.exactlyOne("code", func() error { return w.db.UseRecoveryCode(w.ctx, w.ada.id, h) })
		n, err := w.db.RecoveryCodes(w.ctx, w.ada.id)
		w.must(err)
		w.same("left", n, 2)
	}},
	{"AuthenticatorIsDeletedWithItsCodes", func(w *fixture) {
		w.wantMissing(w.db.DeleteTOTP(w.ctx, w.ada.id), "authenticator app")
		w.must(w.db.PutTOTP(w.ctx, w.ada.id, []byte("secret"), w.now))
		w.must(w.db.ConfirmTOTP(w.ctx, w.ada.id, 7, [][]byte{hash()}, w.now))
		w.must(w.db.DeleteTOTP(w.ctx, w.ada.id))
		n, err := w.db.RecoveryCodes(w.ctx, w.ada.id)
		w.must(err)
		w.same("left", n, 0)
	}},
}
