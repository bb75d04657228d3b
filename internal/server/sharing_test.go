package server

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// flakyStore counts the calls of a store, and fails while failing is set.
type flakyStore struct {
	UseStore
	calls   atomic.Int32
	failing atomic.Bool
}

func (s *flakyStore) ShareUse(ctx context.Context, uses []core.BucketUse) ([]time.Duration, error) {
	s.calls.Add(1)
	if s.failing.Load() {
		return nil, errors.New("the database is away")
	}
	return s.UseStore.ShareUse(ctx, uses)
}

func openShared(t *testing.T) *flakyStore {
	t.Helper()
	url := testkit.PostgresTemplate(t, "server", func(url string) error {
		db, err := store.Open(context.Background(), store.Options{URL: url})
		if err != nil {
			return err
		}
		return db.Close()
	})
	db, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &flakyStore{UseStore: db}
}

// newNodes returns the limiters of n nodes, whose users have this limit. The test exchanges their use itself.
func newNodes(uses UseStore, n int, limit core.TokenBucket) []*limiter {
	nodes := make([]*limiter, n)
	for i := range nodes {
		shared := newSharing(&SharedLimits{Store: uses, Secret: []byte("secret")}, slog.New(slog.DiscardHandler))
		nodes[i] = newLimiter(nil, "", shared)
		nodes[i].users = newBuckets(newPolicy("user", limit), time.Hour)
		nodes[i].users.wake = shared.wake
	}
	return nodes
}

// spend sends requests of a user to the node and returns the number of admitted ones, and the last verdict.
func (l *limiter) spend(user string, n int, now time.Time) (admitted int, last verdict) {
	for range n {
		if last = l.users.take(l.key(user), now); last.allowed {
			admitted++
		}
	}
	return admitted, last
}

// hourly regains no token during a test.
var hourly = core.TokenBucket{Burst: 100, Every: time.Hour}

