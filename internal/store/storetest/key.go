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
	{"WhatWasMadeWithAKeyEndsWithIt", func(w *world) {
		end := w.after(50)
		root, child, other := w.key(w.ada.id), w.key(w.ada.id), w.key(w.ada.id)
		child.MadeWith = root.ID
		grandchild := w.key(w.ada.id)
		grandchild.MadeWith = child.ID
		for _, k := range []credential.Key{root, child, grandchild, other} {
			w.must(w.db.InsertKey(w.ctx, k, hash()))
		}
		code := func() (credential.Code, []byte) {
			c, h := credential.Code{
				ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, CreatedAt: w.now, ExpiresAt: w.after(100), MadeWith: grandchild.ID, KeyExpiresAt: &end,
			}, hash()
			w.must(w.db.InsertCode(w.ctx, c, h))
			return c, h
		}
		waiting, waitingHash := code()
		got, err := w.db.Code(w.ctx, w.ada.id, waiting.ID)
		w.must(err)
		w.same("code", got, waiting)
		_, usedHash := code()
		minted := w.key(w.ada.id)
		minted.Kind = core.CredentialMinted
		w.must(w.db.RedeemCode(w.ctx, usedHash, w.now, minted, hash()))
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, root.ID, w.after(1)))
		keys, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		for _, k := range keys {
			if revoked := k.RevokedAt != nil; revoked != (k.ID != other.ID) {
				w.t.Errorf("%s is revoked: %v", k.Name, revoked)
			}
			if k.ID == minted.ID {
				w.same("the end of the minted key", k.ExpiresAt, &end)
			}
		}
		w.wantKind(w.db.RedeemCode(w.ctx, waitingHash, w.now, w.key(w.ada.id), hash()), core.KindNotFound, "")
		late := w.key(w.ada.id)
		late.MadeWith = child.ID
		w.wantKind(w.db.InsertKey(w.ctx, late, hash()), core.KindNotFound, "")
		w.wantKind(w.db.InsertCode(w.ctx, credential.Code{ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, ExpiresAt: end, MadeWith: root.ID}, hash()), core.KindNotFound, "")
	}},
	{"AKeyMadeWhileItsMakerIsRevokedDoesNotOutliveIt", func(w *world) {
		for range 10 {
			maker, h := w.key(w.ada.id), hash()
			w.must(w.db.InsertKey(w.ctx, maker, hash()))
			made := w.key(w.ada.id)
			made.MadeWith = maker.ID
			together(2, func(i int) {
				if i == 0 {
					if err := w.db.RevokeKey(w.ctx, w.ada.id, maker.ID, w.now); err != nil {
						w.t.Error(err)
					}
				} else if err := w.db.InsertKey(w.ctx, made, h); err != nil {
					w.wantKind(err, core.KindNotFound, "")
				}
			})
			got, err := w.db.KeyByHash(w.ctx, h, period)
			if err == nil && got.Key.RevokedAt == nil {
				w.t.Error("it outlives the key that it was made with")
			}
		}
	}},
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
	{"AKeyIsFoundWithWhatItHasUsedOfItsOwnCap", func(w *world) {
		k := w.key(w.ada.id)
		h := hash()
		w.must(w.db.InsertKey(w.ctx, k, h))
		w.must(w.reserve(w.with(k.ID), 30))
		got, err := w.db.KeyByHash(w.ctx, h, core.Month(w.now))
		w.must(err)
		w.same("cap of a key without one", got.Cap, (*int64)(nil))
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, k.ID, new(int64(50))))
		for month, used := range map[string]int64{core.Month(w.now): 30, "2020-01": 0} {
			got, err := w.db.KeyByHash(w.ctx, h, month)
			w.must(err)
			w.same("cap", got.Cap, new(int64(50)))
			w.same("used of it in "+month, got.CapUsed, used)
		}
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
	{"AKeyOfTheSameIDGetsANewSecretFromItsUserAlone", func(w *world) {
		k, old, fresh := w.key(w.ada.id), hash(), hash()
		w.must(w.db.InsertKey(w.ctx, k, old))
		k.Hint = "efgh"
		w.must(w.db.InsertKey(w.ctx, k, fresh))
		_, err := w.db.KeyByHash(w.ctx, old, period)
		w.wantMissing(err, "key")
		got, err := w.db.KeyByHash(w.ctx, fresh, period)
		w.must(err)
		w.same("the key", got.Key, k)
		foreign := k
		foreign.UserID = w.bert.id
		w.wantMissing(w.db.InsertKey(w.ctx, foreign, hash()), "user")
	}},
	{"APIKeysAreThoseOfTheUserThatAreNotRevoked", func(w *world) {
		first, second, third, revoked, minted := w.key(w.ada.id), w.key(w.ada.id), w.key(w.ada.id), w.key(w.ada.id), w.key(w.ada.id)
		minted.Kind = core.CredentialMinted
		for _, k := range []credential.Key{first, second, third, revoked, minted, w.key(w.bert.id)} {
			w.must(w.db.InsertKey(w.ctx, k, hash()))
		}
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, revoked.ID, w.now))
		got, err := w.db.APIKeys(w.ctx, w.ada.id, "", 2)
		w.must(err)
		w.same("the first page", got, []credential.Key{third, second})
		got, err = w.db.APIKeys(w.ctx, w.ada.id, second.ID, 2)
		w.must(err)
		w.same("the second page", got, []credential.Key{first})
		one, err := w.db.APIKey(w.ctx, w.ada.id, first.ID)
		w.must(err)
		w.same("one", one, first)
		for _, id := range []string{revoked.ID, minted.ID, "crd_none"} {
			_, err = w.db.APIKey(w.ctx, w.ada.id, id)
			w.wantMissing(err, "key")
		}
		_, err = w.db.APIKey(w.ctx, w.bert.id, first.ID)
		w.wantMissing(err, "key")
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
		last := credential.Use{At: later, Address: "203.0.113.7", Program: "curl/8"}
		w.must(w.db.TouchKeys(w.ctx, map[string]credential.Use{k.ID: last, "crd_none": last}))
		w.must(w.db.TouchKeys(w.ctx, map[string]credential.Use{k.ID: {At: earlier, Address: "192.0.2.1"}}))
		k.LastUsedAt, k.LastAddress, k.LastProgram = &later, last.Address, last.Program
		got, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		w.same("last use", got, []credential.Key{k})
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
	{"ACodeTellsWhatBecameOfIt", func(w *world) {
		c := credential.Code{ID: core.NewID(core.PrefixCredential), UserID: w.ada.id, CreatedAt: w.now, ExpiresAt: w.after(1)}
		old, fresh := hash(), hash()
		w.must(w.db.InsertCode(w.ctx, c, old))
		w.must(w.db.InsertCode(w.ctx, c, fresh)) // the same request again, after a crash
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
		w.wantMissing(w.db.InsertCode(w.ctx, c, hash()), "user") // nobody gets a second use of it
	}},
	{"CodesAreListedNewestFirstAndForgotten", func(w *world) {
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
	{"ACancelledCodeIsUseless", func(w *world) {
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
