package store_test

import (
	"carrel/internal/core"
	"carrel/internal/signin/passkey"
)

// passkey returns an unsaved passkey of the user.
func (w *fixture) passkey(userID string) passkey.Passkey {
	return passkey.Passkey{
		ID: core.NewID(core.PrefixCredential), UserID: userID, CredentialID: hash(), Name: "Phone", Record: []byte(`{"id": "x"}`), CreatedAt: w.now,
	}
}

var passkeyTests = []test{
	{"PasskeysAreListedNewestFirst", func(w *fixture) {
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
	{"OnlyItsUserUsesRenamesAndDeletesAPasskey", func(w *fixture) {
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
