// Package webhook tells a user's own servers when a turn has ended, signed as Standard Webhooks has it. A delivery is a
// task: it is stored with the end of the turn, tried again for days, and survives crashes.
package webhook

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// Event is what a webhook can be told.
type Event string

// The events that a webhook can ask for, in the order in which they are shown. A cancelled turn is no event: whoever
// cancelled it knows.
const (
	EventTurnCompleted Event = "turn.completed"
	EventTurnFailed    Event = "turn.failed"
)

var events = []Event{EventTurnCompleted, EventTurnFailed}

// eventTest is what the user sends to see whether a webhook works. Nobody can ask for it otherwise.
const eventTest Event = "webhook.test"

// MaxPerUser is how many webhooks a user may have.
const MaxPerUser = 20

// Webhook is an address of the user's that is told of events.
type Webhook struct {
	ID     string
	UserID string
	URL    string
	Events []Event
	// Sealed is the signing secret as it is stored.
	Sealed    []byte
	CreatedAt time.Time
	// DisabledAt is when the receiver said that it is gone for good.
	DisabledAt *time.Time
	// Last is the latest try to deliver something.
	Last *Delivery
}

// Wants reports whether the webhook is to be told of an event.
func (w Webhook) Wants(e Event) bool { return w.DisabledAt == nil && slices.Contains(w.Events, e) }

// Delivery is one try to deliver something.
type Delivery struct {
	At time.Time
	// Status is what the receiver answered with, or 0.
	Status int
	// Error is a sentence for the user; empty means that it was delivered.
	Error string
}

// Delivered reports whether the receiver took it.
func (d Delivery) Delivered() bool { return d.Error == "" }

// Gone reports whether the receiver said that it wants nothing more, ever.
func (d Delivery) Gone() bool { return d.Status == http.StatusGone }

// Store keeps webhooks. Everything is scoped to a user; what lies outside is not_found.
type Store interface {
	// InsertWebhook stores a webhook and returns it. One with the same id is returned as it is; more than limit of one
	// user are a conflict.
	InsertWebhook(ctx context.Context, w Webhook, limit int) (Webhook, error)
	// Webhooks returns a user's webhooks, newest first.
	Webhooks(ctx context.Context, userID string) ([]Webhook, error)
	// Webhook returns one, unless its user is disabled.
	Webhook(ctx context.Context, userID, webhookID string) (Webhook, error)
	DeleteWebhook(ctx context.Context, userID, webhookID string) error
	// RecordDelivery notes a try, unless a later one is noted already. A receiver that is gone disables the webhook, and
	// enable takes that back. A webhook that was deleted meanwhile is passed over.
	RecordDelivery(ctx context.Context, webhookID string, d Delivery, enable bool) error
}

// Sealer encrypts secrets at rest.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Service is the door to webhooks, and delivers.
type Service struct {
	store  Store
	sealer Sealer
	clock  core.Clock
	client *http.Client
	// private says that receivers may have private addresses and speak plain HTTP.
	private bool
	flights flights
}

// Options say where deliveries may go.
type Options struct {
	// Private lets them go to private addresses, and over plain HTTP.
	Private bool
	// Resolver looks up the hosts of receivers; nil means the system's.
	Resolver *net.Resolver
}

// NewService returns a service on this store. Its kind of task must be registered with the engine.
func NewService(store Store, sealer Sealer, clock core.Clock, o Options) *Service {
	return &Service{
		store: store, sealer: sealer, clock: clock, private: o.Private,
		client: outbound.NewClient(outbound.Options{Private: o.Private, Timeout: tryTimeout, Resolver: o.Resolver}), flights: flights{n: map[string]int{}},
	}
}

// Create adds a webhook and returns its secret, which is not shown again. Without events it gets all of them.
func (s *Service) Create(ctx context.Context, actor core.Actor, url string, wanted []Event) (Webhook, string, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Webhook{}, "", err
	}
	if wanted == nil {
		wanted = events
	}
	var wrong []core.FieldError
	url = strings.TrimSpace(url)
	if detail := outbound.CheckURL(url, s.private); detail != "" {
		wrong = append(wrong, core.FieldError{Pointer: "/url", Detail: detail})
	}
	chosen := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !slices.Contains(wanted, e) })
	if len(chosen) == 0 || slices.ContainsFunc(wanted, func(e Event) bool { return !slices.Contains(events, e) }) {
		wrong = append(wrong, core.FieldError{Pointer: "/events", Detail: "Must name at least one of turn.completed and turn.failed."})
	}
	if len(wrong) > 0 {
		return Webhook{}, "", core.Invalid(wrong...)
	}
	w := Webhook{
		ID: core.NewIDIn(ctx, core.PrefixWebhook), UserID: actor.UserID, URL: url, Events: chosen, CreatedAt: s.clock.Now(),
	}
	w.Sealed = s.sealer.Seal(newSecret(), w.ID)
	w, err := s.store.InsertWebhook(ctx, w, MaxPerUser)
	if err != nil {
		return Webhook{}, "", err
	}
	// Of the stored one: a request that is sent again after a crash finds the webhook of its first attempt.
	secret, err := s.sealer.Open(w.Sealed, w.ID)
	if err != nil {
		return Webhook{}, "", err
	}
	return w, showSecret(secret), nil
}

// List returns the actor's webhooks, newest first.
func (s *Service) List(ctx context.Context, actor core.Actor) ([]Webhook, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	return s.store.Webhooks(ctx, actor.UserID)
}

// Delete removes a webhook. What is still to be delivered to it is dropped.
func (s *Service) Delete(ctx context.Context, actor core.Actor, webhookID string) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	if !core.IsID(core.PrefixWebhook, webhookID) {
		return core.NotFound("webhook")
	}
	return s.store.DeleteWebhook(ctx, actor.UserID, webhookID)
}

// testTimeout is how long a test may take: somebody waits for it.
const testTimeout = 10 * time.Second

// Test delivers a test event now and returns how that went. A webhook that was disabled is enabled again when the
// receiver takes it.
func (s *Service) Test(ctx context.Context, actor core.Actor, webhookID string) (Delivery, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Delivery{}, err
	}
	if !core.IsID(core.PrefixWebhook, webhookID) {
		return Delivery{}, core.NotFound("webhook")
	}
	w, err := s.store.Webhook(ctx, actor.UserID, webhookID)
	if err != nil {
		return Delivery{}, err
	}
	secret, err := s.sealer.Open(w.Sealed, w.ID)
	if err != nil {
		return Delivery{Error: detailUnreadable}, nil //nolint:nilerr // it is the outcome of the test
	}
	at := s.clock.Now()
	body := encode(eventTest, at, testData{WebhookID: w.ID})
	d, _, err := s.post(ctx, message{id: core.NewID(core.PrefixDelivery), url: w.URL, secret: secret, body: body}, testTimeout)
	if err != nil {
		return Delivery{}, err
	}
	return d, s.store.RecordDelivery(ctx, w.ID, d, d.Delivered())
}
