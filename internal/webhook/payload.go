package webhook

import (
	"encoding/json"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Turn is what is told of a turn that has ended: ids, no text. Whoever wants more asks for it with a credential.
type Turn struct {
	AgentID   string     `json:"agentId"`
	ThreadID  string     `json:"threadId"`
	TurnID    string     `json:"turnId"`
	MessageID string     `json:"messageId"`
	Status    string     `json:"status"`
	Error     *TurnError `json:"error,omitempty"`
}

// TurnError is why a turn failed: the word to switch on. The sentence beside it may quote others, and stays here.
type TurnError struct {
	Code string `json:"code"`
}

// TurnEvent returns the event that the end of a turn is, and whether it is one.
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

// timeLayout is RFC 3339 with milliseconds, as everywhere in the API.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// encode returns the body of a message. It is made once: every try sends the same bytes.
func encode(e Event, at time.Time, data any) []byte {
	b, _ := json.Marshal(struct { // ids and words always marshal
		Type      Event  `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{e, at.UTC().Format(timeLayout), data})
	return b
}

// kindName is the name of deliveries among the tasks, and deadline what one may take in all: the whole schedule, with
// receivers that ask for more time wherever they can.
const (
	kindName = "webhook"
	deadline = 5 * 24 * time.Hour
)

// deliveryInput is what a delivery's task carries.
type deliveryInput struct {
	WebhookID string          `json:"webhookId"`
	Body      json.RawMessage `json:"body"`
}

// NewDelivery returns the task that tells a webhook of a turn's end, to be stored with that end. It has no key but its own
// id, so that a delivery that waits for its receiver holds up no other.
func NewDelivery(w Webhook, e Event, turn Turn, at time.Time) task.Task {
	input, _ := json.Marshal(deliveryInput{WebhookID: w.ID, Body: encode(e, at, turn)}) // as in encode
	return task.Task{
		ID: core.NewID(core.PrefixDelivery), Kind: kindName, UserID: w.UserID, Input: input, State: task.StateQueued,
		RunAt: at, DeadlineAt: at.Add(deadline), CreatedAt: at,
	}
}
