package store_test

import (
	"slices"

	"carrel/internal/account"
	"carrel/internal/core"
)

var userTests = []test{
	{"AUserIsFoundByEmail", func(w *fixture) {
		micros := int64(0)
		for _, spendCap := range []*int64{nil, &micros} {
			u := account.User{
				ID: core.NewID(core.PrefixUser), Name: "Grace", Role: core.RoleOwner, Plan: core.PlanNone, SpendCap: spendCap, CreatedAt: w.now,
			}
			u.Email = u.ID + "@example.org"
			w.must(w.db.InsertUser(w.ctx, u, "hash"))
			got, err := w.db.UserByEmail(w.ctx, u.Email)
			w.must(err)
			w.same("user", got, u)
		}
	}},
	{"AMissingUserIsNotFound", func(w *fixture) {
		_, err := w.db.UserByEmail(w.ctx, "nobody@example.org")
		w.wantMissing(err, "user")
		w.wantMissing(w.db.DisableUser(w.ctx, "usr_none", w.now), "user")
		w.wantMissing(w.db.SetPlan(w.ctx, "usr_none", core.PlanNone), "user")
		w.wantMissing(w.db.SetSpendCap(w.ctx, "usr_none", nil), "user")
	}},
	{"UserChangesTheirProfile", func(w *fixture) {
		name, email := "Ada King", "king@example.org"
		want := w.ada.user
		got, err := w.db.ChangeUser(w.ctx, w.ada.id, account.UserChange{})
		w.must(err)
		w.same("nothing", got, want)
		want.Name = name
		got, err = w.db.ChangeUser(w.ctx, w.ada.id, account.UserChange{Name: &name})
		w.must(err)
		w.same("the name", got, want)
		want.Email, want.EmailVerified = email, false
		got, err = w.db.ChangeUser(w.ctx, w.ada.id, account.UserChange{Email: &email})
		w.must(err)
		w.same("the address", got, want)
		got, err = w.db.UserByID(w.ctx, w.ada.id)
		w.must(err)
		w.same("read again", got, want)
		_, err = w.db.ChangeUser(w.ctx, w.ada.id, account.UserChange{Email: &w.bert.user.Email})
		w.wantKind(err, core.KindConflict, "A user with this e-mail address already exists. Choose another address.")
		_, err = w.db.ChangeUser(w.ctx, "usr_none", account.UserChange{Name: &name})
		w.wantMissing(err, "user")
		_, err = w.db.UserByID(w.ctx, "usr_none")
		w.wantMissing(err, "user")
	}},
	{"ChangedAddressIsUnverified", func(w *fixture) {
		u := account.User{ID: core.NewID(core.PrefixUser), EmailVerified: true, Name: "Grace", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: w.now}
		u.Email = u.ID + "@example.org"
		w.must(w.db.InsertUser(w.ctx, u, "hash"))
		asked, own, none := "asked-"+u.Email, "own-"+u.Email, ""
		for _, step := range []struct {
			change         account.UserChange
			email, pending string
			verified       bool
		}{
			{change: account.UserChange{PendingEmail: &asked}, email: u.Email, pending: asked, verified: true},
			{change: account.UserChange{Name: &own}, email: u.Email, pending: asked, verified: true},
			{change: account.UserChange{PendingEmail: &none}, email: u.Email, verified: true},
			{change: account.UserChange{PendingEmail: &w.bert.user.Email}, email: u.Email, pending: w.bert.user.Email, verified: true},
			{change: account.UserChange{Email: &own}, email: own},
			{change: account.UserChange{Name: &own}, email: own},
		} {
			got, err := w.db.ChangeUser(w.ctx, u.ID, step.change)
			w.must(err)
			w.same("user", []any{got.Email, got.PendingEmail, got.EmailVerified}, []any{step.email, step.pending, step.verified})
		}
		got, err := w.db.AdjustUser(w.ctx, u.ID, func(u *account.User) error {
			u.Email, u.EmailVerified = asked, true
			return nil
		})
		w.must(err)
		read, err := w.db.UserByEmail(w.ctx, asked)
		w.must(err)
		w.same("set by an administrator", read, got)
		w.same("it is verified", read.EmailVerified, true)
		_, err = w.db.AdjustUser(w.ctx, u.ID, func(u *account.User) error {
			u.Email = w.bert.user.Email
			return nil
		})
		w.wantKind(err, core.KindConflict, "A user with this e-mail address already exists. Choose another address.")
	}},
	{"AddressIsUnique", func(w *fixture) {
		twin := w.ada.user
		twin.ID = core.NewID(core.PrefixUser)
		err := w.db.InsertUser(w.ctx, twin, "hash")
		w.wantKind(err, core.KindConflict, "A user with this e-mail address already exists. Choose another address.")
		got, err := w.db.UserByEmail(w.ctx, w.ada.user.Email)
		w.must(err)
		w.same("who has the address", got.ID, w.ada.id)
	}},
	{"UsersAreListedOldestFirst", func(w *fixture) {
		users, err := w.db.Users(w.ctx)
		w.must(err)
		ids := make([]string, len(users))
		for i, u := range users {
			ids[i] = u.ID
		}
		if !slices.IsSorted(ids) || !slices.Contains(ids, w.ada.id) || !slices.Contains(ids, w.bert.id) {
			w.t.Errorf("got %v", ids)
		}
	}},
	{"ChangeAffectsOnlyItsUser", func(w *fixture) {
		micros := int64(5e6)
		w.must(w.db.SetPlan(w.ctx, w.ada.id, core.PlanNone))
		w.must(w.db.SetSpendCap(w.ctx, w.ada.id, &micros))
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.after(1)))
		w.must(w.db.DisableUser(w.ctx, w.ada.id, w.after(2)))
		first := w.after(1)
		want := w.ada.user
		want.Plan, want.SpendCap, want.DisabledAt = core.PlanNone, &micros, &first
		got, err := w.db.UserByEmail(w.ctx, want.Email)
		w.must(err)
		w.same("the changed user", got, want)
		got, err = w.db.UserByEmail(w.ctx, w.bert.user.Email)
		w.must(err)
		w.same("the other user", got, w.bert.user)
		w.must(w.db.SetSpendCap(w.ctx, w.ada.id, nil))
		got, err = w.db.UserByEmail(w.ctx, want.Email)
		w.must(err)
		w.same("the cap taken away", got.SpendCap, (*int64)(nil))
	}},
}
