package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
)

// event is a webhook event. Only the customer is read from it, because the rest may be outdated on arrival.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object struct {
			Customer reference `json:"customer"`
		} `json:"object"`
	} `json:"data"`
}

// reference is the id of an object. Stripe sends an id or the expanded object.
type reference string

// UnmarshalJSON decodes an id or an expanded object.
func (r *reference) UnmarshalJSON(b []byte) error {
	var expanded struct {
		ID string `json:"id"`
	}
	if len(b) > 0 && b[0] == '{' {
		err := json.Unmarshal(b, &expanded)
		*r = reference(expanded.ID)
		return err
	}
	return json.Unmarshal(b, (*string)(r)) // null leaves it empty
}

// subscriptionEvents are the prefixes of the event types that can change a subscription.
var subscriptionEvents = []string{"customer.subscription.", "checkout.session.", "invoice."}

func (e event) concernsSubscription() bool {
	for _, prefix := range subscriptionEvents {
		if strings.HasPrefix(e.Type, prefix) {
			return e.Data.Object.Customer != ""
		}
	}
	return false
}

// Take processes a webhook event, authorized by its signature. A duplicate event changes nothing. On an error the event
// is not marked as processed, and Stripe retries it for days.
func (s *Service) Take(ctx context.Context, payload []byte, signature string) error {
	if err := s.verify(payload, signature); err != nil {
		return err
	}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil || e.ID == "" {
		return &core.Error{Kind: core.KindInvalid, Code: "invalid_request", Detail: "The body is not a Stripe event."}
	}
	taken, err := s.store.EventTaken(ctx, e.ID)
	if err != nil || taken {
		return err
	}
	if !e.concernsSubscription() {
		return s.store.TakeEvent(ctx, e.ID, s.clock.Now())
	}
	_, err = s.refresh(ctx, string(e.Data.Object.Customer), e.ID)
	if errors.Is(err, errUnknownCustomer) {
		// A customer of another product sold through the same Stripe account.
		return s.store.TakeEvent(ctx, e.ID, s.clock.Now())
	}
	return err
}

// errUnknownCustomer is returned for a customer that is not linked to an account.
var errUnknownCustomer = errors.New("not a customer of this installation")

// maxAttempts limits the retries of refresh. Each conflict means that a concurrent refresh of the customer succeeded.
const maxAttempts = 10

// refresh reads the subscriptions of a customer from Stripe, stores the relevant one, and returns all of them. It
// stores nothing if a concurrent refresh stored its result in between, and retries, so the stored state is always the
// one read last.
func (s *Service) refresh(ctx context.Context, customerID, event string) ([]subscription, error) {
	for range maxAttempts {
		c, err := s.store.CustomerByID(ctx, customerID)
		if core.IsKind(err, core.KindNotFound) {
			return nil, errUnknownCustomer
		}
		if err != nil {
			return nil, err
		}
		all, err := s.stripe.subscriptions(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		plans, err := s.store.Plans(ctx)
		if err != nil {
			return nil, err
		}
		now := s.clock.Now()
		current, err := s.current(c.UserID, all, plans, now)
		if err != nil {
			return nil, err
		}
		before, err := s.store.Subscription(ctx, c.UserID)
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			return nil, err
		}
		kept, err := s.store.KeepSubscription(ctx, c, current, event, now)
		if err != nil {
			return nil, err
		}
		if kept {
			s.recordChange(ctx, before, current)
			return all, nil
		}
	}
	return nil, unavailable(errors.New("too many concurrent updates of one customer"))
}

// recordChange appends an audit entry if plan, status or cancellation changed. Renewals are not recorded.
func (s *Service) recordChange(ctx context.Context, before billing.Subscription, now *billing.Subscription) {
	if now == nil || before.ExternalID == now.ExternalID && before.Plan == now.Plan &&
		before.Status == now.Status && before.CancelAtEnd == now.CancelAtEnd {
		return
	}
	s.audit.Note(ctx, audit.Record{
		Event: audit.SubscriptionChanged, UserID: now.UserID, Actor: billing.SubscriptionByStripe,
		Detail: map[string]string{"of": now.Plan, "status": string(now.Status)},
	})
	s.log.InfoContext(ctx, "subscription changed at Stripe",
		slog.String("user", now.UserID), slog.String("plan", now.Plan), slog.String("status", string(now.Status)))
}
