package store_test

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/thread"
)

// exactlyOne fails the test unless one of many concurrent calls succeeds and the others return not_found.
func (w *fixture) exactlyOne(what string, call func() error) {
	w.t.Helper()
	const callers = 24
	var winners atomic.Int32
	testkit.Concurrently(callers, func(int) {
		err := call()
		if err == nil {
			winners.Add(1)
			return
		}
		w.wantKind(err, core.KindNotFound, "")
	})
	if n := winners.Load(); n != 1 {
		w.t.Errorf("%s: %d of %d callers succeed", what, n, callers)
	}
}

// runSuite runs the acceptance suite of the store, or only the named groups of it. open returns a new, empty database,
// which is closed at the end of the test.
func runSuite(t *testing.T, open func(testing.TB) *store.DB, only ...string) {
	t.Helper()
	for _, g := range []group{
		{"Users", userTests},
		{"Keys", keyTests},
		{"Codes", codeTests},
		{"Connections", connectionTests},
		{"Sessions", sessionTests},
		{"Pending", pendingTests},
		{"Resets", resetTests},
		{"AccountInvitations", accountInvitationTests},
		{"TOTP", totpTests},
		{"Passkeys", passkeyTests},
		{"Identities", identityTests},
		{"Audit", auditTests},
		{"OAuthClients", oauthClientTests},
		{"OAuthCodes", oauthCodeTests},
		{"OAuthRefresh", oauthRefreshTests},
		{"OAuthTokens", oauthTokenTests},
		{"OAuthAttempts", oauthAttemptTests},
		{"Agents", agentTests},
		{"Sources", sourceTests},
		{"Zotero", zoteroTests},
		{"Federated", federatedTests},
		{"Documents", documentTests},
		{"Blobs", blobTests},
		{"Uploads", uploadTests},
		{"Storage", storageTests},
		{"Changes", changeTests},
		{"Indexes", indexTests},
		{"Searches", searchCountTests},
		{"Usage", usageTests},
		{"Memories", memoryTests},
		{"SavedSearches", savedSearchTests},
		{"Favourites", favouriteTests},
		{"Threads", threadTests},
		{"Messages", messageTests},
		{"Turns", turnTests},
		{"Versions", versionTests},
		{"Links", linkTests},
		{"Bin", binTests},
		{"Spend", spendTests},
		{"SpendLedger", spendLedgerTests},
		{"SpendMonths", spendMonthTests},
		{"Plans", planTests},
		{"Billing", billingTests},
		{"Grants", grantTests},
		{"Invitations", invitationTests},
		{"Webhooks", webhookTests},
		{"Announcements", announceTests},
		{"Embeddings", embeddingTests},
		{"Idempotency", idempotencyTests},
		{"Texts", textTests},
		{"Retention", retentionTests},
	} {
		if len(only) > 0 && !slices.Contains(only, g.name) {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			// One database per group. Each test creates its own users and sees no others.
			db := open(t)
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newFixture(t, db)) })
			}
		})
	}
	if len(only) > 0 {
		return
	}
	t.Run("Setup/ConcurrentFirstUsersSucceedOnce", func(t *testing.T) {
		t.Parallel()
		firstUserTest(&fixture{t: t, ctx: t.Context(), db: open(t), now: time.Date(2026, 11, 3, 12, 30, 15, 123e6, time.UTC)})
	})
}

// group holds the tests of one subject.
type group struct {
	name  string
	tests []test
}

// test is one requirement of the store.
type test struct {
	name string
	run  func(*fixture)
}

// fixture is the initial state of a test: two users with two agents each.
type fixture struct {
	t    testing.TB
	ctx  context.Context
	db   *store.DB
	now  time.Time
	ada  person
	bert person
}

// person is a user with the ids of their two agents and of the first agent's default source.
type person struct {
	user   account.User
	id     string
	agent  string
	source string
	second string
}

func newFixture(t testing.TB, db *store.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, ctx: t.Context(), db: db, now: time.Date(2026, 11, 3, 12, 30, 15, 123e6, time.UTC)}
	w.ada, w.bert = w.person("Ada"), w.person("Bert")
	return w
}

func (w *fixture) person(name string) person {
	w.t.Helper()
	u := w.user(name)
	p := person{user: u, id: u.ID}
	first, second := w.newAgent(p.id, name+"'s first"), w.newAgent(p.id, name+"'s second")
	p.agent, p.source, p.second = first.ID, first.Sources[0].ID, second.ID
	return p
}

func (w *fixture) user(name string) account.User {
	w.t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{
		ID: id, Email: id + "@example.org", EmailVerified: true, Name: name, Role: core.RoleMember, Plan: core.PlanOpen,
		CreatedAt: w.now,
	}
	w.must(w.db.InsertUser(w.ctx, u, "hash"))
	return u
}

func (w *fixture) newAgent(userID, name string) agent.Agent {
	w.t.Helper()
	a := agentOf(userID, name, w.now)
	w.must(w.db.InsertAgent(w.ctx, a))
	return a
}

// agentOf returns an unsaved agent with a default source.
func agentOf(userID, name string, now time.Time) agent.Agent {
	return agent.Agent{
		ID: core.NewID(core.PrefixAgent), UserID: userID, Name: name, Grant: core.GrantOwner, CreatedAt: now, UpdatedAt: now,
		Sources: []agent.Source{{
			ID: core.NewID(core.PrefixSource), Name: "Library", Kind: "upload", Default: true, Status: "ready",
		}},
	}
}

// thread adds a thread to the person's first agent.
func (w *fixture) thread(p person, title string, at time.Time) thread.Thread {
	w.t.Helper()
	t := thread.Thread{
		ID: core.NewID(core.PrefixThread), AgentID: p.agent, Title: title, Status: thread.StatusIdle,
		CreatedAt: at, UpdatedAt: at,
	}
	t, err := w.db.InsertThread(w.ctx, p.id, t)
	w.must(err)
	return t
}

// after returns the fixture's time plus that many milliseconds.
func (w *fixture) after(ms int) time.Time { return w.now.Add(time.Duration(ms) * time.Millisecond) }

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// wantKind fails the test unless err has this kind and, if not empty, this detail.
func (w *fixture) wantKind(err error, kind core.Kind, detail string) {
	w.t.Helper()
	if !core.IsKind(err, kind) || detail != "" && core.AsError(err).Detail != detail {
		w.t.Errorf("got error %v, want %s %q", err, kind, detail)
	}
}

// wantMissing fails the test unless err is not_found for this resource.
func (w *fixture) wantMissing(err error, what string) {
	w.t.Helper()
	w.wantKind(err, core.KindNotFound, "There is no such "+what+".")
}

// same fails the test unless got and want are deeply equal.
func (w *fixture) same(what string, got, want any) {
	w.t.Helper()
	if !reflect.DeepEqual(got, want) {
		w.t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}
