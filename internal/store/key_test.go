package store_test

import (
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/testkit"
)

const period = "2026-11"

// key returns an unsaved key of the user.
func (w *fixture) key(userID string) credential.Key {
	return credential.Key{
		ID: core.NewID(core.PrefixCredential), UserID: userID, Kind: core.CredentialKey, Name: "laptop", Hint: "abcd",
		Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}, CreatedAt: w.now,
	}
}

// hash returns a unique hash of a secret.
func hash() []byte { return []byte(core.NewSeed()) }

var keyTests = []test{
	{"CredentialsCreatedWithAKeyAreRevokedWithIt", func(w *fixture) {
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
	{"KeyCreatedDuringRevocationOfItsParentIsRevoked", func(w *fixture) {
		for range 10 {
			maker, h := w.key(w.ada.id), hash()
			w.must(w.db.InsertKey(w.ctx, maker, hash()))
			made := w.key(w.ada.id)
			made.MadeWith = maker.ID
			testkit.Concurrently(2, func(i int) {
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
				w.t.Error("it outlives its parent key")
			}
		}
	}},
	{"AKeyIsFoundByHashWithItsUser", func(w *fixture) {
		expires := w.after(1)
		k := w.key(w.ada.id)
		k.Agents, k.ExpiresAt = []string{w.ada.agent}, &expires
		h := hash()
		w.must(w.db.InsertKey(w.ctx, k, h))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		w.same("found", got, credential.Found{Key: k, User: w.ada.user, Entitlement: w.has(w.ada)})
	}},
	{"KeyIsFoundWithTheUsageOfItsCap", func(w *fixture) {
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
	{"KeyThatExpiredAtTheEpochIsExpired", func(w *fixture) {
		epoch := time.UnixMilli(0).UTC()
		k := w.key(w.ada.id)
		k.ExpiresAt = &epoch
		h := hash()
		w.must(w.db.InsertKey(w.ctx, k, h))
		got, err := w.db.KeyByHash(w.ctx, h, period)
		w.must(err)
		w.same("expiry", got.Key.ExpiresAt, &epoch)
	}},
	{"AnUnknownHashIsNotFound", func(w *fixture) {
		_, err := w.db.KeyByHash(w.ctx, hash(), period)
		w.wantMissing(err, "key")
	}},
	{"AKeyNeedsItsUser", func(w *fixture) {
		w.wantMissing(w.db.InsertKey(w.ctx, w.key("usr_none"), hash()), "user")
	}},
	{"HashIsUnique", func(w *fixture) {
		h := hash()
		w.must(w.db.InsertKey(w.ctx, w.key(w.ada.id), h))
		w.wantKind(w.db.InsertKey(w.ctx, w.key(w.bert.id), h), core.KindConflict, "")
	}},
	{"KeysAreListedNewestFirst", func(w *fixture) {
		first, second, others := w.key(w.ada.id), w.key(w.ada.id), w.key(w.bert.id)
		for _, k := range []credential.Key{first, second, others} {
			w.must(w.db.InsertKey(w.ctx, k, hash()))
		}
		got, err := w.db.Keys(w.ctx, w.ada.id)
		w.must(err)
		w.same("keys", got, []credential.Key{second, first})
		got, err = w.db.Keys(w.ctx, "usr_none")
		w.must(err)
		w.same("keys of an unknown user", got, []credential.Key{})
	}},
	{"OnlyTheOwnerReplacesTheSecretOfAKey", func(w *fixture) {
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
	{"APIKeysListsUnrevokedKeysOfTheUser", func(w *fixture) {
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
	{"OnlyTheOwnerRevokesAKeyAndTheFirstTimeIsKept", func(w *fixture) {
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
	{"LastUseNeverMovesBack", func(w *fixture) {
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
	{"KeyIsFoundWithTheStateOfItsUser", func(w *fixture) {
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
