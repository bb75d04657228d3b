package stripe_test

import (
	"context"
	"log/slog"
	"net/http"
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
	kit "carrel/internal/testkit/fixture"
	"carrel/internal/testkit/stripefake"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	secret    = "whsec_theSecretOfTheEndpoint0123"
	newSecret = "whsec_theRotatedSecret0123456789"
	grace     = 3 * 24 * time.Hour
)

// engines return the options of a new, empty database of each kind.
var engines = map[string]func(testing.TB) store.Options{
	"sqlite": func(t testing.TB) store.Options {
		return store.Options{Path: kit.SQLite(t)}
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

// onBothDatabases runs a test on a new database of each kind.
func onBothDatabases(t *testing.T, run func(t *testing.T, fx *fixture)) {
	t.Helper()
	for name, options := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, options(t), nil)
			fx.postgres = name == "postgres"
			run(t, fx)
		})
	}
}

// fixture is an installation that sells plans, and its fake Stripe account.
type fixture struct {
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

// notes is a recorder that keeps its records.
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

func newFixture(t testing.TB, options store.Options, change func(*stripe.Options)) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	fx := &fixture{t: t, db: db, clock: testkit.NewClock(), stripe: stripefake.New(t), log: &testkit.Log{}}
	o := stripe.Options{
		Key:            stripefake.Key,
		URL:            fx.stripe.URL(),
		Timeout:        testkit.Patience,
		WebhookSecrets: []string{secret},
		Grace:          grace,
		ReturnURL:      "https://carrel.test/settings/subscription",
	}
	if change != nil {
		change(&o)
	}
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)
	log := obs.NewLogger(fx.log, obs.LogOptions{Format: "json", Level: slog.LevelDebug})
	fx.Service = stripe.NewService(
		stripe.Deps{Store: db, Client: web, Clock: fx.clock, Audit: &fx.notes, Log: log, Options: o},
	)
	deps := billing.Deps{Store: db, Clock: fx.clock, Audit: &fx.notes, DefaultPlan: core.PlanOpen}
	fx.plans = billing.NewService(deps).Plans
	for name, prices := range map[string]string{"reader": "price_reader,price_reader_old", "writer": "price_writer"} {
		fx.plan(name, prices)
	}
	return fx
}

func (fx *fixture) must(err error) {
	fx.t.Helper()
	if err != nil {
		fx.t.Fatal(err)
	}
}

// plan creates a plan with these Stripe prices.
func (fx *fixture) plan(name, prices string) {
	fx.t.Helper()
	_, err := fx.plans.Put(fx.t.Context(), core.Operator(""), billing.Plan{
		Name: name, Capabilities: core.AllCapabilities(), Price: int64(len(prices)), StripePrice: prices,
	})
	fx.must(err)
}

// person is a user with the id of their Stripe customer.
type person struct {
	core.Actor
	customer string
}

// person adds a user, linked to a Stripe customer if linked is true.
func (fx *fixture) person(linked bool) person {
	fx.t.Helper()
	id := core.NewID(core.PrefixUser)
	u := account.User{
		ID:        id,
		Email:     id + "@example.org",
		Name:      "P",
		Role:      core.RoleMember,
		Plan:      core.PlanNone,
		CreatedAt: fx.clock.Now(),
	}
	fx.must(fx.db.InsertUser(fx.t.Context(), u, "none"))
	p := person{
		core.Actor{UserID: id, Role: core.RoleMember, Credential: core.CredentialSession, Scopes: core.RoleMember.Scopes()},
		"cus_" + id,
	}
	if linked {
		fx.must(fx.db.AddCustomer(fx.t.Context(), id, p.customer))
	}
	return p
}

// deliver sends a signed webhook event.
func (fx *fixture) deliver(id, kind string, p person, about stripefake.Subscription) error {
	payload := stripefake.Event(id, kind, p.customer, about)
	return fx.Take(fx.t.Context(), payload, stripefake.Sign(payload, fx.clock.Now(), secret))
}

func (fx *fixture) has(p person) billing.Entitlement {
	fx.t.Helper()
	e, err := fx.db.Entitlement(fx.t.Context(), p.UserID)
	fx.must(err)
	return e
}

func (fx *fixture) planNow(p person) string {
	fx.t.Helper()
	if plan := fx.has(p).Now(fx.clock.Now()); plan != nil {
		return plan.Name
	}
	return core.PlanNone
}

// month returns a subscription to the reader plan for one month.
func month(from time.Time) stripefake.Subscription {
	return stripefake.Subscription{
		ID:          "sub_1",
		Status:      "active",
		Price:       "price_reader",
		Created:     from,
		PeriodStart: from,
		PeriodEnd:   core.AddMonths(from, 1),
	}
}

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), nil)
	testkit.RequiresDeps(t, stripe.Deps{
		Store: fx.db, Client: http.DefaultClient, Clock: fx.clock, Audit: &fx.notes, Log: slog.New(slog.DiscardHandler),
		Options: stripe.Options{WebhookSecrets: []string{secret}},
	}, func(d stripe.Deps) { stripe.NewService(d) })
}
