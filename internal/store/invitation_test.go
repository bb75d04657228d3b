package store_test

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/signin/upstream"
)

// held is a time before any invitation of the test was declined.
func (w *fixture) held() time.Time { return w.now.Add(-time.Hour) }

// invitationsOf lists the agents to which a user is invited.
func (w *fixture) invitationsOf(userID string) []string {
	w.t.Helper()
	invitations, err := w.db.Invitations(w.ctx, userID, w.held())
	w.must(err)
	ids := []string{}
	for _, i := range invitations {
		ids = append(ids, i.AgentID)
	}
	return ids
}

var invitationTests = []test{
	{"InvitationGrantsNoAccessUntilAccepted", func(w *fixture) {
		w.must(w.offer(w.ada.agent, w.bert.user.Email, core.GrantUser, w.now))
		w.wantGrant(w.bert, w.ada.agent, core.GrantNone)
		_, err := w.db.Agent(w.ctx, w.bert.id, w.ada.agent)
		w.wantMissing(err, "agent")
		card := favourite.Favourite{CardID: "c", Card: []byte(`{}`), CreatedAt: w.now, UpdatedAt: w.now}
		_, err = w.db.SaveFavourite(w.ctx, w.bert.id, w.ada.agent, card)
		w.wantMissing(err, "agent")
		w.same("agents", w.agentsOf(w.bert, nil, agent.Position{}, 10), []string{w.bert.second, w.bert.agent})
		invitations, err := w.db.Invitations(w.ctx, w.bert.id, w.held())
		w.must(err)
		w.same("invitations", invitations, []agent.Invitation{{
			AgentID: w.ada.agent, Name: "Ada's first", Grant: core.GrantUser, OwnerName: "Ada",
			OwnerEmail: w.ada.user.Email, CreatedAt: w.now,
		}})
		w.wantMissing(errorOf(w.db.AcceptInvitation(w.ctx, w.ada.id, w.ada.agent, w.held(), w.now)), "invitation")
		w.must(errorOf(w.db.AcceptInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)))
		w.wantGrant(w.bert, w.ada.agent, core.GrantUser)
		w.same("answered", w.invitationsOf(w.bert.id), []string{})
		w.wantMissing(errorOf(w.db.AcceptInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)), "invitation")
		// Effective at once, because the user has accepted before.
		w.must(w.offer(w.ada.agent, w.bert.user.Email, core.GrantManager, w.now))
		w.wantGrant(w.bert, w.ada.agent, core.GrantManager)
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.user.Email, w.now)))
		w.wantGrant(w.bert, w.ada.agent, core.GrantNone)
	}},
	{"InvitationDoesNotRevealWhetherAnAccountExists", func(w *fixture) {
		declined := w.user("Decliner")
		known := []string{w.bert.user.Email, declined.Email, w.bert.id}
		unknown := []string{
			"nobody-" + w.ada.id + "@example.org", "neither-" + w.ada.id + "@example.org",
			core.NewID(core.PrefixUser),
		}
		for i, invitee := range append(known, unknown...) {
			w.must(w.offer(w.ada.agent, invitee, core.GrantViewer, w.now.Add(time.Duration(i)*time.Second)))
		}
		w.must(errorOf(w.db.DeclineInvitation(w.ctx, declined.ID, w.ada.agent, w.held(), w.now)))
		shares, err := w.db.Shares(w.ctx, w.ada.agent)
		w.must(err)
		want := []agent.Share{}
		for i, invitee := range append(known, unknown...) {
			want = append(want, agent.Share{
				Invitee: invitee, Grant: core.GrantViewer,
				CreatedAt: w.now.Add(time.Duration(i) * time.Second),
			})
		}
		w.same("shares", shares, want)
		for _, invitee := range append(known, unknown...) {
			w.must(w.offer(w.ada.agent, invitee, core.GrantUser, w.now))
			w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, invitee, w.now)))
			w.wantMissing(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, invitee, w.now)), "grant")
		}
		w.wantKind(w.offer(w.ada.agent, w.ada.user.Email, core.GrantUser, w.now), core.KindInvalid, "")
	}},
	{"DeclinedOwnerCannotInviteAgainForAWhile", func(w *fixture) {
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantUser, w.now))
		w.must(w.offer(w.ada.second, w.bert.id, core.GrantUser, w.now))
		decline := w.now.Add(time.Minute)
		w.must(errorOf(w.db.DeclineInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), decline)))
		w.same("earlier ones stay", w.invitationsOf(w.bert.id), []string{w.ada.second})
		w.wantMissing(errorOf(w.db.DeclineInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), decline)), "invitation")
		// Neither a withdrawn and repeated invitation nor another agent circumvents it.
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, w.bert.id, w.now)))
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantUser, decline.Add(time.Minute)))
		w.must(w.offer(w.newAgent(w.ada.id, "Another").ID, w.bert.user.Email, core.GrantUser, decline.Add(time.Minute)))
		w.same("held back", w.invitationsOf(w.bert.id), []string{w.ada.second})
		w.wantMissing(errorOf(w.db.AcceptInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), decline)), "invitation")
		later, err := w.db.Invitations(w.ctx, w.bert.id, decline)
		w.must(err)
		w.same("when it is over", len(later), 3)
		// Other owners are not affected.
		carl := w.person("Carl")
		w.must(errorOf(w.db.Offer(w.ctx, carl.id, carl.agent,
			agent.Offer{Invitee: w.bert.id, Grant: core.GrantUser, At: decline.Add(time.Minute)}, 1)))
		w.same("another owner", w.invitationsOf(w.bert.id), []string{carl.agent, w.ada.second})
	}},
	{"AUserLeavesASharedAgent", func(w *fixture) {
		w.share(w.bert.id, core.GrantManager)
		w.must(errorOf(w.db.DeclineInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)))
		w.wantGrant(w.bert, w.ada.agent, core.GrantNone)
		shares, err := w.db.Shares(w.ctx, w.ada.agent)
		w.must(err)
		w.same("shares", shares, []agent.Share{})
		w.wantMissing(errorOf(w.db.DeclineInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)), "invitation")
		// A grant to all, which a single user cannot end.
		w.must(w.db.ShareWithAll(w.ctx, w.ada.agent, core.GrantViewer, w.now))
		w.wantMissing(errorOf(w.db.DeclineInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)), "invitation")
		w.must(w.db.DeleteShareWithAll(w.ctx, w.ada.agent, w.now))
	}},
	{"InvitationWaitsForAnAccountWithAVerifiedAddress", func(w *fixture) {
		made, provided, taken := "made-"+w.ada.id+"@example.org", "provided-"+w.ada.id+"@example.org",
			"taken-"+w.ada.id+"@example.org"
		for _, address := range []string{made, provided, taken} {
			w.must(w.offer(w.ada.agent, address, core.GrantUser, w.now))
		}
		newcomer := func(address string) account.User {
			id := core.NewID(core.PrefixUser)
			return account.User{
				ID: id, Email: address, EmailVerified: true, Name: "New", Role: core.RoleMember,
				Plan: core.PlanOpen, CreatedAt: w.now,
			}
		}
		u := newcomer(made)
		w.must(w.db.InsertUser(w.ctx, u, "hash"))
		w.same("made by an administrator", w.invitationsOf(u.ID), []string{w.ada.agent})
		u = newcomer(provided)
		w.must(w.db.InsertUserWithIdentity(w.ctx, u, upstream.Identity{Issuer: "https://login.example", Subject: u.ID}))
		w.same("made by the provider", w.invitationsOf(u.ID), []string{w.ada.agent})
		_, err := w.db.ChangeUser(w.ctx, w.bert.id, account.UserChange{Email: &taken})
		w.must(err)
		w.same("an address that a user took", w.invitationsOf(w.bert.id), []string{})
	}},
	{"InvitationsByAddressAndByIDAreMerged", func(w *fixture) {
		w.must(w.offer(w.ada.agent, w.bert.user.Email, core.GrantManager, w.now))
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantViewer, w.after(1)))
		w.same("listed", w.invitationsOf(w.bert.id), []string{w.ada.agent})
		w.must(errorOf(w.db.AcceptInvitation(w.ctx, w.bert.id, w.ada.agent, w.held(), w.now)))
		w.wantGrant(w.bert, w.ada.agent, core.GrantManager)
		shares, err := w.db.Shares(w.ctx, w.ada.agent)
		w.must(err)
		w.same("shares", len(shares), 1)
	}},
	{"OpenInvitationsOfAnOwnerAreLimited", func(w *fixture) {
		var wait sync.WaitGroup
		errs := make([]error, agent.MaxInvitations+5)
		for i := range errs {
			wait.Go(func() {
				agentID := []string{w.ada.agent, w.ada.second}[i%2]
				errs[i] = w.offer(agentID, fmt.Sprintf("guest-%d-%s@example.org", i, w.ada.id), core.GrantViewer, w.now)
			})
		}
		wait.Wait()
		refused := 0
		for _, err := range errs {
			if core.IsKind(err, core.KindConflict) && strings.Contains(err.Error(), "50 open invitations") {
				refused++
				continue
			}
			w.must(err)
		}
		w.same("refused", refused, 5)
		w.wantKind(w.offer(w.ada.agent, w.bert.id, core.GrantViewer, w.now), core.KindConflict, "")
		shares, err := w.db.Shares(w.ctx, w.ada.agent)
		w.must(err)
		w.must(w.offer(w.ada.agent, shares[0].Invitee, core.GrantUser, w.now)) // an open invitation can be changed
		w.must(errorOf(w.db.DeleteShare(w.ctx, w.ada.agent, shares[0].Invitee, w.now)))
		w.must(w.offer(w.ada.agent, w.bert.id, core.GrantViewer, w.now))
	}},
}
