package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// LogState is the state of a delivery in the log.
type LogState string

// The states of deliveries. A pending delivery is attempted again. A cancelled one was dropped, because the webhook was
// disabled.
const (
	LogPending   LogState = "pending"
	LogDelivered LogState = "delivered"
	LogFailed    LogState = "failed"
	LogCancelled LogState = "cancelled"
)

// LogEntry is a delivery in the log of a webhook.
type LogEntry struct {
	ID string
	// MessageID is the header webhook-id of the request. A delivery that repeats another one has the same.
	MessageID string
	Event     Event
	State     LogState
	Attempts  []Attempt
	// NextAt is the time of the next attempt of a pending delivery, or nil.
	NextAt    *time.Time
	CreatedAt time.Time
}

// Attempt is an attempt to deliver a message, as the log shows it.
type Attempt struct {
	Delivery
	// Took is the time until the receiver replied, or the attempt failed.
	Took time.Duration
}

// StoredDelivery is a delivery with its task and the outputs of its steps.
type StoredDelivery struct {
	ID, WebhookID, MessageID string
	Event                    Event
	Task                     task.Task
	Steps                    [][]byte
}

// LogStore persists the log of deliveries.
type LogStore interface {
	// Deliveries returns up to n deliveries of a webhook with an id below before, newest first. An empty before means
	// the newest ones.
	Deliveries(ctx context.Context, webhookID, before string, n int) ([]StoredDelivery, error)
	// Delivery returns one delivery of a webhook, or not_found.
	Delivery(ctx context.Context, webhookID, deliveryID string) (StoredDelivery, error)
	// InsertDelivery stores a delivery with its task. A delivery with the same id stays unchanged.
	InsertDelivery(ctx context.Context, d StoredDelivery) error
}

// entry returns a delivery as the log shows it.
func (d StoredDelivery) entry() (LogEntry, error) {
	e := LogEntry{
		ID: d.ID, MessageID: d.MessageID, Event: d.Event, CreatedAt: d.Task.CreatedAt, Attempts: []Attempt{},
		State: map[task.State]LogState{
			task.StateQueued: LogPending, task.StateRunning: LogPending, task.StateComplete: LogDelivered,
			task.StateFailed: LogFailed, task.StateCancelled: LogCancelled,
		}[d.Task.State],
	}
	for _, step := range d.Steps {
		var a attempt
		if err := json.Unmarshal(step, &a); err != nil {
			return LogEntry{}, fmt.Errorf("read a delivery attempt: %w", err)
		}
		e.Attempts = append(e.Attempts, Attempt{Delivery: a.Delivery, Took: a.Took})
	}
	if d.Task.State == task.StateQueued {
		e.NextAt = &d.Task.RunAt
	}
	return e, nil
}

// logCursor is the name of the list in cursors.
const logCursor = "webhook deliveries"

// Deliveries returns one page of the log of a webhook, newest first, and the next cursor.
func (s *Service) Deliveries(
	ctx context.Context, actor core.Actor, webhookID string, p core.Page,
) ([]LogEntry, string, error) {
	w, err := s.find(ctx, actor, core.OpListWebhookDeliveries, webhookID)
	if err != nil {
		return nil, "", err
	}
	rows, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor(logCursor, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	stored, err := s.store.Deliveries(ctx, w.ID, before, rows+1)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(stored) > rows {
		stored = stored[:rows]
		next = core.EncodeCursor(logCursor, stored[rows-1].ID)
	}
	entries := make([]LogEntry, len(stored))
	for i, d := range stored {
		if entries[i], err = d.entry(); err != nil {
			return nil, "", err
		}
	}
	return entries, next, nil
}

// Redeliver sends the message of an ended delivery again, with the same message id and all retries.
func (s *Service) Redeliver(ctx context.Context, actor core.Actor, webhookID, deliveryID string) (LogEntry, error) {
	w, err := s.find(ctx, actor, core.OpRedeliverWebhook, webhookID)
	if err != nil {
		return LogEntry{}, err
	}
	if !core.IsID(core.PrefixDelivery, deliveryID) {
		return LogEntry{}, core.NotFound("delivery")
	}
	old, err := s.store.Delivery(ctx, w.ID, deliveryID)
	switch {
	case err != nil:
		return LogEntry{}, err
	case !old.Task.State.Ended():
		return LogEntry{}, core.Conflict("conflict", "This message is still being delivered. Wait for the next attempt.")
	case w.DisabledAt != nil:
		return LogEntry{}, core.Conflict("conflict", "The webhook is disabled. Enable it first.")
	}
	var in deliveryInput
	if err := json.Unmarshal(old.Task.Input, &in); err != nil {
		return LogEntry{}, fmt.Errorf("read a delivery's input: %w", err)
	}
	in.MessageID = old.MessageID
	again := newDelivery(core.NewIDIn(ctx, core.PrefixDelivery), w, old.Event, in, s.clock.Now())
	if err := s.store.InsertDelivery(ctx, again); err != nil {
		return LogEntry{}, err
	}
	stored, err := s.store.Delivery(ctx, w.ID, again.ID)
	if err != nil {
		return LogEntry{}, err
	}
	return stored.entry()
}
