// Package billing sells plans through Stripe: it sends people to pay, and keeps their subscriptions as Stripe says that
// they are. Stripe is the one that knows; what is kept here is a copy that is read anew whenever Stripe says that
// something happened. So it does not matter in which order its messages come, how often, or what they say.
package billing

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
)

// Customer is who an account is at Stripe.
type Customer struct {
	ID, UserID string
	// Revision counts the readings of the customer's subscriptions that were kept.
	Revision int64
}

// Store keeps customers, what was read of their subscriptions, and which messages counted. What is not there is not_found.
type Store interface {
	Plans(ctx context.Context) ([]account.Plan, error)
	UserByID(ctx context.Context, userID string) (account.User, error)
	Subscription(ctx context.Context, userID string) (account.Subscription, error)
	Customer(ctx context.Context, userID string) (Customer, error)
	CustomerByID(ctx context.Context, customerID string) (Customer, error)
	// AddCustomer ties a user to a customer, unless they are tied to one.
	AddCustomer(ctx context.Context, userID, customerID string) error
	EventTaken(ctx context.Context, id string) (bool, error)
	TakeEvent(ctx context.Context, id string, at time.Time) error
	// KeepSubscription keeps a reading, nil for a customer who never had a subscription, and the event that it was made
	// for, if any. It keeps nothing when another reading was kept since the customer was read.
	KeepSubscription(ctx context.Context, c Customer, s *account.Subscription, event string, at time.Time) (kept bool, err error)
}

// Options are the settings.
type Options struct {
	// Key is the secret key of the Stripe account, and URL where its API is.
	Key, URL string
	// WebhookSecrets are those that messages may be signed with: one, or two while one takes the place of the other.
	WebhookSecrets []string
	// Grace is how long a subscription is served after a payment that failed, or while the word of a renewal is late.
	Grace time.Duration
	// TrialDays is how long the first subscription of an account costs nothing.
	TrialDays int
	// ReturnURL is the page of ours that Stripe's pages lead back to.
	ReturnURL string
}

// Service sells plans.
type Service struct {
	store    Store
	stripe   client
	clock    core.Clock
	recorder account.Recorder
	log      *slog.Logger
	opts     Options
}

// NewService returns a service for a Stripe account. It asks with the client, which must follow no redirects: the key
// would go along.
func NewService(store Store, web *http.Client, clock core.Clock, recorder account.Recorder, log *slog.Logger, o Options) *Service {
	return &Service{store: store, stripe: client{web: web, url: o.URL, key: o.Key}, clock: clock, recorder: recorder, log: log, opts: o}
}

// Offer is what an account can buy now.
type Offer struct {
	// Checkout says that a plan can be bought: nothing that is paid for runs.
	Checkout bool
	// Portal says that Stripe knows the account, and so has a page with what it pays for.
	Portal bool
	// Plans are those that can be bought, the cheapest first.
	Plans []account.Plan
}

// Offer tells what the actor's account can buy.
func (s *Service) Offer(ctx context.Context, actor core.Actor) (Offer, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return Offer{}, err
	}
	plans, err := s.store.Plans(ctx)
	if err != nil {
		return Offer{}, err
	}
	plans = slices.DeleteFunc(plans, func(p account.Plan) bool { return len(p.Prices()) == 0 })
	slices.SortStableFunc(plans, func(a, b account.Plan) int { return int(min(max(a.Price-b.Price, -1), 1)) })
	o := Offer{Plans: plans}
	has, err := s.store.Subscription(ctx, actor.UserID)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return Offer{}, err
	}
	o.Checkout = len(plans) > 0 && (has.Source != account.SubscriptionByStripe || has.Status == account.SubscriptionEnded)
	_, err = s.store.Customer(ctx, actor.UserID)
	o.Portal = err == nil
	if core.IsKind(err, core.KindNotFound) {
		err = nil
	}
	return o, err
}

// Checkout returns the address of a page of Stripe's on which the actor can buy a plan.
func (s *Service) Checkout(ctx context.Context, actor core.Actor, plan string) (string, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return "", err
	}
	plans, err := s.store.Plans(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(plans, func(p account.Plan) bool { return p.Name == plan && len(p.Prices()) > 0 })
	if i < 0 {
		return "", core.InvalidField("/plan", "Must be a plan that can be bought. GET /api/account/subscription lists them.")
	}
	c, err := s.customer(ctx, actor.UserID)
	if err != nil {
		return "", err
	}
	// Stripe is asked, not our copy: its word of what was bought a moment ago may still be on its way.
	all, err := s.refresh(ctx, c.ID, "")
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, subscription.stands) {
		return "", core.Conflict("conflict", "The account has a subscription. Pay for it or change it in the portal.")
	}
	trial := s.opts.TrialDays
	if slices.ContainsFunc(all, subscription.began) {
		trial = 0 // once in a life
	}
	return s.stripe.checkout(ctx, checkout{
		customer: c, price: plans[i].Prices()[0], trialDays: trial, back: s.opts.ReturnURL, before: len(all), now: s.clock.Now(),
	})
}

// Portal returns the address of a page of Stripe's with what the actor pays for.
func (s *Service) Portal(ctx context.Context, actor core.Actor) (string, error) {
	if err := actor.Allow(core.OpBilling); err != nil {
		return "", err
	}
	c, err := s.store.Customer(ctx, actor.UserID)
	if core.IsKind(err, core.KindNotFound) {
		return "", core.Conflict("conflict", "The account has bought nothing yet.")
	}
	if err != nil {
		return "", err
	}
	return s.stripe.portal(ctx, c.ID, s.opts.ReturnURL)
}

// customer returns who the user is at Stripe, and makes Stripe know them if it does not. Of many who ask at once all get
// the same one: Stripe makes one for a user, and the store keeps the first.
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
