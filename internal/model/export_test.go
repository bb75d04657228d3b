package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// RecordDelays makes the client record its retry delays instead of waiting.
func (c *EmbeddingClient) RecordDelays(record func(time.Duration)) { c.sleep = recordedSleep(record) }

// RecordDelays makes a provider record its retry delays instead of waiting.
func RecordDelays(p Provider, record func(time.Duration)) {
	p.(*chatClient).sleep = recordedSleep(record)
}

func recordedSleep(record func(time.Duration)) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		record(d)
		return ctx.Err()
	}
}

// SetIdleTimeout sets the idle timeout of a provider.
func SetIdleTimeout(p Provider, d time.Duration) { p.(*chatClient).idle = d }

// Unexported functions under test.
var (
	Sanitize       = sanitize
	SanitizeObject = sanitizeObject
)

// SanitizeDeltas sanitizes a text that arrives in deltas.
func SanitizeDeltas(deltas []string) (out []string) {
	var s sanitizer
	for _, d := range deltas {
		out = append(out, s.next(d))
	}
	return append(out, s.rest())
}

// Classify returns the public error for a status and a body.
func Classify(status int, body string) error {
	return classify(status, parseProviderError([]byte(body)), "").public()
}

// DecodeDelta decodes a textDelta.
func DecodeDelta(data []byte) (string, error) {
	var t textDelta
	err := json.Unmarshal(data, &t)
	return string(t), err
}

// ServerSentEvent is a copy of an event.
type ServerSentEvent struct{ Name, Data string }

// ReadEvents reads all events of a stream.
func ReadEvents(r io.Reader) (out []ServerSentEvent, err error) {
	events := newEventReader(r)
	for {
		e, err := events.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, ServerSentEvent{string(e.name), string(e.data)})
	}
}
