package webhook

import (
	"encoding/json"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Turn is the event data of an ended turn. It contains only ids and counts; receivers fetch the text with a credential.
type Turn struct {
	AgentID   string `json:"agentId"`
	ThreadID  string `json:"threadId"`
	TurnID    string `json:"turnId"`
	MessageID string `json:"messageId"`
	Status    string `json:"status"`
	// Sentences counts the sentences of the reply by their verdict.
	Sentences map[string]int `json:"sentences,omitempty"`
	Error     *TurnError     `json:"error,omitempty"`
}

// TurnError is the error code of a failed turn. The detail is not sent, because it may quote third parties.
type TurnError struct {
	Code string `json:"code"`
}

// TurnEvent returns the event for the end of a turn, and whether there is one.
func TurnEvent(state task.State) (Event, bool) {
	switch state {
	case task.StateComplete:
		return EventTurnCompleted, true
	case task.StateFailed:
		return EventTurnFailed, true
	}
	return "", false
}

type testData struct {
	WebhookID string `json:"webhookId"`
}

// timeLayout is RFC 3339 with milliseconds, as in the API.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// encode returns the body of a message. All attempts send the same bytes.
func encode(e Event, at time.Time, data any) []byte {
	b, _ := json.Marshal(struct { // strings always marshal
		Type      Event  `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{e, at.UTC().Format(timeLayout), data})
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
	WebhookID string          `json:"webhookId"`
	Body      json.RawMessage `json:"body"`
}

// NewDelivery returns the delivery task for the end of a turn, to be stored in the same transaction. It has no key, so
// that a slow receiver does not delay other deliveries.
func NewDelivery(w Webhook, e Event, turn Turn, at time.Time) task.Task {
	input, _ := json.Marshal(deliveryInput{WebhookID: w.ID, Body: encode(e, at, turn)}) // as in encode
	return task.Task{
		ID: core.NewID(core.PrefixDelivery), Kind: kindName, UserID: w.UserID, Input: input, State: task.StateQueued,
		RunAt: at, DeadlineAt: at.Add(deadline), CreatedAt: at,
	}
}
