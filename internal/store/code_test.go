package store_test

import (
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/testkit"
)

// code adds a connect code and returns its hash.
func (w *fixture) code(userID string, expires time.Time) []byte {
	w.t.Helper()
	h := hash()
	w.must(w.db.InsertCode(w.ctx, credential.Code{
		ID: core.NewID(core.PrefixCredential), UserID: userID, CreatedAt: w.now, ExpiresAt: expires,
	}, h))
	return h
}

var codeTests = []test{
	{"ACodeMintsAKeyForItsUser", func(w *fixture) {
		code, minted, h := w.code(w.ada.id, w.after(1)), w.key(""), hash()
		minted.Kind = core.CredentialMinted
		w.must(w.db.RedeemCode(w.ctx, code, w.now, minted, h))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		minted.UserID = w.ada.id
		w.same("minted", got.Key, minted)
	}},
	{"UnusableCodeMintsNoKey", func(w *fixture) {
		used := w.code(w.ada.id, w.after(1))
		w.must(w.db.RedeemCode(w.ctx, used, w.now, w.key(""), hash()))
		expired := w.code(w.ada.id, w.now)
		disabled := w.code(w.bert.id, w.after(1))
		w.must(w.db.DisableUser(w.ctx, w.bert.id, w.now))
		for name, code := range map[string][]byte{"used": used, "expired": expired, "disabled": disabled, "unknown": hash()} {
			h := hash()
			err := w.db.RedeemCode(w.ctx, code, w.now, w.key(""), h)
			w.wantMissing(err, "connect code")
			if _, err := w.db.KeyByHash(w.ctx, h, period); !core.IsKind(err, core.KindNotFound) {
				w.t.Errorf("%s code: its key is %v, want not_found", name, err)
			}
		}
	}},
	{"AKeyThatCannotBeStoredLeavesTheCodeUnused", func(w *fixture) {
		taken := hash()
		w.must(w.db.InsertKey(w.ctx, w.key(w.ada.id), taken))
		code := w.code(w.ada.id, w.after(1))
		w.wantKind(w.db.RedeemCode(w.ctx, code, w.now, w.key(""), taken), core.KindConflict, "")
		w.must(w.db.RedeemCode(w.ctx, code, w.now, w.key(""), hash()))
	}},
	{"ACodeNeedsItsUser", func(w *fixture) {
		err := w.db.InsertCode(w.ctx, credential.Code{ID: core.NewID(core.PrefixCredential), UserID: "usr_none"}, hash())
		w.wantMissing(err, "user")
	}},
	{"CodeShowsTheKeyItWasRedeemedFor", func(w *fixture) {
		c := credential.Code{ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, CreatedAt: w.now, ExpiresAt: w.after(1)}
		old, fresh := hash(), hash()
		w.must(w.db.InsertCode(w.ctx, c, old))
		w.must(w.db.InsertCode(w.ctx, c, fresh)) // the request is repeated after a crash
		got, err := w.db.Code(w.ctx, w.ada.id, c.ID)
		w.must(err)
		w.same("waiting", got, c)
		_, err = w.db.Code(w.ctx, w.bert.id, c.ID)
		w.wantMissing(err, "connect code")
		minted := w.key("")
		minted.Kind, minted.ClientName = core.CredentialMinted, "editor"
		w.wantMissing(w.db.RedeemCode(w.ctx, old, w.now, minted, hash()), "connect code")
		w.must(w.db.RedeemCode(w.ctx, fresh, w.now, minted, hash()))
		c.UsedAt, c.KeyID, c.ClientName = &w.now, minted.ID, "editor"
		got, err = w.db.Code(w.ctx, w.ada.id, c.ID)
		w.must(err)
		w.same("claimed", got, c)
		w.wantMissing(w.db.InsertCode(w.ctx, c, hash()), "user") // a used code cannot be renewed
	}},
	{"CodesAreListedNewestFirstAndPruned", func(w *fixture) {
		var codes []credential.Code
		for i := range 3 {
			c := credential.Code{ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, CreatedAt: w.now, ExpiresAt: w.after(i)}
			w.must(w.db.InsertCode(w.ctx, c, hash()))
			codes = append(codes, c)
		}
		w.code(w.bert.id, w.after(1))
		got, err := w.db.Codes(w.ctx, w.ada.id, "", 2)
		w.must(err)
		w.same("the first page", got, []credential.Code{codes[2], codes[1]})
		got, err = w.db.Codes(w.ctx, w.ada.id, codes[1].ID, 2)
		w.must(err)
		w.same("the second page", got, []credential.Code{codes[0]})
		w.must(w.db.PruneCodes(w.ctx, w.after(1)))
		got, err = w.db.Codes(w.ctx, w.ada.id, "", 9)
		w.must(err)
		w.same("after pruning", got, []credential.Code{codes[2], codes[1]})
	}},
	{"CancelledCodeCannotBeRedeemed", func(w *fixture) {
		c, h := credential.Code{ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, CreatedAt: w.now, ExpiresAt: w.after(1)}, hash()
		w.must(w.db.InsertCode(w.ctx, c, h))
		w.wantMissing(w.db.CancelCode(w.ctx, w.bert.id, c.ID), "connect code")
		w.must(w.db.CancelCode(w.ctx, w.ada.id, c.ID))
		w.wantMissing(w.db.CancelCode(w.ctx, w.ada.id, c.ID), "connect code")
		w.wantMissing(w.db.RedeemCode(w.ctx, h, w.now, w.key(""), hash()), "connect code")
		used := credential.Code{ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, CreatedAt: w.now, ExpiresAt: w.after(1)}
		w.must(w.db.InsertCode(w.ctx, used, h))
		w.must(w.db.RedeemCode(w.ctx, h, w.now, w.key(""), hash()))
		w.wantMissing(w.db.CancelCode(w.ctx, w.ada.id, used.ID), "connect code")
	}},
	{"ConcurrentRedemptionsOfACodeSucceedOnce", func(w *fixture) {
		const rounds, callers = 60, 24
		for range rounds {
			code := w.code(w.ada.id, w.after(1))
			var winners atomic.Int32
			testkit.Concurrently(callers, func(int) {
				err := w.db.RedeemCode(w.ctx, code, w.now, w.key(""), hash())
				if err == nil {
					winners.Add(1)
				} else {
					w.wantMissing(err, "connect code")
				}
			})
			if n := winners.Load(); n != 1 {
				w.t.Fatalf("%d callers redeemed one code", n)
			}
		}
		keys, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		w.same("keys minted", len(keys), rounds)
	}},
}