func TestNodesShareTheLimitOfAUser(t *testing.T) {
	t.Parallel()
	nodes := newNodes(openShared(t), 3, hourly)
	now := time.Now()
	exchange := func(node int) {
		t.Helper()
		if err := nodes[node].exchange(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	nodes[0].spend("ada", 40, now)
	exchange(0)
	nodes[1].spend("ada", 1, now)
	exchange(1)
	if _, v := nodes[1].spend("ada", 1, now); v.header() != `"user";r=58;t=151200` {
		t.Errorf("the second node knows %s", v.header())
	}
	exchange(1)
	// The third node knows nothing yet, and admits a burst. All nodes then refuse until the excess is regained.
	if admitted, _ := nodes[2].spend("ada", 200, now); admitted != 100 {
		t.Errorf("the third node admits %d", admitted)
	}
	exchange(2)
	for node, admits := range []int{60, 58, 0} {
		if admitted, _ := nodes[node].spend("ada", 200, now); admitted != admits {
			t.Errorf("node %d admits %d, want %d", node, admitted, admits)
		}
		exchange(node)
	}
	_, v := nodes[1].spend("ada", 1, now)
	if want := (40 + 2 + 100 + 60 + 58) * time.Hour; v.allowed || v.full.Round(time.Minute) != want ||
		v.header() != `"user";r=0;t=936000` || v.wait.Round(time.Minute) != want-99*time.Hour {
		t.Errorf("after all exchanges: admitted %t, %s, full in %s, wait %s", v.allowed, v.header(), v.full, v.wait)
	}
	if admitted, _ := nodes[0].spend("bob", 200, now); admitted != 100 {
		t.Errorf("%d requests of another user are admitted", admitted)
	}
	// A restarted node learns the state with its first exchange.
	restarted := newNodes(nodes[0].shared.Store, 1, hourly)[0]
	if admitted, _ := restarted.spend("ada", 1, now); admitted != 1 {
		t.Error("a restarted node refuses without knowing the use")
	}
	if err := restarted.exchange(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if admitted, _ := restarted.spend("ada", 1, now); admitted != 0 {
		t.Error("a restarted node does not learn the use")
	}
}

func TestNodeAppliesLimitsByItselfWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	uses := openShared(t)
	nodes := newNodes(uses, 2, hourly)
	now := time.Now()
	uses.failing.Store(true)
	for _, n := range []int{30, 30, 100} {
		nodes[0].spend("ada", n, now)
		if err := nodes[0].exchange(t.Context(), now); err == nil {
			t.Fatal("the exchange succeeds")
		}
	}
	if admitted, v := nodes[0].spend("ada", 10, now); admitted != 0 || v.full != 100*time.Hour {
		t.Errorf("%d are admitted, the bucket is full in %s", admitted, v.full)
	}
	if admitted, _ := nodes[1].spend("ada", 1, now); admitted != 1 {
		t.Error("the other node refuses")
	}
	uses.failing.Store(false)
	for _, node := range nodes {
		if err := node.exchange(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	if admitted, _ := nodes[1].spend("ada", 1, now); admitted != 0 {
		t.Error("the use during the failure is not reported after it")
	}
}

func TestLightUseCostsNoStatement(t *testing.T) {
	t.Parallel()
	uses := openShared(t)
	node := newNodes(uses, 1, core.TokenBucket{Burst: 400, Every: perSecond(100)})[0]
	now := time.Now()
	for range 20 {
		node.spend("ada", 9, now)
		now = now.Add(exchangeEvery)
		if err := node.exchange(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	if n := uses.calls.Load(); n != 0 {
		t.Errorf("%d statements for less than a tenth of the rate", n)
	}
	for user := range 2500 {
		node.spend(string(rune(user)), 11, now)
	}
	if err := node.exchange(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if n := uses.calls.Load(); n != 3 {
		t.Errorf("%d statements for 2500 users", n)
	}
}

func TestLargeUseRequestsAnExchange(t *testing.T) {
	t.Parallel()
	uses := openShared(t)
	nodes := newNodes(uses, 2, hourly)
	nodes[0].spend("ada", 24, time.Now())
	if len(nodes[0].shared.wake) != 0 {
		t.Error("an exchange is requested below a quarter of the burst")
	}
	nodes[0].spend("ada", 10, time.Now())
	if len(nodes[0].shared.wake) != 1 {
		t.Error("no exchange is requested above a quarter of the burst")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		nodes[0].runExchange(ctx)
	}()
	for nodes[0].unreported("ada") > 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-ended
	nodes[1].spend("ada", 1, time.Now())
	if err := nodes[1].exchange(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, v := nodes[1].spend("ada", 1, time.Now()); int(v.tokens) != 64 {
		t.Errorf("the other node knows of %.1f tokens", v.tokens)
	}
}

// unreported returns the number of requests of a user that the node has not reported.
func (l *limiter) unreported(user string) int {
	s := l.users.shard(l.key(user))
	s.Lock()
	defer s.Unlock()
	return s.find(l.key(user), time.Now(), time.Hour).taken
}

// simulatedStore adds up uses as the database does, at a simulated time.
type simulatedStore struct {
	now  time.Time
	full map[string]time.Time
}

func (s *simulatedStore) ShareUse(_ context.Context, uses []core.BucketUse) ([]time.Duration, error) {
	missing := make([]time.Duration, len(uses))
	for i, u := range uses {
		full := s.now.Add(max(u.Missing, u.Taken-u.Age))
		if added := s.full[u.Key].Add(u.Taken); added.After(full) {
			full = added
		}
		s.full[u.Key], missing[i] = full, max(0, full.Sub(s.now))
	}
	return missing, nil
}

// TestUseOfAllNodesIsBounded simulates hours of requests in random patterns, and checks the bound in the comment of
// exchange in every span of time.
func TestUseOfAllNodesIsBounded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit := core.TokenBucket{
			Burst: 1 + random.IntN(400), Every: time.Duration(1+random.IntN(500)) * time.Millisecond,
		}
		uses := &simulatedStore{now: time.Unix(1e9, 0), full: map[string]time.Time{}}
		nodes := newNodes(uses, 1+random.IntN(5), limit)
		n := float64(len(nodes))
		perSecond := time.Second.Seconds() / limit.Every.Seconds()
		most := n * (float64(limit.Burst) + perSecond*exchangeEvery.Seconds())
		level := 0.0 // the requests admitted beyond the rate, in the span where they are the most
		last := make([]time.Time, len(nodes))
		for range 2000 {
			node := random.IntN(len(nodes))
			admitted, _ := nodes[node].spend("ada", random.IntN(1+random.IntN(2*limit.Burst)), uses.now)
			if level += float64(admitted); level > most+1 {
				t.Fatalf("seed %d: %d nodes admit %.0f requests beyond the rate, want at most %.0f", seed, len(nodes), level, most)
			}
			step := time.Duration(random.Int64N(int64(exchangeEvery) / int64(len(nodes))))
			if random.IntN(50) == 0 {
				step *= 20
			}
			// Every node exchanges at least once in exchangeEvery; a longer step contains exchanges.
			next := uses.now.Add(step)
			for i, l := range nodes {
				for last[i].IsZero() || next.Sub(last[i]) >= exchangeEvery {
					if last[i] = last[i].Add(exchangeEvery); last[i].Before(uses.now) {
						last[i] = uses.now
					}
					if err := l.exchange(t.Context(), last[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			level = max(0, level-step.Seconds()*perSecond*(1+n/reportShare))
			uses.now = next
		}
	}
}

func TestExchangeChangesNothingForASingleNode(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	limit := core.TokenBucket{Burst: 40, Every: 10 * time.Millisecond}
	uses := &simulatedStore{now: time.Unix(1e9, 0), full: map[string]time.Time{}}
	node := newNodes(uses, 1, limit)[0]
	alone := newBuckets(newPolicy("user", limit), time.Hour)
	for i := range 20_000 {
		uses.now = uses.now.Add(time.Duration(random.IntN(20)) * time.Millisecond)
		if i%37 == 0 {
			if err := node.exchange(t.Context(), uses.now); err != nil {
				t.Fatal(err)
			}
		}
		_, got := node.spend("ada", 1, uses.now)
		want := alone.take(node.key("ada"), uses.now)
		if got.allowed != want.allowed || got.full != want.full {
			t.Fatalf("request %d: %t, full in %s; without an exchange %t, %s", i, got.allowed, got.full, want.allowed, want.full)
		}
	}
}
