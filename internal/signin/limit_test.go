package signin_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin"
	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

// nodes are two servers of one installation: each has its own connection to the database, and they share a clock.
type nodes struct {
	t        *testing.T
	clock    *testkit.Clock
	limits   [2]*signin.Limits
	browsers *signin.Browsers
	db       *store.DB
	service  *signin.Service
}

// onTwoNodes runs a test with two nodes on each kind of database.
func onTwoNodes(t *testing.T, test func(t *testing.T, n nodes)) {
	t.Helper()
	for name, options := range map[string]func(t *testing.T) store.Options{
		"sqlite": func(t *testing.T) store.Options { return store.Options{Path: kit.SQLite(t)} },
		"postgres": func(t *testing.T) store.Options {
			return store.Options{URL: testkit.PostgresTemplate(t, "signin", func(url string) error {
				db, err := store.Open(context.Background(), store.Options{URL: url})
				if err != nil {
					return err
				}
				return db.Close()
			})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodes{t: t, clock: testkit.NewClock()}
			o := options(t)
			for i := range n.limits {
				f := openFixture(t, o, n.clock)
				n.db, n.browsers, n.limits[i], n.service = f.db, f.Browsers, f.Limits, f.Service
			}
			test(t, n)
		})
	}
}

// attempt makes a guess at a node and returns how long it must wait, with the detail of the error; 0 if it is allowed.
func (n nodes) attempt(node int, g signin.Guess) (time.Duration, string) {
	n.t.Helper()
	_, err := n.limits[node].Attempt(n.t.Context(), g)
	if err == nil {
		return 0, ""
	}
	e := core.AsError(err)
	if e.Kind != core.KindRateLimited {
		n.t.Fatal(err)
	}
	return e.RetryAfter, e.Detail
}

func from(address, email string) signin.Guess {
	return signin.Guess{From: netip.MustParseAddr(address), Email: email}
}

func TestAttemptsAreCountedPerAccountAndNetworkAcrossNodes(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		const ada = "ada@example.org"
		for i := range 10 {
			if wait, _ := n.attempt(i%2, from("203.0.113.7", " ADA@example.org")); wait != 0 {
				t.Fatalf("attempt %d waits %v", i, wait)
			}
		}
		for node := range n.limits {
			if wait, why := n.attempt(node, from("203.0.113.7", ada)); wait != time.Minute ||
				!strings.Contains(why, "on this account from your network. Try again in 60 seconds") {
				t.Errorf("attempt 11 at node %d waits %v: %s", node, wait, why)
			}
			if wait, _ := n.attempt(node, from("203.0.113.8", ada)); wait != 0 {
				t.Errorf("another network waits %v", wait)
			}
			if wait, _ := n.attempt(node, from("203.0.113.7", "bert@example.org")); wait != 0 {
				t.Errorf("another account waits %v", wait)
			}
		}
		n.clock.Advance(20 * time.Second)
		if wait, _ := n.attempt(0, from("203.0.113.7", ada)); wait != 40*time.Second {
			t.Errorf("20 seconds later it waits %v", wait)
		}
		n.clock.Advance(40 * time.Second)
		if wait, _ := n.attempt(1, from("203.0.113.7", ada)); wait != 0 {
			t.Errorf("a minute later it waits %v", wait)
		}
		if wait, _ := n.attempt(0, from("203.0.113.7", ada)); wait != time.Minute {
			t.Errorf("the attempt after it waits %v", wait)
		}
	})
}

func TestNetworkIsAnIPv4AddressOrAnIPv6Slash64(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		for i := range 10 {
			n.attempt(0, from(fmt.Sprintf("2001:db8:1:2::%x", i+1), "ada@example.org"))
			n.attempt(0, from("::ffff:203.0.113.7", "ada@example.org"))
		}
		for address, free := range map[string]bool{
			"2001:db8:1:2:ffff::1": false, "2001:db8:1:3::1": true, "203.0.113.7": false, "203.0.113.6": true,
			"::ffff:203.0.113.5": true,
		} {
			if wait, _ := n.attempt(0, from(address, "ada@example.org")); (wait == 0) != free {
				t.Errorf("%s waits %v", address, wait)
			}
		}
	})
}

func TestConcurrentAttemptsDoNotExceedTheLimit(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		var passed atomic.Int32
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if wait, _ := n.attempt(i%2, from("203.0.113.7", "ada@example.org")); wait == 0 {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if got := passed.Load(); got != 10 {
			t.Errorf("%d of 30 attempts are allowed", got)
		}
	})
}

func TestNetworkIsLimitedAcrossAccounts(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		for i := range 40 {
			if wait, _ := n.attempt(i%2, from("203.0.113.7", fmt.Sprintf("%d@example.org", i))); wait != 0 {
				t.Fatalf("attempt %d waits %v", i, wait)
			}
		}
		if wait, why := n.attempt(0, from("203.0.113.7", "x@example.org")); wait != 3*time.Second ||
			!strings.Contains(why, "from your network") {
			t.Errorf("attempt 41 waits %v: %s", wait, why)
		}
		err := n.limits[1].FromNetwork(t.Context(), netip.MustParseAddr("203.0.113.7"))
		if core.AsError(err).RetryAfter != 3*time.Second {
			t.Errorf("attempt without an account: %v", err)
		}
	})
}

// exhaust uses up all attempts on an account from many networks.
func (n nodes) exhaust(email string) {
	n.t.Helper()
	for i := range 100 {
		if wait, why := n.attempt(i%2, from(fmt.Sprintf("198.51.100.%d", i), email)); wait != 0 {
			n.t.Fatalf("attempt %d waits %v: %s", i, wait, why)
		}
	}
}

