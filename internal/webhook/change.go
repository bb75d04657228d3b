package webhook

import (
	"context"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// Change holds new values of a webhook; nil fields stay unchanged.
type Change struct {
	URL    *string
	Events *[]Event
	// Active enables or disables the delivery of events.
	Active *bool
}

// clean replaces the values by the form to store, or returns an error for the invalid ones. Only the allowed events can
// be chosen.
func (c *Change) clean(private bool, allowed []Event) error {
	var wrong []core.FieldError
	if c.URL != nil {
		url := strings.TrimSpace(*c.URL)
		if detail := outbound.CheckURL(url, private); detail != "" {
			wrong = append(wrong, core.FieldError{Pointer: "/url", Detail: detail})
		}
		c.URL = &url
	}
	if c.Events != nil {
		wanted := *c.Events
		chosen := slices.DeleteFunc(slices.Clone(allowed), func(e Event) bool { return !slices.Contains(wanted, e) })
		unknown := func(e Event) bool { return !slices.Contains(allowed, e) }
		if len(chosen) == 0 || slices.ContainsFunc(wanted, unknown) {
			wrong = append(wrong, core.FieldError{Pointer: "/events", Detail: "Must name at least one of " + list(allowed) + "."})
		}
		c.Events = &chosen
	}
	if len(wrong) > 0 {
		return core.Invalid(wrong...)
	}
	return nil
}

// Get returns a webhook.
func (s *Service) Get(ctx context.Context, actor core.Actor, webhookID string) (Webhook, error) {
	return s.find(ctx, actor, core.OpGetWebhook, webhookID)
}

// Change sets the URL and the events of a webhook, and enables or disables it. Pending deliveries are sent to the new
// URL; those to a disabled webhook are dropped.
func (s *Service) Change(ctx context.Context, actor core.Actor, webhookID string, c Change) (Webhook, error) {
	o, err := owner(actor, core.OpChangeWebhook)
	if err != nil {
		return Webhook{}, err
	}
	if !core.IsID(core.PrefixWebhook, webhookID) {
		return Webhook{}, core.NotFound("webhook")
	}
	allowed := o.events()
	if c.Events != nil && o.CredentialID == "" {
		w, err := s.store.Webhook(ctx, o, webhookID)
		if err != nil {
			return Webhook{}, err
		}
		allowed = Owner{UserID: w.UserID, CredentialID: w.CredentialID}.events()
	}
	if err := c.clean(s.private, allowed); err != nil {
		return Webhook{}, err
	}
	return s.store.ChangeWebhook(ctx, o, webhookID, c, s.clock.Now())
}

// events returns the events that webhooks of the owner can subscribe to. A connected program receives only those of
// its own turns.
func (o Owner) events() []Event {
	if o.CredentialID != "" {
		return turnEvents
	}
	return events
}

// list formats events for an error message.
func list(events []Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}
