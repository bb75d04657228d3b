package model

import (
	"crypto/rand"
	"errors"
)

// errStopped is a caller that wants no more.
var errStopped = errors.New("stopped by the caller")

// sink takes what comes of an answer, makes it safe and passes it on.
type sink struct {
	yield func(Event, error) bool
	clean cleaner
	// said is all that the model has written, thoughts included.
	said tally
	// delivered says that something was passed on.
	delivered bool
}

// text passes on a piece of text.
func (s *sink) text(piece string) error {
	s.said.add(piece)
	return s.pass(s.clean.next(piece))
}

// flush passes on what is left of a text that ends.
func (s *sink) flush() error { return s.pass(s.clean.rest()) }

func (s *sink) pass(text string) error {
	if text == "" {
		return nil
	}
	return s.emit(Text(text))
}

func (s *sink) emit(e Event) error {
	s.delivered = true
	if !s.yield(e, nil) {
		return errStopped
	}
	return nil
}

// pendingCall is a call of a tool whose arguments are still coming.
type pendingCall struct {
	index    int64
	id, name string
	args     []byte
}

// call passes on a call that is whole.
func (s *sink) call(p pendingCall) error {
	args, ok := cleanObject(string(p.args))
	name := clean(p.name)
	if !ok || name == "" {
		return &failure{what: ErrToolCall}
	}
	id := clean(p.id)
	if id == "" {
		// Some servers give calls no ids; the answers need something to refer to.
		id = "call_" + rand.Text()
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.emit(ToolCall{ID: id, Name: name, Arguments: args})
}
