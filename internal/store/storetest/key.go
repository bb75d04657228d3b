package storetest

import (
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

const period = "2026-11"

// key is a key of the user as the service makes it.
func (w *world) key(userID string) credential.Key {
	return credential.Key{
		ID: core.NewID(core.PrefixCredential), UserID: userID, Kind: core.CredentialKey, Name: "laptop", Hint: "abcd",
		Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}, CreatedAt: w.now,
	}
}

// hash is a secret's hash that nobody else has.
func hash() []byte { return []byte(core.NewSeed()) }

var keyTests = []test{
	{"AKeyIsFoundByHashWithItsUser", func(w *world) {
		expires := w.after(1)
		k := w.key(w.ada.id)
		k.Agents, k.ExpiresAt = []string{w.ada.agent}, &expires
		h := hash()
		w.must(w.db.InsertKey(w.ctx, k, h))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		w.same("found", got, credential.Found{Key: k, User: w.ada.user, Entitlement: w.has(w.ada)})
	}},
	{"AKeyThatEndedIn1970HasEnded", func(w *world) {
		epoch := time.UnixMilli(0).UTC()
		k := w.key(w.ada.id)
		k.ExpiresAt = &epoch
		h := hash()
		w.must(w.db.InsertKey(w.ctx, k, h))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		w.same("expiry", got.Key.ExpiresAt, &epoch)
	}},
	{"AnUnknownHashIsNotFound", func(w *world) {
		_, err := w.db.KeyByHash(w.ctx, hash(), period)
		w.wantMissing(err, "key")
	}},
	{"AKeyNeedsItsUser", func(w *world) {
		w.wantMissing(w.db.InsertKey(w.ctx, w.key("usr_none"), hash()), "user")
	}},
	{"AHashIsOfOneKey", func(w *world) {
		h := hash()
		w.must(w.db.InsertKey(w.ctx, w.key(w.ada.id), h))
		w.wantKind(w.db.InsertKey(w.ctx, w.key(w.bert.id), h), core.KindConflict, "")
	}},
	{"KeysAreListedNewestFirst", func(w *world) {
		first, second, others := w.key(w.ada.id), w.key(w.ada.id), w.key(w.bert.id)
		for _, k := range []credential.Key{first, second, others} {
			w.must(w.db.InsertKey(w.ctx, k, hash()))
		}
		got, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		w.same("keys", got, []credential.Key{second, first})
		got, err = w.db.Keys(w.ctx, "usr_none")
		w.must(err)
		w.same("keys of nobody", got, []credential.Key{})
	}},
	{"RevokingIsForTheOwnerAndKeepsTheFirstTime", func(w *world) {
		k := w.key(w.ada.id)
		w.must(w.db.InsertKey(w.ctx, k, hash()))
		w.wantMissing(w.db.RevokeKey(w.ctx, w.bert.id, k.ID, w.now), "key")
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, k.ID, w.after(1)))
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, k.ID, w.after(2)))
		got, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		first := w.after(1)
		w.same("revoked", got[0].RevokedAt, &first)
	}},
	{"LastUseOnlyMovesForward", func(w *world) {
		k := w.key(w.ada.id)
		w.must(w.db.InsertKey(w.ctx, k, hash()))
		later, earlier := w.after(9), w.after(3)
		w.must(w.db.TouchKeys(w.ctx, map[string]time.Time{k.ID: later, "crd_none": later}))
		w.must(w.db.TouchKeys(w.ctx, map[string]time.Time{k.ID: earlier}))
		got, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		w.same("last use", got[0].LastUsedAt, &later)
	}},
	{"TheUsersStateComesWithTheKey", func(w *world) {
		h := hash()
		w.must(w.db.InsertKey(w.ctx, w.key(w.ada.id), h))
		micros := int64(3)
		w.must(w.db.SetSpendCap(w.ctx, w.ada.id, &micros))
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.now))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		w.same("disabled", got.User.DisabledAt, &w.now)
		w.same("cap", got.User.SpendCap, &micros)
	}},
}

// code adds a connect code and returns its hash.
func (w *world) code(userID string, expires time.Time) []byte {
	w.t.Helper()
	h := hash()
	w.must(w.db.InsertCode(w.ctx, credential.Code{
		ID: core.NewID(core.PrefixCredential), UserID: userID, CreatedAt: w.now, ExpiresAt: expires,
	}, h))
	return h
}

var codeTests = []test{
	{"ACodeMintsAKeyForItsUser", func(w *world) {
		code, minted, h := w.code(w.ada.id, w.after(1)), w.key(""), hash()
		minted.Kind = core.CredentialMinted
		w.must(w.db.RedeemCode(w.ctx, code, w.now, minted, h))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		minted.UserID = w.ada.id
		w.same("minted", got.Key, minted)
	}},
	{"AUselessCodeIsNotFoundAndMintsNothing", func(w *world) {
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
	{"AKeyThatCannotBeStoredLeavesTheCodeUnused", func(w *world) {
		taken := hash()
		w.must(w.db.InsertKey(w.ctx, w.key(w.ada.id), taken))
		code := w.code(w.ada.id, w.after(1))
		w.wantKind(w.db.RedeemCode(w.ctx, code, w.now, w.key(""), taken), core.KindConflict, "")
		w.must(w.db.RedeemCode(w.ctx, code, w.now, w.key(""), hash()))
	}},
	{"ACodeNeedsItsUser", func(w *world) {
		err := w.db.InsertCode(w.ctx, credential.Code{ID: core.NewID(core.PrefixCredential), UserID: "usr_none"}, hash())
		w.wantMissing(err, "user")
	}},
	{"OfManyWhoRedeemACodeOneSucceeds", func(w *world) {
		const rounds, callers = 60, 24
		for range rounds {
			code := w.code(w.ada.id, w.after(1))
			var winners atomic.Int32
			together(callers, func(int) {
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