func TestGuessingFromManyNetworksIsLimitedPerAccount(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		n.exhaust("ada@example.org")
		wait, why := n.attempt(1, from("192.0.2.1", "ada@example.org"))
		if wait != 20*time.Second || !strings.Contains(why, "use a browser where you have signed in before") {
			t.Errorf("an unused network waits %v: %s", wait, why)
		}
		n.clock.Advance(20 * time.Second)
		if wait, _ := n.attempt(0, from("192.0.2.2", "ada@example.org")); wait != 0 {
			t.Errorf("20 seconds later it waits %v", wait)
		}
	})
}

func (n nodes) user(email string) string {
	n.t.Helper()
	u := account.User{
		ID:        core.NewID(core.PrefixUser),
		Email:     email,
		Name:      "N",
		Role:      core.RoleMember,
		Plan:      core.PlanOpen,
		CreatedAt: n.clock.Now(),
	}
	if err := n.db.InsertUser(n.t.Context(), u, "hash"); err != nil {
		n.t.Fatal(err)
	}
	return u.ID
}

func TestKnownBrowserIsNotLockedOutByOthers(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		const ada, bert = "ada@example.org", "bert@example.org"
		adaID, bertID := n.user(ada), n.user(bert)
		remember := func(userID, old string) string {
			t.Helper()
			token, err := n.browsers.Remember(t.Context(), userID, old)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		known := from("192.0.2.1", ada)
		replaced := remember(adaID, "")
		known.Browser = remember(adaID, replaced)
		stranger := from("192.0.2.1", ada)
		n.exhaust(ada)
		passes := func(what string, g signin.Guess, want bool) {
			t.Helper()
			if wait, why := n.attempt(0, g); (wait == 0) != want {
				t.Errorf("%s waits %v: %s", what, wait, why)
			}
		}
		passes("an unknown browser", stranger, false)
		passes("the known browser", known, true)
		elsewhere := known
		elsewhere.From = netip.MustParseAddr("198.51.100.1")
		passes("the known browser in an exhausted network", elsewhere, true)
		old := known
		old.Browser = replaced
		passes("the earlier token of the browser", old, false)
		// The browser is known to its own account only, until another user signs in with it.
		n.exhaust(bert)
		other := known
		other.Email = bert
		passes("the browser on another account", other, false)
		known.Browser = remember(bertID, known.Browser)
		other.Browser = known.Browser
		passes("the shared browser on the first account", known, true)
		passes("the shared browser on the second account", other, true)
		for range 8 {
			passes("an attempt in the known browser", known, true)
		}
		passes("attempt 11 in the known browser", known, false)
		n.clock.Advance(signin.BrowserLife)
		n.exhaust(bert)
		passes("the browser after its lifetime", other, false)
	})
}

func TestNewPasswordForgetsKnownBrowsers(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		ctx := t.Context()
		for name, change := range map[string]func(userID string) error{
			"set": func(userID string) error { return n.db.SetPassword(ctx, userID, "h", "", n.clock.Now()) },
			"reset": func(userID string) error {
				hash := []byte(userID)
				err := n.db.PutReset(ctx, signin.Reset{UserID: userID, ExpiresAt: n.clock.Now().Add(time.Hour)}, hash)
				if err != nil {
					return err
				}
				_, err = n.db.RedeemReset(ctx, hash, n.clock.Now(), "h")
				return err
			},
		} {
			email := name + "@example.org"
			id := n.user(email)
			token, err := n.browsers.Remember(ctx, id, "")
			if err != nil {
				t.Fatal(err)
			}
			knows := func() bool {
				known, err := n.browsers.Knows(ctx, token, email)
				if err != nil {
					t.Fatal(err)
				}
				return known
			}
			if !knows() {
				t.Errorf("%s: the browser is unknown before", name)
			}
			if err := change(id); err != nil {
				t.Fatal(err)
			}
			if knows() {
				t.Errorf("%s: the browser is still known", name)
			}
		}
	})
}

func TestSuccessIsForgivenAndSessionHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		ctx, guess := t.Context(), from("203.0.113.7", "ada@example.org")
		for i := range 30 { // successes count for the network, which allows 40
			counted, err := n.limits[i%2].Attempt(ctx, guess)
			if err == nil {
				err = n.limits[(i+1)%2].Forgive(ctx, counted)
			}
			if err != nil {
				t.Fatalf("sign-in %d: %v", i, err)
			}
		}
		n.exhaust("bert@example.org")
		session := from("203.0.113.9", "bert@example.org")
		session.SessionID = "crd_1"
		for i := range 11 {
			if wait, _ := n.attempt(i%2, session); (wait == 0) != (i < 10) {
				t.Errorf("attempt %d in a session waits %v", i, wait)
			}
		}
		if err := n.service.Prune(ctx); err != nil {
			t.Fatal(err)
		}
		if wait, _ := n.attempt(0, session); wait != time.Minute {
			t.Errorf("after pruning it waits %v", wait)
		}
	})
}

func TestNoAttemptIsAllowedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	onTwoNodes(t, func(t *testing.T, n nodes) {
		if err := n.db.Close(); err != nil { // the database of the second node
			t.Fatal(err)
		}
		for _, g := range []signin.Guess{
			from("203.0.113.7", email), {SessionID: "ses_1"}, {Email: email, Browser: "known"},
		} {
			if _, err := n.limits[1].Attempt(t.Context(), g); err == nil || core.AsError(err).Kind == core.KindRateLimited {
				t.Errorf("attempt %+v: %v", g, err)
			}
		}
		if err := n.limits[1].FromNetwork(t.Context(), netip.MustParseAddr("203.0.113.7")); err == nil {
			t.Error("an attempt without an account is allowed")
		}
		if wait, _ := n.attempt(0, from("203.0.113.7", email)); wait != 0 {
			t.Error("the other node refuses")
		}
	})
}
