// Package webhook notifies servers of a user of events such as the end of a turn, signed according to Standard Webhooks.
// A delivery is a task: it is stored with the change that it reports, retried for days, and survives crashes.
package webhook

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// MaxPerUser is the maximum number of webhooks of an account, MaxPerCredential of a connected program.
const (
	MaxPerUser       = 20
	MaxPerCredential = 5
)

// Webhook is a URL that receives events of a user.
type Webhook struct {
	ID     string
	UserID string
	// CredentialID is the credential of the connected program that created the webhook. The webhook receives only the
	// events of turns that were started with it. It is empty for a webhook of the account.
	CredentialID string
	URL          string
	Events       []Event
	// Sealed is the encrypted signing secret.
	Sealed    []byte
	CreatedAt time.Time
	// DisabledAt is the time at which the user disabled the webhook or the receiver replied 410 Gone, or nil.
	DisabledAt *time.Time
	// Last is the latest delivery attempt.
	Last *Delivery
}

// Wants reports whether the webhook is enabled, subscribed to the event of a message, and may receive it.
func (w Webhook) Wants(m Message) bool {
	return w.DisabledAt == nil && slices.Contains(w.Events, m.Event) &&
		(w.CredentialID == "" || w.CredentialID == m.CredentialID)
}

// Owner selects the webhooks that a caller may manage: those of a credential, or all of the user's if CredentialID is
// empty.
type Owner struct{ UserID, CredentialID string }

// owner returns which webhooks the actor may manage. A credential for the account manages all of them. Any other one,
// such as that of a connected program, manages the webhooks that it created.
func owner(actor core.Actor, op core.Operation) (Owner, error) {
	if err := actor.Allow(op); err != nil {
		return Owner{}, err
	}
	o := Owner{UserID: actor.UserID}
	if actor.Allow(core.OpAccount) != nil {
		if actor.CredentialID == "" {
			return Owner{}, core.Forbidden("forbidden", "This is not allowed.")
		}
		o.CredentialID = actor.CredentialID
	}
	return o, nil
}

// find returns a webhook that the actor may manage.
func (s *Service) find(ctx context.Context, actor core.Actor, op core.Operation, webhookID string) (Webhook, error) {
	o, err := owner(actor, op)
	if err != nil {
		return Webhook{}, err
	}
	if !core.IsID(core.PrefixWebhook, webhookID) {
		return Webhook{}, core.NotFound("webhook")
	}
	return s.store.Webhook(ctx, o, webhookID)
}

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

// Store persists webhooks, scoped to an owner; anything else is not_found.
type Store interface {
	// InsertWebhook stores a webhook and returns it, or returns the existing one with the same id. Exceeding the limit
	// per account or credential is a conflict.
	InsertWebhook(ctx context.Context, w Webhook, limit int) (Webhook, error)
	// Webhooks returns the webhooks of an owner, newest first.
	Webhooks(ctx context.Context, o Owner) ([]Webhook, error)
	// Webhook returns a webhook unless its user is disabled.
	Webhook(ctx context.Context, o Owner, webhookID string) (Webhook, error)
	// ChangeWebhook sets the given fields of a webhook.
	ChangeWebhook(ctx context.Context, o Owner, webhookID string, c Change, now time.Time) (Webhook, error)
	DeleteWebhook(ctx context.Context, o Owner, webhookID string) error
	// RecordDelivery stores an attempt unless a later one is stored. A receiver that is gone disables the webhook,
	// enable enables it again. A deleted webhook is ignored.
	RecordDelivery(ctx context.Context, webhookID string, d Delivery, enable bool) error
	LogStore
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

// Create adds a webhook and returns its secret, which is not shown again. Without events it subscribes to the ends of
// turns.
func (s *Service) Create(ctx context.Context, actor core.Actor, url string, wanted []Event) (Webhook, string, error) {
	o, err := owner(actor, core.OpCreateWebhook)
	if err != nil {
		return Webhook{}, "", err
	}
	if wanted == nil {
		wanted = turnEvents
	}
	c := Change{URL: &url, Events: &wanted}
	if err := c.clean(s.private, o.events()); err != nil {
		return Webhook{}, "", err
	}
	w := Webhook{
		ID: core.NewIDIn(ctx, core.PrefixWebhook), UserID: o.UserID, CredentialID: o.CredentialID, URL: *c.URL,
		Events: *c.Events, CreatedAt: s.clock.Now(),
	}
	w.Sealed = s.sealer.Seal(newSecret(), w.ID)
	limit := MaxPerUser
	if o.CredentialID != "" {
		limit = MaxPerCredential
	}
	w, err = s.store.InsertWebhook(ctx, w, limit)
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

// List returns the webhooks that the actor may manage, newest first.
func (s *Service) List(ctx context.Context, actor core.Actor) ([]Webhook, error) {
	o, err := owner(actor, core.OpListWebhooks)
	if err != nil {
		return nil, err
	}
	return s.store.Webhooks(ctx, o)
}

// Delete deletes a webhook and drops its pending deliveries.
func (s *Service) Delete(ctx context.Context, actor core.Actor, webhookID string) error {
	o, err := owner(actor, core.OpDeleteWebhook)
	if err != nil {
		return err
	}
	if !core.IsID(core.PrefixWebhook, webhookID) {
		return core.NotFound("webhook")
	}
	return s.store.DeleteWebhook(ctx, o, webhookID)
}

// testTimeout is short because a user waits for the result.
const testTimeout = 10 * time.Second

// Test delivers a test event now and returns the result. A successful test enables a disabled webhook again.
func (s *Service) Test(ctx context.Context, actor core.Actor, webhookID string) (Delivery, error) {
	w, err := s.find(ctx, actor, core.OpTestWebhook, webhookID)
	if err != nil {
		return Delivery{}, err
	}
	secret, err := s.sealer.Open(w.Sealed, w.ID)
	if err != nil {
		return Delivery{Error: detailUnreadable}, nil //nolint:nilerr // the result of the test
	}
	at := s.clock.Now()
	body := Message{Event: eventTest, At: at, Data: testData{WebhookID: w.ID}}.encode()
	d, _, err := s.post(ctx, message{id: core.NewID(core.PrefixDelivery), url: w.URL, secret: secret, body: body},
		testTimeout)
	if err != nil {
		return Delivery{}, err
	}
	return d, s.store.RecordDelivery(ctx, w.ID, d, d.Delivered())
}
