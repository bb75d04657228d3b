package app

import (
	"context"
	"log/slog"
	"path/filepath"
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
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestEveryPaidKindHasAPrice keeps a kind that is new from being counted as the dearest.
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
			t.Errorf("%s is paid for and has no price", k.Name)
		}
	}
	if paid != len(cfg.SearchPrices) {
		t.Errorf("%d kinds are paid for, and %d have a price", paid, len(cfg.SearchPrices))
	}
}

// TestASearchIsPaidForInTheLedger buys searches with a cap that has room for three of them.
func TestASearchIsPaidForInTheLedger(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() store.Options{
		"sqlite":   func() store.Options { return store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")} },
		"postgres": func() store.Options { return store.Options{URL: testkit.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShopper(t, open(), 25_000)
			settle := s.buys("tavily")
			s.hasUsed(8000, "while it is held")
			s.must(settle(t.Context()))
			s.must(settle(t.Context())) // as somebody does who got no answer
			s.hasUsed(8000, "when it is settled")
			s.buys("new") // of a kind without a price; a crash leaves it open
			s.hasUsed(18_000, "after the crash")
			s.isRefused("tavily")
			s.hasUsed(18_000, "after the refusal")
			s.must(s.buys("brave")(t.Context()))
			s.isRefused("brave")

			s.tends()
			spent, bought := billing.Usage{Name: "tavily", Calls: 1, Spent: 8000, Estimated: 8000}, billing.Usage{Name: "brave", Calls: 1, Spent: 5000, Estimated: 5000}
			s.hasRows(bought, billing.Usage{Name: "new", Calls: 1, Reserved: dearestSearch}, spent)
			s.clock.Advance(time.Hour + time.Millisecond)
			s.tends() // what nobody will settle any more counts as spent
			s.hasRows(bought, billing.Usage{Name: "new", Calls: 1, Spent: dearestSearch, Estimated: dearestSearch}, spent)
			s.hasUsed(23_000, "when the hold was ended")
		})
	}
}

// shopper is somebody with a cap, and the payer that searches are bought with.
type shopper struct {
	t     *testing.T
	db    *store.DB
	clock *testkit.Clock
	payer payer
	buyer source.Buyer
}

func newShopper(t *testing.T, o store.Options, limit int64) *shopper {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &shopper{t: t, db: db, clock: testkit.NewClock(), buyer: source.Buyer{UserID: "usr", CredentialID: "crd", AgentID: "agt"}}
	s.must(db.InsertUser(t.Context(), account.User{ID: "usr", Email: "u@example.org", Plan: core.PlanOpen, SpendCap: &limit, CreatedAt: s.clock.Now()}, "none"))
	s.must(db.InsertAgent(t.Context(), agent.Agent{ID: "agt", UserID: "usr", Sources: []agent.Source{{ID: "src", Default: true}}}))
	s.payer = payer{billing.NewService(billing.Deps{
		Store: db, Clock: s.clock, Audit: audit.New(audit.Deps{Store: db, Clock: s.clock, Log: slog.New(slog.DiscardHandler)}),
	}).Spending, map[string]int64{"brave": 5000, "tavily": 8000}}
	return s
}

func (s *shopper) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// buys has a search held, and returns what settles it.
func (s *shopper) buys(kind string) func(context.Context) error {
	s.t.Helper()
	settle, err := s.payer.HoldSearch(s.t.Context(), s.buyer, kind)
	s.must(err)
	return settle
}

func (s *shopper) isRefused(kind string) {
	s.t.Helper()
	settle, err := s.payer.HoldSearch(s.t.Context(), s.buyer, kind)
	if err == nil || settle != nil || core.AsError(err).Code != "spend_cap_reached" {
		s.t.Errorf("%s beyond the cap: %v", kind, err)
	}
}

func (s *shopper) hasUsed(micros int64, when string) {
	s.t.Helper()
	if got, err := s.payer.spending.Spend(s.t.Context(), s.buyer.UserID); err != nil || got.Used != micros {
		s.t.Errorf("%s %d are used, %v, want %d", when, got.Used, err, micros)
	}
}

// tends does what the server does every hour, and wants every sum to be that of its rows.
func (s *shopper) tends() {
	s.t.Helper()
	if wrong, err := s.payer.spending.Reconcile(s.t.Context()); err != nil || len(wrong) > 0 {
		s.t.Errorf("sums that are not those of their rows: %v, %v", wrong, err)
	}
}

// hasRows wants these services in the ledger, by name.
func (s *shopper) hasRows(want ...billing.Usage) {
	s.t.Helper()
	today := core.Day(s.clock.Now())
	got, err := s.db.UsageBy(s.t.Context(), s.buyer.UserID, billing.UsageByModel, "2000-01-01", today)
	s.must(err)
	slices.SortFunc(got, func(a, b billing.Usage) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(got, want) {
		s.t.Errorf("the ledger has %+v, want %+v", got, want)
	}
}
