package billing

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// event is a message of Stripe's. Of what it is about only the customer is read: by the time that it is here, things may
// have moved on.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object struct {
			Customer reference `json:"customer"`
		} `json:"object"`
	} `json:"data"`
}

// reference is the id of something, which may be there as a whole.
type reference string

// UnmarshalJSON reads an id, or the id of an object.
func (r *reference) UnmarshalJSON(b []byte) error {
	var whole struct {
		ID string `json:"id"`
	}
	if len(b) > 0 && b[0] == '{' {
		err := json.Unmarshal(b, &whole)
		*r = reference(whole.ID)
		return err
	}
	return json.Unmarshal(b, (*string)(r)) // null leaves it empty
}

// telling are what the types of messages start with that can mean another state of a subscription.
var telling = []string{"customer.subscription.", "checkout.session.", "invoice."}

func (e event) tells() bool {
	for _, prefix := range telling {
		if strings.HasPrefix(e.Type, prefix) {
			return e.Data.Object.Customer != ""
		}
	}
	return false
}

// Take takes a message of Stripe's, which its signature authorizes. A message that counted before changes nothing. One
// that can't be dealt with now is an error and does not count: Stripe sends it again, for days.
func (s *Service) Take(ctx context.Context, payload []byte, signature string) error {
	if err := s.verify(payload, signature); err != nil {
		return err
	}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil || e.ID == "" {
		return &core.Error{Kind: core.KindInvalid, Code: "invalid_request", Detail: "The body is no event of Stripe's."}
	}
	taken, err := s.store.EventTaken(ctx, e.ID)
	if err != nil || taken {
		return err
	}
	if !e.tells() {
		return s.store.TakeEvent(ctx, e.ID, s.clock.Now())
	}
	_, err = s.refresh(ctx, string(e.Data.Object.Customer), e.ID)
	if errors.Is(err, errStranger) {
		// Somebody who buys something else from the same company.
		return s.store.TakeEvent(ctx, e.ID, s.clock.Now())
	}
	return err
}

// errStranger is a customer who is nobody's account.
var errStranger = errors.New("not a customer of this installation")

// attempts is how often a reading is made anew because others, made later, were kept first. Each failure means that one of
// them succeeded.
const attempts = 10

// refresh reads the subscriptions of a customer at Stripe, keeps what the account has, and returns all of them. It is kept
// only if nobody kept a reading since before this one was made; so what is kept last was read last.
func (s *Service) refresh(ctx context.Context, customerID, event string) ([]subscription, error) {
	for range attempts {
		c, err := s.store.CustomerByID(ctx, customerID)
		if core.IsKind(err, core.KindNotFound) {
			return nil, errStranger
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
		has, err := s.read(c.UserID, all, plans, now)
		if err != nil {
			return nil, err
		}
		before, err := s.store.Subscription(ctx, c.UserID)
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			return nil, err
		}
		kept, err := s.store.KeepSubscription(ctx, c, has, event, now)
		if err != nil {
			return nil, err
		}
		if kept {
			s.note(ctx, before, has)
			return all, nil
		}
	}
	return nil, away(errors.New("too many readings at once"))
}

// note writes down what has changed, if anything that matters has.
func (s *Service) note(ctx context.Context, before account.Subscription, has *account.Subscription) {
	if has == nil || before.ExternalID == has.ExternalID && before.Plan == has.Plan && before.Status == has.Status && before.CancelAtEnd == has.CancelAtEnd {
		return
	}
	s.recorder.Note(ctx, audit.Record{
		Event: audit.SubscriptionChanged, UserID: has.UserID, Actor: account.SubscriptionByStripe,
		Detail: map[string]string{"of": has.Plan, "status": string(has.Status)},
	})
	s.log.InfoContext(ctx, "a subscription changed at Stripe", slog.String("user", has.UserID), slog.String("plan", has.Plan), slog.String("status", string(has.Status)))
}
