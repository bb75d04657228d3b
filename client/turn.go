package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Kinds of events of a turn.
const (
	EventQueued    = "queued"
	EventStep      = "step"
	EventDelta     = "delta"
	EventRestarted = "restarted"
	EventDone      = "done"
)

// Event is an event of a turn.
type Event struct {
	// ID resumes the stream after this event. It is empty for EventQueued.
	ID   string `json:"id,omitempty"`
	Kind string `json:"event"`
	// Position is the number of turns ahead of a queued one.
	Position int `json:"position,omitempty"`
	// Step is set for EventStep.
	Step *Step `json:"step,omitempty"`
	// Text is the piece of the reply of EventDelta.
	Text string `json:"text,omitempty"`
	// DiscardAfter is the id of the last event that stays valid after EventRestarted.
	DiscardAfter string `json:"discardAfter,omitempty"`
	// Status is complete, failed or cancelled, MessageID the id of the reply, and Error the reason of a failure, of
	// EventDone.
	Status    string     `json:"status,omitempty"`
	MessageID string     `json:"messageId,omitempty"`
	Error     *TurnError `json:"error,omitempty"`
}

// Step is a step of a turn, such as one search.
type Step struct {
	N     int    `json:"n"`
	Kind  string `json:"kind"`
	Label string `json:"label"`
	State string `json:"state"`
}

// StreamTurn iterates over the events of a thread's latest turn until it is done. After an interrupted connection it
// continues after the last event. After is the id of the last event that the caller has, or empty.
func (c *Client) StreamTurn(ctx context.Context, agentID, threadID, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		failures := 0
		for {
			ended, received, err := c.streamOnce(ctx, agentID, threadID, &after, func(e Event) bool { return yield(e, nil) })
			if ended {
				return
			}
			if received {
				failures = 0
			}
			failures++
			e, refused := errors.AsType[*Error](err)
			if ctx.Err() != nil || failures >= c.opts.Attempts ||
				refused && e.Status != http.StatusTooManyRequests && e.Status != http.StatusServiceUnavailable {
				yield(Event{}, cmpError(context.Cause(ctx), err))
				return
			}
			if err := sleep(ctx, min(c.opts.Backoff<<failures, maxBackoff)); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// cmpError returns the first error that is not nil.
func cmpError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return io.ErrUnexpectedEOF // the stream ended without an error and without its last event
}

// streamOnce reads one connection. Ended means that the turn is done or that the caller wants no more events.
func (c *Client) streamOnce(
	ctx context.Context, agentID, threadID string, after *string, yield func(Event) bool,
) (ended, received bool, err error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if *after != "" {
		header.Set("Last-Event-ID", *after)
	}
	body, err := c.open(ctx, request{
		method: http.MethodGet, path: threadPath(agentID, threadID) + "/events", query: url.Values{"until": {EventDone}},
		header: header,
	})
	if err != nil {
		return false, false, err
	}
	defer func() { _ = body.Close() }()
	var malformed error
	err = ReadEvents(body, func(s ServerEvent) bool {
		received = true
		event, err := s.decode()
		if err != nil {
			malformed = err
			return false
		}
		if s.ID != "" {
			*after = s.ID
		}
		ended = !yield(event) || event.Kind == EventDone
		return !ended
	})
	return ended, received, errors.Join(malformed, err)
}

// decode returns the event of a turn. The data of a step are the fields of Step.
func (s ServerEvent) decode() (Event, error) {
	event := Event{}
	target := any(&event)
	if s.Kind == EventStep {
		event.Step = &Step{}
		target = event.Step
	}
	if err := json.Unmarshal([]byte(s.Data), target); err != nil {
		return Event{}, fmt.Errorf("an event of the stream: %w", err)
	}
	event.ID, event.Kind = s.ID, s.Kind
	return event, nil
}

// threadPath returns the path of a thread.
func threadPath(agentID, threadID string) string {
	return "/api/agents/" + url.PathEscape(agentID) + "/threads/" + url.PathEscape(threadID)
}

// TurnState is the state of a turn after its events so far.
type TurnState struct {
	pieces []Event
}

// Apply adds an event. It reports whether earlier text was discarded, because a part of the turn runs again.
func (s *TurnState) Apply(e Event) (discarded bool) {
	switch e.Kind {
	case EventDelta, EventStep:
		s.pieces = append(s.pieces, e)
	case EventRestarted:
		before := s.Text()
		s.pieces = slices.DeleteFunc(s.pieces, func(p Event) bool { return idAfter(p.ID, e.DiscardAfter) })
		return s.Text() != before
	}
	return false
}

// Text returns the reply so far.
func (s *TurnState) Text() string {
	var out strings.Builder
	for _, p := range s.pieces {
		out.WriteString(p.Text)
	}
	return out.String()
}

// idAfter reports whether the event id a is greater than b. Ids are two numbers with a dot between them.
func idAfter(a, b string) bool {
	turnA, numberA := splitID(a)
	turnB, numberB := splitID(b)
	return turnA > turnB || turnA == turnB && numberA > numberB
}

func splitID(id string) (turn, number int) {
	left, right, _ := strings.Cut(id, ".")
	turn, _ = strconv.Atoi(left)    // an invalid id is the first
	number, _ = strconv.Atoi(right) // see above
	return turn, number
}

// pollWait is the time for which the server holds a request for messages that have not changed.
const pollWait = "wait=30"

// AwaitTurn polls the messages of a thread until the turn has ended and returns its reply, which may have the status
// failed or cancelled.
func (c *Client) AwaitTurn(ctx context.Context, agentID, threadID, turnID string) (*Message, error) {
	etag := ""
	for {
		message, ended, err := c.pollTurn(ctx, agentID, threadID, turnID, &etag)
		if err != nil || ended {
			return message, err
		}
	}
}

// pollTurn reads the messages if they have changed since the ETag, and returns the reply of a turn. It reports false
// while the turn is running.
func (c *Client) pollTurn(
	ctx context.Context, agentID, threadID, turnID string, etag *string,
) (reply *Message, ended bool, err error) {
	header := http.Header{"Prefer": {pollWait}}
	if *etag != "" {
		header.Set("If-None-Match", *etag)
	}
	res, err := c.send(ctx, request{
		method: http.MethodGet, path: threadPath(agentID, threadID) + "/messages", header: header,
	})
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = res.Body.Close() }()
	*etag = res.Header.Get("ETag")
	if res.StatusCode == http.StatusNotModified {
		return nil, false, nil
	}
	var list MessageList
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(&list); err != nil {
		return nil, false, fmt.Errorf("read the messages: %w", err)
	}
	for i, m := range list.Messages {
		if m.TurnID == turnID && m.Role == "assistant" {
			return &list.Messages[i], true, nil
		}
	}
	if list.Status == "complete" {
		return nil, false, &Error{
			Status: http.StatusNotFound, Code: CodeNotFound, Detail: "The thread has no reply of this turn.",
		}
	}
	return nil, false, nil
}

// Thread returns all messages of a thread in chronological order.
func (c *Client) Thread(ctx context.Context, agentID, threadID string) ([]Message, error) {
	var out []Message
	for cursor := ""; ; {
		page, err := c.ListMessages(ctx, agentID, threadID, ListMessagesParams{Limit: 200, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		out = append(page.Messages, out...) // a page is in order, and the next one is older
		if cursor = page.NextCursor; cursor == "" {
			return out, nil
		}
	}
}
