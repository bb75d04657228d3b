package webhook

import (
	"time"

	"carrel/internal/task"
)

// Event is the type of a webhook event.
type Event string

// The events a webhook can subscribe to, in display order. A cancelled turn or import is no event, because the user
// cancelled it. A declined invitation is none either, because the owner of the agent must not learn of it.
const (
	EventTurnCompleted   Event = "turn.completed"
	EventTurnFailed      Event = "turn.failed"
	EventImportCompleted Event = "import.completed"
	EventImportFailed    Event = "import.failed"
	EventSourceSynced    Event = "source.synced"
	EventSourceFailed    Event = "source.failed"
	EventShareCreated    Event = "share.created"
	EventShareChanged    Event = "share.changed"
	EventShareAccepted   Event = "share.accepted"
	EventShareRevoked    Event = "share.revoked"
	EventSpendNear       Event = "spend.near"
	EventSpendReached    Event = "spend.reached"
)

var events = []Event{
	EventTurnCompleted, EventTurnFailed, EventImportCompleted, EventImportFailed, EventSourceSynced, EventSourceFailed,
	EventShareCreated, EventShareChanged, EventShareAccepted, EventShareRevoked, EventSpendNear, EventSpendReached,
}

// turnEvents are the events of a webhook that names none. They were the only events of earlier versions.
var turnEvents = events[:2:2]

// eventTest is sent by Service.Test. Webhooks cannot subscribe to it.
const eventTest Event = "webhook.test"

// Message is an event with its data, which contains ids, states and counts only; receivers fetch everything else with a
// credential of their own.
type Message struct {
	Event Event
	At    time.Time
	// Data is a Turn, Import, Source, Share or Spend.
	Data any
	// CredentialID is the credential with which a turn was started; empty for other events.
	CredentialID string
}

// Turn is the data of an ended turn.
type Turn struct {
	AgentID   string `json:"agentId"`
	ThreadID  string `json:"threadId"`
	TurnID    string `json:"turnId"`
	MessageID string `json:"messageId"`
	Status    string `json:"status"`
	// Sentences counts the sentences of the reply by their verdict.
	Sentences map[string]int `json:"sentences,omitempty"`
	Error     *Failure       `json:"error,omitempty"`
}

// Import is the data of an ended import.
type Import struct {
	AgentID   string    `json:"agentId"`
	SourceID  string    `json:"sourceId"`
	ImportID  string    `json:"importId"`
	Status    string    `json:"status"`
	Documents Documents `json:"documents"`
	// FailedFiles counts the files that could not be read.
	FailedFiles int      `json:"failedFiles"`
	Error       *Failure `json:"error,omitempty"`
}

// Documents counts the documents that an import changed.
type Documents struct {
	Added     int `json:"added"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
}

// Source is the data of an ended synchronisation of a source.
type Source struct {
	AgentID  string   `json:"agentId"`
	SourceID string   `json:"sourceId"`
	ImportID string   `json:"importId"`
	Status   string   `json:"status"`
	Error    *Failure `json:"error,omitempty"`
}

// The states of a source after a synchronisation.
const (
	SourceSynced = "synced"
	SourceFailed = "failed"
)

// Share is the data of a changed share of an agent. It does not contain the invited address.
type Share struct {
	AgentID string `json:"agentId"`
	// Status is one of the share states.
	Status string `json:"status"`
	// Grant is empty if the share is revoked.
	Grant string `json:"grant,omitempty"`
	// UserID is the account that has or had the grant. It is empty for an invitation, which must not reveal whether an
	// account exists, and for everybody.
	UserID    string `json:"userId,omitempty"`
	Everybody bool   `json:"everybody,omitempty"`
}

// The states of a share.
const (
	SharePending  = "pending"
	ShareAccepted = "accepted"
	ShareRevoked  = "revoked"
)

// Spend is the data of an account whose spend is near its monthly cap or has reached it.
type Spend struct {
	// Period is the month, as in 2026-11.
	Period     string `json:"period"`
	CapMicros  int64  `json:"capMicros"`
	UsedMicros int64  `json:"usedMicros"`
	ResetsAt   string `json:"resetsAt"`
}

// NewSpend returns the data for a month that ends at a time.
func NewSpend(period string, limit, used int64, resets time.Time) Spend {
	return Spend{Period: period, CapMicros: limit, UsedMicros: used, ResetsAt: resets.UTC().Format(timeLayout)}
}

// spendNearPercent is the part of the cap from which the spend is near it.
const spendNearPercent = 80

// SpendEvent returns the event for an amount spent of a cap, and whether there is one.
func SpendEvent(limit, used int64) (Event, bool) {
	switch {
	case used >= limit:
		return EventSpendReached, true
	case used >= limit/100*spendNearPercent+limit%100*spendNearPercent/100:
		return EventSpendNear, true
	}
	return "", false
}

// Failure is the error code of a failed turn or import. The detail is not sent, because it may quote third parties.
type Failure struct {
	Code string `json:"code"`
}

// FailureOf returns the failure with an error code, or nil for an empty code.
func FailureOf(code string) *Failure {
	if code == "" {
		return nil
	}
	return &Failure{Code: code}
}

// TurnEvent returns the event for the end of a turn, and whether there is one.
func TurnEvent(state task.State) (Event, bool) {
	return endEvent(state, EventTurnCompleted, EventTurnFailed)
}

// ImportEvent returns the event for the end of an import, and whether there is one.
func ImportEvent(state task.State) (Event, bool) {
	return endEvent(state, EventImportCompleted, EventImportFailed)
}

func endEvent(state task.State, completed, failed Event) (Event, bool) {
	switch state {
	case task.StateComplete:
		return completed, true
	case task.StateFailed:
		return failed, true
	}
	return "", false
}
