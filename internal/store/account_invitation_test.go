package store_test

import (
	"slices"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// accountInvitation returns an unsaved invitation by the operator.
func (w *fixture) accountInvitation() signin.Invitation {
	return signin.Invitation{
		ID: core.NewID(core.PrefixInvitation), Role: core.RoleMember, CreatedAt: w.now, ExpiresAt: w.after(10),
	}
}

// invited returns an unsaved account.
func (w *fixture) invited(email string, verified bool) account.User {
	return account.User{
		ID: core.NewID(core.PrefixUser), Email: email, EmailVerified: verified, Name: "Grace", Role: core.RoleMember,
		Plan: core.PlanOpen, CreatedAt: w.now,
	}
}

// addressTaken is the detail of a conflict.
const addressTaken = "A user with this e-mail address already exists. Choose another address."

var accountInvitationTests = []test{
	{"AccountInvitationIsListedUntilItExpiresOrIsRevoked", func(w *fixture) {
		first, second, h := w.accountInvitation(), w.accountInvitation(), hash()
		first.Email, first.Plan = "grace@example.org", "open"
		second.CreatedAt = w.after(1)
		w.must(w.db.InsertAccountInvitation(w.ctx, first, h, 9))
		w.must(w.db.InsertAccountInvitation(w.ctx, second, hash(), 9))
		got, err := w.db.AccountInvitations(w.ctx, w.now)
		w.must(err)
		w.same("list", got, []signin.Invitation{second, first})
		found, err := w.db.AccountInvitationByHash(w.ctx, h, w.now)
		w.must(err)
		w.same("found", found, first)
		_, err = w.db.AccountInvitationByHash(w.ctx, h, first.ExpiresAt)
		w.wantMissing(err, "invitation")
		w.must(w.db.DeleteAccountInvitation(w.ctx, first.ID, w.now))
		w.wantMissing(w.db.DeleteAccountInvitation(w.ctx, first.ID, w.now), "invitation")
		_, err = w.db.AccountInvitationByHash(w.ctx, h, w.now)
		w.wantMissing(err, "invitation")
		w.must(w.db.PruneAccountInvitations(w.ctx, second.ExpiresAt))
		got, err = w.db.AccountInvitations(w.ctx, w.now)
		w.must(err)
		w.same("after pruning", got, []signin.Invitation{})
	}},
	{"AccountInvitationIsRefusedForKnownAddressesAndAboveTheLimit", func(w *fixture) {
		i := w.accountInvitation()
		i.Email = w.ada.user.Email
		w.wantKind(w.db.InsertAccountInvitation(w.ctx, i, hash(), 9), core.KindConflict, addressTaken)
		w.must(w.db.InsertAccountInvitation(w.ctx, w.accountInvitation(), hash(), 1))
		w.wantKind(w.db.InsertAccountInvitation(w.ctx, w.accountInvitation(), hash(), 1), core.KindConflict,
			"Too many invitations are open. Revoke some first.")
	}},
	{"ConcurrentRedemptionsCreateOneAccount", func(w *fixture) {
		h := hash()
		w.must(w.db.InsertAccountInvitation(w.ctx, w.accountInvitation(), h, 9))
		w.exactlyOne("redeem", func() error {
			u := w.invited(core.NewID(core.PrefixUser)+"@example.org", true)
			return w.db.RedeemAccountInvitation(w.ctx, h, w.now, u, "hash")
		})
	}},
	{"RedemptionWithAKnownAddressKeepsTheInvitation", func(w *fixture) {
		h := hash()
		w.must(w.db.InsertAccountInvitation(w.ctx, w.accountInvitation(), h, 9))
		err := w.db.RedeemAccountInvitation(w.ctx, h, w.now, w.invited(w.ada.user.Email, true), "hash")
		w.wantKind(err, core.KindConflict, addressTaken)
		w.must(w.db.RedeemAccountInvitation(w.ctx, h, w.now, w.invited("grace@example.org", true), "hash"))
	}},
	{"InvitationEndsWithTheRightsOfItsCreator", func(w *fixture) {
		for _, role := range []core.Role{core.RoleOwner, core.RoleAdmin, core.RoleMember} {
			creator := w.invited(core.NewID(core.PrefixUser)+"@example.org", true)
			creator.Role = role
			w.must(w.db.InsertUser(w.ctx, creator, "hash"))
			for _, given := range []core.Role{core.RoleAdmin, core.RoleMember} {
				i, h := w.accountInvitation(), hash()
				i.Role, i.CreatorID = given, creator.ID
				w.must(w.db.InsertAccountInvitation(w.ctx, i, h, 99))
				_, err := w.db.AccountInvitationByHash(w.ctx, h, w.now)
				if role == core.RoleOwner || role == core.RoleAdmin && given == core.RoleMember {
					w.must(err)
				} else {
					w.wantMissing(err, "invitation")
				}
			}
			w.must(w.db.DisableUser(w.ctx, creator.ID, w.now.Add(time.Second)))
			list, err := w.db.AccountInvitations(w.ctx, w.now)
			w.must(err)
			if slices.ContainsFunc(list, func(i signin.Invitation) bool { return i.CreatorID == creator.ID }) {
				w.t.Errorf("an invitation of a disabled %s is open", role)
			}
		}
	}},
}
