// Package stripe sells plans through Stripe: it redirects users to Stripe's checkout and portal, and mirrors their
// subscriptions. Stripe is the source of truth. Every webhook event triggers a read of the customer's subscriptions
// from the API, so duplicate, late and reordered events are harmless.
package stripe

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
)

// Customer links a user to a Stripe customer.
type Customer struct {
	ID, UserID string
	// Revision counts the stored reads of the customer's subscriptions. It is used for optimistic locking.
	Revision int64
}

// Store persists customers, their subscriptions and the ids of processed events. A missing row is a not_found error.
type Store interface {
	Plans(ctx context.Context) ([]billing.Plan, error)
	UserByID(ctx context.Context, userID string) (account.User, error)
	Subscription(ctx context.Context, userID string) (billing.Subscription, error)
	Customer(ctx context.Context, userID string) (Customer, error)
	CustomerByID(ctx context.Context, customerID string) (Customer, error)
	// AddCustomer links a user to a customer. It does nothing if the user is already linked.
	AddCustomer(ctx context.Context, userID, customerID string) error
	EventTaken(ctx context.Context, id string) (bool, error)
	TakeEvent(ctx context.Context, id string, at time.Time) error
	// KeepSubscription stores the subscription read from Stripe, nil if the customer never had one, and the id of the
	// event that triggered the read, if any. It stores nothing if c.Revision is no longer current.
	KeepSubscription(
		ctx context.Context, c Customer, s *billing.Subscription, event string, at time.Time,
	) (kept bool, err error)
}

// Options are the settings of the Stripe account.
type Options struct {
	// Key is the secret API key, URL the base URL of the API.
	Key, URL string
	// Timeout limits each request to the API; 0 means 20 seconds.
	Timeout time.Duration
	// WebhookSecrets are the accepted signing secrets: one, or two during a rotation.
	WebhookSecrets []string
	// Grace is the grace period after a failed payment or a missing renewal.
	Grace time.Duration
	// TrialDays is the length of the free trial of an account's first subscription.
	TrialDays int
	// ReturnURL is the page that Stripe's pages link back to.
	ReturnURL string
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store Store
	// Client must not follow redirects: the API key would be sent along.
	Client *http.Client
	Clock  core.Clock
	Audit  audit.Recorder
	Log    *slog.Logger
	Options
}

// Service sells plans through one Stripe account.
type Service struct {
	store  Store
	stripe client
	clock  core.Clock
	audit  audit.Recorder
	log    *slog.Logger
	opts   Options
}

// NewService returns a Service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{
		store: d.Store, stripe: client{d.Client, d.URL, d.Key, cmp.Or(d.Timeout, defaultTimeout)},
		clock: d.Clock, audit: d.Audit, log: d.Log, opts: d.Options,
	}
}

// Offer lists the plans an account can buy.
type Offer struct {
	// Checkout is true if the account can buy a plan: it has no running paid subscription.
	Checkout bool
	// Portal is true if the account is a customer, so that Stripe's portal has a page for it.
	Portal bool
	// Plans are the plans for sale, cheapest first.
	Plans []billing.Plan
}

// Offer returns the plans the actor's account can buy.
func (s *Service) Offer(ctx context.Context, actor core.Actor) (Offer, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return Offer{}, err
	}
	plans, err := s.store.Plans(ctx)
	if err != nil {
		return Offer{}, err
	}
	plans = slices.DeleteFunc(plans, func(p billing.Plan) bool { return len(p.Prices()) == 0 })
	slices.SortStableFunc(plans, func(a, b billing.Plan) int { return int(min(max(a.Price-b.Price, -1), 1)) })
	o := Offer{Plans: plans}
	has, err := s.store.Subscription(ctx, actor.UserID)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return Offer{}, err
	}
	o.Checkout = len(plans) > 0 && (has.Source != billing.SubscriptionByStripe || has.Status == billing.SubscriptionEnded)
	_, err = s.store.Customer(ctx, actor.UserID)
	o.Portal = err == nil
	if core.IsKind(err, core.KindNotFound) {
		err = nil
	}
	return o, err
}

// Checkout returns the URL of a Stripe page where the actor can buy a plan.
func (s *Service) Checkout(ctx context.Context, actor core.Actor, plan string) (string, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return "", err
	}
	plans, err := s.store.Plans(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(plans, func(p billing.Plan) bool { return p.Name == plan && len(p.Prices()) > 0 })
	if i < 0 {
		return "", core.InvalidField("/plan", "Must be a plan that is for sale. GET /api/account/subscription lists them.")
	}
	c, err := s.customer(ctx, actor.UserID)
	if err != nil {
		return "", err
	}
	// Read from Stripe, not from the database: the webhook for a purchase made a moment ago may not have arrived yet.
	all, err := s.refresh(ctx, c.ID, "")
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, subscription.exists) {
		return "", core.Conflict("conflict",
			"This account already has a subscription. Pay for it or change it in the portal.")
	}
	trial := s.opts.TrialDays
	if slices.ContainsFunc(all, subscription.began) {
		trial = 0 // one trial per account
	}
	return s.stripe.checkout(ctx, checkout{
		customer: c, price: plans[i].Prices()[0], trialDays: trial, returnURL: s.opts.ReturnURL,
		earlier: len(all), now: s.clock.Now(),
	})
}

// Portal returns the URL of a Stripe page where the actor can manage their subscription.
func (s *Service) Portal(ctx context.Context, actor core.Actor) (string, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return "", err
	}
	c, err := s.store.Customer(ctx, actor.UserID)
	if core.IsKind(err, core.KindNotFound) {
		return "", core.Conflict("conflict", "This account has not bought a plan yet.")
	}
	if err != nil {
		return "", err
	}
	return s.stripe.portal(ctx, c.ID, s.opts.ReturnURL)
}

// customer returns the Stripe customer of a user and creates it if necessary. Concurrent calls get the same customer:
// the idempotency key contains the user id, and the store keeps the first.
func (s *Service) customer(ctx context.Context, userID string) (Customer, error) {
	c, err := s.store.Customer(ctx, userID)
	if !core.IsKind(err, core.KindNotFound) {
		return c, err
	}
	u, err := s.store.UserByID(ctx, userID)
	if err != nil {
		return Customer{}, err
	}
	id, err := s.stripe.newCustomer(ctx, userID, strings.TrimSpace(u.Email))
	if err != nil {
		return Customer{}, err
	}
	if err := s.store.AddCustomer(ctx, userID, id); err != nil {
		return Customer{}, err
	}
	return s.store.Customer(ctx, userID)
}
