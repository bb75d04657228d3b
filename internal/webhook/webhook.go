// Package webhook notifies servers of a user when a turn has ended, signed according to Standard Webhooks. A delivery
// is a task: it is stored with the end of the turn, retried for days, and survives crashes.
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

// Event is the type of a webhook event.
type Event string

// The events a webhook can subscribe to, in display order. A cancelled turn is no event, because the user cancelled it.
const (
	EventTurnCompleted Event = "turn.completed"
	EventTurnFailed    Event = "turn.failed"
)

var events = []Event{EventTurnCompleted, EventTurnFailed}

// eventTest is sent by Service.Test. Webhooks cannot subscribe to it.
const eventTest Event = "webhook.test"

// MaxPerUser is the maximum number of webhooks per user.
const MaxPerUser = 20

// Webhook is a URL that receives events of a user.
type Webhook struct {
	ID     string
	UserID string
	URL    string
	Events []Event
	// Sealed is the encrypted signing secret.
	Sealed    []byte
	CreatedAt time.Time
	// DisabledAt is the time at which the receiver replied 410 Gone, or nil.
	DisabledAt *time.Time
	// Last is the latest delivery attempt.
	Last *Delivery
}

// Wants reports whether the webhook is enabled and subscribed to an event.
func (w Webhook) Wants(e Event) bool { return w.DisabledAt == nil && slices.Contains(w.Events, e) }

// Delivery is one delivery attempt.
type Delivery struct {
	At time.Time
	// Status is the HTTP status of the reply, or 0.
	Status int
	// Error is a message for the user, empty if the delivery succeeded.
	Error string
}

// Delivered reports whether the attempt succeeded.
func (d Delivery) Delivered() bool { return d.Error == "" }

// Gone reports whether the receiver replied that it is permanently gone.
func (d Delivery) Gone() bool { return d.Status == http.StatusGone }

// Store persists webhooks, scoped to a user; anything else is not_found.
type Store interface {
	// InsertWebhook stores a webhook and returns it, or returns the existing one with the same id. Exceeding the limit
	// per user is a conflict.
	InsertWebhook(ctx context.Context, w Webhook, limit int) (Webhook, error)
	// Webhooks returns a user's webhooks, newest first.
	Webhooks(ctx context.Context, userID string) ([]Webhook, error)
	// Webhook returns a webhook unless its user is disabled.
	Webhook(ctx context.Context, userID, webhookID string) (Webhook, error)
	DeleteWebhook(ctx context.Context, userID, webhookID string) error
	// RecordDelivery stores an attempt unless a later one is stored. A receiver that is gone disables the webhook,
	// enable enables it again. A deleted webhook is ignored.
	RecordDelivery(ctx context.Context, webhookID string, d Delivery, enable bool) error
}

// Sealer encrypts secrets at rest. A sealed secret can be opened only for the same place.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Service implements the operations on webhooks and their delivery.
type Service struct {
	store  Store
	sealer Sealer
	clock  core.Clock
	client *http.Client
	// private allows private addresses and plain HTTP.
	private   bool
	attempted func(delivered bool)
	inFlight  inFlight
}

// Options restrict where deliveries may go, and observe them.
type Options struct {
	// Private allows private addresses and plain HTTP.
	Private bool
	// Resolver looks up the hosts of receivers; nil means the system resolver.
	Resolver *net.Resolver
	// Attempted is called after every attempt to deliver an event. It may be nil.
	Attempted func(delivered bool)
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store  Store
	Sealer Sealer
	Clock  core.Clock
}

// NewService returns a service. The caller must register Service.Kind with the task engine. It panics if a dependency
// is missing.
func NewService(d Deps, o Options) *Service {
	core.RequireDeps(d)
	if o.Attempted == nil {
		o.Attempted = func(bool) {}
	}
	return &Service{
		store: d.Store, sealer: d.Sealer, clock: d.Clock, private: o.Private, inFlight: inFlight{n: map[string]int{}},
		attempted: o.Attempted,
		client:    outbound.NewClient(outbound.Options{Private: o.Private, Timeout: attemptTimeout, Resolver: o.Resolver}),
	}
}

// Create adds a webhook and returns its secret, which is not shown again. Without events it subscribes to all.
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
		wrong = append(wrong,
			core.FieldError{Pointer: "/events", Detail: "Must name at least one of turn.completed and turn.failed."})
	}
	if len(wrong) > 0 {
		return Webhook{}, "", core.Invalid(wrong...)
	}
	w := Webhook{
		ID: core.NewIDIn(ctx, core.PrefixWebhook), UserID: actor.UserID, URL: url, Events: chosen,
		CreatedAt: s.clock.Now(),
	}
	w.Sealed = s.sealer.Seal(newSecret(), w.ID)
	w, err := s.store.InsertWebhook(ctx, w, MaxPerUser)
	if err != nil {
		return Webhook{}, "", err
	}
	// The stored webhook counts: a request repeated after a crash finds the webhook of its first attempt.
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

// Delete deletes a webhook and drops its pending deliveries.
func (s *Service) Delete(ctx context.Context, actor core.Actor, webhookID string) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	if !core.IsID(core.PrefixWebhook, webhookID) {
		return core.NotFound("webhook")
	}
	return s.store.DeleteWebhook(ctx, actor.UserID, webhookID)
}

// testTimeout is short because a user waits for the result.
const testTimeout = 10 * time.Second

// Test delivers a test event now and returns the result. A successful test enables a disabled webhook again.
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
		return Delivery{Error: detailUnreadable}, nil //nolint:nilerr // the result of the test
	}
	at := s.clock.Now()
	body := encode(eventTest, at, testData{WebhookID: w.ID})
	d, _, err := s.post(ctx, message{id: core.NewID(core.PrefixDelivery), url: w.URL, secret: secret, body: body},
		testTimeout)
	if err != nil {
		return Delivery{}, err
	}
	return d, s.store.RecordDelivery(ctx, w.ID, d, d.Delivered())
}
