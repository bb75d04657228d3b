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
		out.Events = append(out.Events, oas.WebhookEvent(e))
	}
	return &oas.WebhookCreated{Webhook: out, Secret: secret}, nil
}

// GetWebhook answers GET /api/account/webhooks/{webhookId}.
func (h handlers) GetWebhook(ctx context.Context, p oas.GetWebhookParams) (*oas.WebhookReply, error) {
	return webhookReply(h.Webhooks.Get(ctx, actor(ctx), p.WebhookId))
}

// ChangeWebhook answers PATCH /api/account/webhooks/{webhookId}.
func (h handlers) ChangeWebhook(
	ctx context.Context, req *oas.WebhookChange, p oas.ChangeWebhookParams,
) (*oas.WebhookReply, error) {
	c := webhook.Change{URL: pointer(req.URL)}
	if req.Events != nil {
		events := make([]webhook.Event, len(req.Events))
		for i, e := range req.Events {
			events[i] = webhook.Event(e)
		}
		c.Events = &events
	}
	if req.Active.Set {
		c.Active = &req.Active.Value
	}
	return webhookReply(h.Webhooks.Change(ctx, actor(ctx), p.WebhookId, c))
}

func webhookReply(w webhook.Webhook, err error) (*oas.WebhookReply, error) {
	if err != nil {
		return nil, err
	}
	return &oas.WebhookReply{Webhook: webhookOf(w)}, nil
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

// ListWebhookDeliveries answers GET /api/account/webhooks/{webhookId}/deliveries.
func (h handlers) ListWebhookDeliveries(
	ctx context.Context, p oas.ListWebhookDeliveriesParams,
) (*oas.WebhookDeliveryList, error) {
	entries, next, err := h.Webhooks.Deliveries(ctx, actor(ctx), p.WebhookId, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.WebhookDeliveryList{
		Deliveries: make([]oas.WebhookDeliveryRecord, len(entries)), NextCursor: optional(next),
	}
	for i, e := range entries {
		out.Deliveries[i] = deliveryOf(e)
	}
	return out, nil
}

// RedeliverWebhook answers POST /api/account/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver.
func (h handlers) RedeliverWebhook(
	ctx context.Context, p oas.RedeliverWebhookParams,
) (*oas.WebhookDeliveryReply, error) {
	e, err := h.Webhooks.Redeliver(ctx, actor(ctx), p.WebhookId, p.DeliveryId)
	if err != nil {
		return nil, err
	}
	return &oas.WebhookDeliveryReply{Delivery: deliveryOf(e)}, nil
}

func deliveryOf(e webhook.LogEntry) oas.WebhookDeliveryRecord {
	out := oas.WebhookDeliveryRecord{
		ID: e.ID, MessageId: e.MessageID, Event: oas.WebhookEvent(e.Event), State: oas.WebhookDeliveryState(e.State),
		Attempts: make([]oas.WebhookDeliveryAttempt, len(e.Attempts)), CreatedAt: timestamp(e.CreatedAt),
	}
	for i, a := range e.Attempts {
		out.Attempts[i] = oas.WebhookDeliveryAttempt{
			At: timestamp(a.At), DurationMs: a.Took.Milliseconds(), Status: status(a.Delivery), Error: optional(a.Error),
		}
	}
	if e.NextAt != nil {
		out.NextAttemptAt = optional(timestamp(*e.NextAt))
	}
	return out
}

func webhookOf(w webhook.Webhook) oas.Webhook {
	out := oas.Webhook{
		ID: w.ID, URL: w.URL, CredentialId: optional(w.CredentialID), CreatedAt: timestamp(w.CreatedAt),
	}
	for _, e := range w.Events {
		out.Events = append(out.Events, oas.WebhookEvent(e))
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
