package stripe_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/billing/stripe"
	"carrel/internal/core"
	"carrel/internal/obs"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/stripefake"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	secret    = "whsec_theSecretOfTheEndpoint0123"
	newSecret = "whsec_theOneThatTakesItsPlace012"
	grace     = 3 * 24 * time.Hour
)

// engines open a new, empty database of each kind.
var engines = map[string]func(testing.TB) store.Options{
	"sqlite": func(t testing.TB) store.Options {
		return store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")}
	},
	"postgres": func(t testing.TB) store.Options {
		return store.Options{URL: testkit.PostgresTemplate(t, "billing", func(url string) error {
			db, err := store.Open(context.Background(), store.Options{URL: url})
			if err != nil {
				return err
			}
			return db.Close()
		})}
	},
}

// onBothDatabases runs a test with a world of its own on each.
func onBothDatabases(t *testing.T, run func(t *testing.T, w *world)) {
	t.Helper()
	for name, options := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options(t), nil)
			w.postgres = name == "postgres"
			run(t, w)
		})
	}
}

// world is an installation that sells plans, and the Stripe account that it sells them through.
type world struct {
	*stripe.Service
	t        testing.TB
	db       *store.DB
	postgres bool
	clock    *testkit.Clock
	stripe   *stripefake.Server
	plans    *billing.Plans
	log      *testkit.Log
	notes    notes
}

// notes is a recorder that remembers.
type notes struct {
	mu      sync.Mutex
	records []audit.Record
}

// Note implements audit.Recorder.
func (n *notes) Note(_ context.Context, r audit.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records = append(n.records, r)
}

func newWorld(t testing.TB, options store.Options, change func(*stripe.Options)) *world {
	t.Helper()
	db, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: db, clock: testkit.NewClock(), stripe: stripefake.New(t), log: &testkit.Log{}}
	o := stripe.Options{
		Key: stripefake.Key, URL: w.stripe.URL(), WebhookSecrets: []string{secret}, Grace: grace, ReturnURL: "https://carrel.test/settings/subscription",
	}
	if change != nil {
		change(&o)
	}
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)
	log := obs.NewLogger(w.log, obs.LogOptions{Format: "json", Level: slog.LevelDebug})
	w.Service = stripe.NewService(stripe.Deps{Store: db, Client: web, Clock: w.clock, Audit: &w.notes, Log: log, Options: o})
	w.plans = billing.NewService(billing.Deps{Store: db, Clock: w.clock, Audit: &w.notes, DefaultPlan: core.PlanOpen}).Plans
	for name, prices := range map[string]string{"reader": "price_reader,price_reader_old", "writer": "price_writer"} {
		w.plan(name, prices)
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// plan makes a plan that these prices pay for.
func (w *world) plan(name, prices string) {
	w.t.Helper()
	_, err := w.plans.Put(w.t.Context(), core.Operator(""), billing.Plan{
		Name: name, Capabilities: core.AllCapabilities(), Price: int64(len(prices)), StripePrice: prices,
	})
	w.must(err)
}

// person is somebody with an account, and who they are at Stripe.
type person struct {
	core.Actor
	customer string
}

// person adds an account; one that Stripe knows has a customer.
func (w *world) person(known bool) person {
	w.t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{ID: id, Email: id + "@example.org", Name: "P", Role: core.RoleMember, Plan: core.PlanNone, CreatedAt: w.clock.Now()}
	w.must(w.db.InsertUser(w.t.Context(), u, "none"))
	p := person{core.Actor{UserID: id, Role: core.RoleMember, Credential: core.CredentialSession, Scopes: core.RoleMember.Scopes()}, "cus_" + id}
	if known {
		w.must(w.db.AddCustomer(w.t.Context(), id, p.customer))
	}
	return p
}

// deliver hands a message over as Stripe does.
func (w *world) deliver(id, kind string, p person, about stripefake.Subscription) error {
	payload := stripefake.Event(id, kind, p.customer, about)
	return w.Take(w.t.Context(), payload, stripefake.Sign(payload, w.clock.Now(), secret))
}

// has returns what an account has.
func (w *world) has(p person) billing.Entitlement {
	w.t.Helper()
	e, err := w.db.Entitlement(w.t.Context(), p.UserID)
	w.must(err)
	return e
}

// planNow is the name of the plan that an account has now.
func (w *world) planNow(p person) string {
	w.t.Helper()
	if plan := w.has(p).Now(w.clock.Now()); plan != nil {
		return plan.Name
	}
	return core.PlanNone
}

// month is a subscription to the reader for a month from a day on.
func month(from time.Time) stripefake.Subscription {
	return stripefake.Subscription{
		ID: "sub_1", Status: "active", Price: "price_reader", Created: from, PeriodStart: from, PeriodEnd: core.AddMonths(from, 1),
	}
}
