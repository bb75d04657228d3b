package httpapi

import (
	"context"

	"carrel/internal/httpapi/oas"
	"carrel/internal/webhook"
)

// ListWebhooks answers GET /api/account/webhooks.
func (h handlers) ListWebhooks(ctx context.Context) (*oas.WebhookList, error) {
	webhooks, err := h.Webhooks.List(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.WebhookList{Webhooks: make([]oas.Webhook, len(webhooks))}
	for i, w := range webhooks {
		out.Webhooks[i] = webhookOf(w)
	}
	return out, nil
}

// CreateWebhook answers POST /api/account/webhooks. The secret is in no other reply.
func (h handlers) CreateWebhook(ctx context.Context, req *oas.WebhookCreate) (*oas.WebhookCreated, error) {
	var wanted []webhook.Event
	if req.Events != nil {
		wanted = make([]webhook.Event, len(req.Events))
		for i, e := range req.Events {
			wanted[i] = webhook.Event(e)
		}
	}
	w, secret, err := h.Webhooks.Create(ctx, actor(ctx), req.URL, wanted)
	if err != nil {
		return nil, err
	}
	out := oas.NewWebhook{ID: w.ID, URL: w.URL, Secret: secret, CreatedAt: timestamp(w.CreatedAt)}
	for _, e := range w.Events {
		out.Events = append(out.Events, oas.NewWebhookEventsItem(e))
	}
	return &oas.WebhookCreated{Webhook: out}, nil
}

// DeleteWebhook answers DELETE /api/account/webhooks/{webhookId}.
func (h handlers) DeleteWebhook(ctx context.Context, p oas.DeleteWebhookParams) (*oas.Deleted, error) {
	return deleted(h.Webhooks.Delete(ctx, actor(ctx), p.WebhookId))
}

// TestWebhook answers POST /api/account/webhooks/{webhookId}/test.
func (h handlers) TestWebhook(ctx context.Context, p oas.TestWebhookParams) (*oas.WebhookTest, error) {
	d, err := h.Webhooks.Test(ctx, actor(ctx), p.WebhookId)
	if err != nil {
		return nil, err
	}
	return &oas.WebhookTest{Delivered: d.Delivered(), Status: status(d), Detail: optional(d.Error)}, nil
}

func webhookOf(w webhook.Webhook) oas.Webhook {
	out := oas.Webhook{ID: w.ID, URL: w.URL, CreatedAt: timestamp(w.CreatedAt)}
	for _, e := range w.Events {
		out.Events = append(out.Events, oas.WebhookEventsItem(e))
	}
	if w.DisabledAt != nil {
		out.DisabledAt = optional(timestamp(*w.DisabledAt))
	}
	if w.Last != nil {
		out.LastDelivery = oas.NewOptWebhookDelivery(oas.WebhookDelivery{
			At: timestamp(w.Last.At), Status: status(*w.Last), Error: optional(w.Last.Error),
		})
	}
	return out
}

// status returns the status of the receiver's response, if there was one.
func status(d webhook.Delivery) oas.OptInt { return oas.OptInt{Value: d.Status, Set: d.Status != 0} }
