package model

import (
	"crypto/rand"
	"errors"
)

// errStopped is returned when the caller ends the iteration.
var errStopped = errors.New("stopped by the caller")

// emitter sanitizes the parts of an answer and yields them to the caller.
type emitter struct {
	yield     func(Event, error) bool
	sanitizer sanitizer
	// written counts everything that the model has generated, reasoning included.
	written tokenCounter
	// delivered is set once an event was yielded. The request can't be retried after that.
	delivered bool
}

func (e *emitter) text(delta string) error {
	e.written.add(delta)
	return e.emitText(e.sanitizer.next(delta))
}

// flush yields the rest of a text that ended within a character.
func (e *emitter) flush() error { return e.emitText(e.sanitizer.rest()) }

func (e *emitter) emitText(text string) error {
	if text == "" {
		return nil
	}
	return e.emit(Text(text))
}

func (e *emitter) emit(event Event) error {
	e.delivered = true
	if !e.yield(event, nil) {
		return errStopped
	}
	return nil
}

// partialCall is a tool call whose arguments are still arriving.
type partialCall struct {
	index     int
	id, name  string
	arguments []byte
}

// calls yields tool calls. It is called at the end of an answer, so that a truncated answer yields none and can be
// retried.
func (e *emitter) calls(calls []partialCall) error {
	for _, c := range calls {
		arguments, ok := sanitizeObject(string(c.arguments))
		name := sanitize(c.name)
		if !ok || name == "" {
			return &failure{kind: ErrToolCall}
		}
		id := sanitize(c.id)
		if id == "" {
			// Some servers send no ids, but the message with the result must refer to one.
			id = "call_" + rand.Text()
		}
		if err := e.flush(); err != nil {
			return err
		}
		if err := e.emit(ToolCall{ID: id, Name: name, Arguments: arguments}); err != nil {
			return err
		}
	}
	return nil
}
