package store_test

import (
	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin/upstream"
)

var identityTests = []test{
	{"IdentityFindsItsUser", func(w *fixture) {
		id := upstream.Identity{Issuer: "https://a.example", Subject: core.NewID("s")}
		_, err := w.db.UserByIdentity(w.ctx, id)
		w.wantMissing(err, "user")
		w.must(w.db.LinkIdentity(w.ctx, id, w.ada.id, w.now))
		got, err := w.db.UserByIdentity(w.ctx, id)
		w.must(err)
		w.same("user", got, w.ada.user)
		_, err = w.db.UserByIdentity(w.ctx, upstream.Identity{Issuer: "https://b.example", Subject: id.Subject})
		w.wantMissing(err, "user")
	}},
	{"AnIdentityHasOneUserAndAUserOneAtAProvider", func(w *fixture) {
		first, second := upstream.Identity{Issuer: "https://a.example", Subject: core.NewID("s")}, upstream.Identity{Issuer: "https://a.example", Subject: core.NewID("s")}
		w.must(w.db.LinkIdentity(w.ctx, first, w.ada.id, w.now))
		w.wantKind(w.db.LinkIdentity(w.ctx, first, w.bert.id, w.now), core.KindConflict, "")
		w.wantKind(w.db.LinkIdentity(w.ctx, second, w.ada.id, w.now), core.KindConflict, "")
		w.must(w.db.LinkIdentity(w.ctx, upstream.Identity{Issuer: "https://b.example", Subject: first.Subject}, w.ada.id, w.now))
		w.wantMissing(w.db.LinkIdentity(w.ctx, second, "usr_none", w.now), "user")
	}},
	{"UserOfAProviderHasNoPassword", func(w *fixture) {
		id := upstream.Identity{Issuer: "https://a.example", Subject: core.NewID("s")}
		u := account.User{ID: core.NewID(core.PrefixUser), Name: "New", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: w.now}
		u.Email = u.ID + "@example.org"
		w.must(w.db.InsertUserWithIdentity(w.ctx, u, id))
		got, hash, err := w.db.PasswordHash(w.ctx, u.Email)
		w.must(err)
		w.same("user", got, u)
		w.same("hash", hash, "")
		// A taken identity must not leave a user behind.
		other := u
		other.ID = core.NewID(core.PrefixUser)
		other.Email = other.ID + "@example.org"
		w.wantKind(w.db.InsertUserWithIdentity(w.ctx, other, id), core.KindConflict, "")
		_, err = w.db.UserByEmail(w.ctx, other.Email)
		w.wantMissing(err, "user")
	}},
}
