package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/federated"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestEveryPaidKindHasAPrice(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(config.LoadOptions{Overrides: map[string]string{"data": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	paid := 0
	for _, k := range federated.New(federated.Options{}).Kinds() {
		if !k.Paid {
			continue
		}
		paid++
		if cfg.SearchPrices[k.Name] == 0 {
			t.Errorf("the paid kind %s has no price", k.Name)
		}
	}
	if paid != len(cfg.SearchPrices) {
		t.Errorf("%d kinds are paid, %d have a price", paid, len(cfg.SearchPrices))
	}
}

// The spend cap allows three searches.
func TestSearchesArePaidFromTheSpendCap(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() store.Options{
		"sqlite":   func() store.Options { return store.Options{Path: fixture.SQLite(t)} },
		"postgres": func() store.Options { return store.Options{URL: testkit.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLedger(t, open(), 25_000)
			settle := s.hold("tavily")
			s.mustHaveUsed(8000, "while it is held")
			s.must(settle(t.Context()))
			s.must(settle(t.Context())) // a retry after a lost reply
			s.mustHaveUsed(8000, "when it is settled")
			s.hold("new") // a kind without a price, never settled, as after a crash
			s.mustHaveUsed(18_000, "after the crash")
			s.mustRefuse("tavily")
			s.mustHaveUsed(18_000, "after the refusal")
			s.must(s.hold("brave")(t.Context()))
			s.mustRefuse("brave")

			s.checkSums()
			spent := billing.Usage{Name: "tavily", Calls: 1, Spent: 8000, Estimated: 8000}
			bought := billing.Usage{Name: "brave", Calls: 1, Spent: 5000, Estimated: 5000}
			s.mustHaveRows(bought, billing.Usage{Name: "new", Calls: 1, Reserved: unknownSearchPrice}, spent)
			s.clock.Advance(time.Hour + time.Millisecond)
			s.checkSums() // an expired reservation counts as spent
			s.mustHaveRows(bought,
				billing.Usage{Name: "new", Calls: 1, Spent: unknownSearchPrice, Estimated: unknownSearchPrice}, spent)
			s.mustHaveUsed(23_000, "when the hold was ended")
		})
	}
}

// A model call outside of a turn belongs to its credential and agent, and is held at its maximum cost.
func TestModelCallsOfTextsArePaidFromTheSpendCap(t *testing.T) {
	t.Parallel()
	s := newLedger(t, store.Options{Path: fixture.SQLite(t)}, 10_000)
	s.payer.priceVersion = func(model string) string { return "price of " + model }
	actor := core.Actor{UserID: s.buyer.UserID, CredentialID: s.buyer.CredentialID}
	settle, err := s.payer.HoldModel(t.Context(), actor, s.buyer.AgentID, "large", 9000)
	s.must(err)
	s.mustHaveUsed(9000, "while it is held")
	if _, err := s.payer.HoldModel(t.Context(), actor, s.buyer.AgentID, "large", 1001); core.AsError(err).Code !=
		"spend_cap_reached" {
		t.Errorf("beyond the cap: %v", err)
	}
	s.must(settle(t.Context(), 4000, false))
	s.mustHaveUsed(4000, "when it is settled")
	s.checkSums()
	s.mustHaveRows(billing.Usage{Name: "large", Calls: 1, Spent: 4000})
}

// ledger is an account with a spend cap and the payer under test.
type ledger struct {
	t     *testing.T
	db    *store.DB
	clock *testkit.Clock
	payer payer
	buyer source.Buyer
}

func newLedger(t *testing.T, o store.Options, limit int64) *ledger {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &ledger{
		t:     t,
		db:    db,
		clock: testkit.NewClock(),
		buyer: source.Buyer{UserID: "usr", CredentialID: "crd", AgentID: "agt"},
	}
	u := account.User{
		ID: "usr", Email: "u@example.org", Plan: core.PlanOpen, SpendCap: &limit, CreatedAt: s.clock.Now(),
	}
	s.must(db.InsertUser(t.Context(), u, "none"))
	s.must(db.InsertAgent(t.Context(),
		agent.Agent{ID: "agt", UserID: "usr", Sources: []agent.Source{{ID: "src", Default: true}}}))
	s.payer = payer{spending: billing.NewService(billing.Deps{
		Store: db, Clock: s.clock,
		Audit: audit.New(audit.Deps{Store: db, Clock: s.clock, Log: slog.New(slog.DiscardHandler)}),
	}).Spending, searchPrices: map[string]int64{"brave": 5000, "tavily": 8000}}
	return s
}

func (s *ledger) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// hold reserves a search and returns the function that settles it.
func (s *ledger) hold(kind string) func(context.Context) error {
	s.t.Helper()
	settle, err := s.payer.HoldSearch(s.t.Context(), s.buyer, kind)
	s.must(err)
	return settle
}

func (s *ledger) mustRefuse(kind string) {
	s.t.Helper()
	settle, err := s.payer.HoldSearch(s.t.Context(), s.buyer, kind)
	if err == nil || settle != nil || core.AsError(err).Code != "spend_cap_reached" {
		s.t.Errorf("%s beyond the cap: %v", kind, err)
	}
}

func (s *ledger) mustHaveUsed(micros int64, when string) {
	s.t.Helper()
	if got, err := s.payer.spending.Spend(s.t.Context(), s.buyer.UserID); err != nil || got.Used != micros {
		s.t.Errorf("%s: used %d, %v, want %d", when, got.Used, err, micros)
	}
}

// checkSums runs the hourly check and requires that every sum matches the ledger.
func (s *ledger) checkSums() {
	s.t.Helper()
	if wrong, err := s.payer.spending.Reconcile(s.t.Context()); err != nil || len(wrong) > 0 {
		s.t.Errorf("sums that differ from the ledger: %v, %v", wrong, err)
	}
}

// mustHaveRows compares the ledger, ordered by name.
func (s *ledger) mustHaveRows(want ...billing.Usage) {
	s.t.Helper()
	today := core.Day(s.clock.Now())
	got, err := s.db.UsageBy(s.t.Context(), s.buyer.UserID, billing.UsageByModel, "2000-01-01", today)
	s.must(err)
	slices.SortFunc(got, func(a, b billing.Usage) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(got, want) {
		s.t.Errorf("the ledger has %+v, want %+v", got, want)
	}
}
