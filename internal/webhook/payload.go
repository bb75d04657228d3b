package webhook

import (
	"cmp"
	"encoding/json"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

type testData struct {
	WebhookID string `json:"webhookId"`
}

// timeLayout is RFC 3339 with milliseconds, as in the API.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// encode returns the body of a message. All attempts send the same bytes.
func (m Message) encode() []byte {
	b, _ := json.Marshal(struct { // strings and numbers always marshal
		Type      Event  `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{m.Event, m.At.UTC().Format(timeLayout), m.Data})
	return b
}

// kindName is the task kind of deliveries. deadline covers all retries, even if the receiver requests the longest
// pauses.
const (
	kindName = "webhook"
	deadline = 5 * 24 * time.Hour
)

// deliveryInput is the input of a delivery's task.
type deliveryInput struct {
	WebhookID string `json:"webhookId"`
	// MessageID is the id of the message that is sent again; empty for the first delivery, whose own id it is.
	MessageID string          `json:"messageId,omitempty"`
	Body      json.RawMessage `json:"body"`
}

// NewDelivery returns the delivery of a message, to be stored in the transaction of the change that the message
// reports.
func NewDelivery(w Webhook, m Message) StoredDelivery {
	in := deliveryInput{WebhookID: w.ID, Body: m.encode()}
	return newDelivery(core.NewID(core.PrefixDelivery), w, m.Event, in, m.At)
}

// newDelivery returns a delivery. Its task has no key, so that a slow receiver does not delay other deliveries.
func newDelivery(id string, w Webhook, e Event, in deliveryInput, at time.Time) StoredDelivery {
	input, _ := json.Marshal(in) // as in encode
	return StoredDelivery{
		ID: id, WebhookID: w.ID, MessageID: cmp.Or(in.MessageID, id), Event: e,
		Task: task.Task{
			ID: id, Kind: kindName, UserID: w.UserID, Input: input, State: task.StateQueued,
			RunAt: at, DeadlineAt: at.Add(deadline), CreatedAt: at,
		},
	}
}
