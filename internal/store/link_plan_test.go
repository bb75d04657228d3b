package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/sharelink"
	"carrel/internal/signin"
	"carrel/internal/thread"
)

// callLinks calls the methods for links to threads once.
func callLinks(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	l := sharelink.Link{ID: "l", UserID: "u", ThreadID: "t", Messages: []string{}, CreatedAt: now, ExpiresAt: &now}
	must(db.InsertLink(ctx, l, []byte("l"), 9))
	_, err := db.ThreadLinks(ctx, "u", "t")
	must(err)
	for _, before := range []string{"", "z"} {
		_, err = db.Links(ctx, "u", before, 10)
		must(err)
	}
	_, err = db.LinkByHash(ctx, []byte("l"))
	must(err)
	must(db.DeleteLink(ctx, "u", "l"))
	must(db.PruneLinks(ctx, now))
}

// callAccountInvitations calls the methods for invitations to an account once.
func callAccountInvitations(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	for _, id := range []string{"i", "j"} {
		must(db.InsertAccountInvitation(ctx, signin.Invitation{
			ID: id, Email: id + "@example.org", Role: core.RoleMember, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}, []byte(id), 9))
	}
	_, err := db.AccountInvitations(ctx, now)
	must(err)
	_, err = db.AccountInvitationByHash(ctx, []byte("i"), now)
	must(err)
	invited := account.User{ID: "i", Email: "i@example.org", CreatedAt: now}
	must(db.RedeemAccountInvitation(ctx, []byte("i"), now, invited, "h"))
	must(db.DeleteAccountInvitation(ctx, "j", now))
	must(db.PruneAccountInvitations(ctx, now))
}

// callThreadLists lists the threads of one agent and of all agents, in every order and with every filter.
func callThreadLists(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	must := failOn(t)
	for _, order := range []thread.Order{"", thread.OrderPinned, thread.OrderCreated, thread.OrderTitle} {
		for _, filter := range []thread.Filter{
			{}, {Words: []string{"a", "b"}}, {Tags: []string{"x"}}, {Status: thread.StatusIdle, Archived: new(bool)},
		} {
			filter.Order = order
			for _, after := range []*thread.Key{nil, {ID: "z"}} {
				_, err := db.Threads(ctx, "u", "a", filter, after, 10)
				must(err)
				_, err = db.AllThreads(ctx, "u", nil, filter, after, 10)
				must(err)
			}
		}
	}
	_, err := db.LatestMatches(ctx, []string{"t"}, []string{"a", "b"})
	must(err)
	_, err = db.ThreadTags(ctx, "u", []string{"a"})
	must(err)
}

// TestLinksInvitationsAndListsOfThreadsUseAnIndex checks that these statements read no table of all users.
func TestLinksInvitationsAndListsOfThreadsUseAnIndex(t *testing.T) {
	t.Parallel()
	db, seen := recordStatements(t)
	ctx := t.Context()
	must := failOn(t)
	must(db.InsertUser(ctx, account.User{ID: "u", Email: "u@example.org", CreatedAt: time.Now()}, "h"))
	must(db.InsertAgent(ctx, agent.Agent{ID: "a", UserID: "u", Sources: []agent.Source{{ID: "s", Default: true}}}))
	must(errorOf(db.InsertThread(ctx, "u", thread.Thread{ID: "t", AgentID: "a"})))
	callLinks(t, db)
	callAccountInvitations(t, db)
	callThreadLists(t, db)
	statements := slices.Compact(slices.Sorted(slices.Values(*seen)))
	if len(statements) < 40 {
		t.Errorf("only %d statements were recorded", len(statements))
	}
	checkPlans(t, db, statements, func(step, statement string) bool {
		// Administrators list the invitations that are open, of which the number is limited.
		open := strings.Contains(statement, "FROM account_invitation") && strings.Contains(step, "TEMP B-TREE")
		values := strings.HasPrefix(step, "SCAN json_each") || strings.HasPrefix(step, "SCAN tag") ||
			strings.Contains(step, "CONSTANT ROW")
		// Lists of threads in the order of activity are the usual ones. The other orders sort the threads of one user.
		sorted := strings.Contains(statement, "FROM thread WHERE user_id = $1") && strings.Contains(step, "TEMP B-TREE") &&
			!strings.Contains(statement, "ORDER BY activity_at")
		return open || values || sorted
	})
}
