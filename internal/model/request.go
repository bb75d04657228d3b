package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/core"
)

// prepare returns the request as it is sent: complete, its texts clean, and in an order that every provider takes. A
// request that none would take is a mistake of ours.
func (r Request) prepare(models []string) (Request, error) {
	if r.Model == "" {
		r.Model = models[0]
	}
	if !slices.Contains(models, r.Model) {
		return Request{}, (&failure{what: ErrNotAllowed}).public()
	}
	if r.MaxTokens <= 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	r.System = clean(r.System)
	r.Messages = merge(r.Messages)
	if err := r.check(); err != nil {
		return Request{}, core.Internal(fmt.Errorf("a request to a model is wrong: %w", err))
	}
	return r, nil
}

// merge cleans the messages and joins those that follow on one of the same role, as a turn without a reply leaves them:
// many models are taught conversations in which the roles take turns, and their servers refuse others.
func merge(messages []Message) []Message {
	out := make([]Message, 0, len(messages))
	for _, m := range messages {
		m.Text = clean(m.Text)
		last := len(out) - 1
		if last >= 0 && m.Role != RoleTool && m.Role == out[last].Role && len(out[last].Calls) == 0 {
			out[last].Text += "\n\n" + m.Text
			out[last].Calls = m.Calls
			continue
		}
		out = append(out, m)
	}
	return out
}

// check holds the messages to the rules that providers have in common.
func (r Request) check() error {
	if len(r.Messages) == 0 || r.Messages[0].Role != RoleUser {
		return errors.New("it must start with the user")
	}
	if r.Messages[len(r.Messages)-1].Role == RoleAssistant {
		return errors.New("it must not end with the assistant")
	}
	var open []string // calls that wait for their answers
	for i, m := range r.Messages {
		if len(open) > 0 && m.Role != RoleTool {
			return fmt.Errorf("message %d comes before the answers to calls of tools", i)
		}
		switch m.Role {
		case RoleUser:
			if m.Text == "" || len(m.Calls) > 0 {
				return fmt.Errorf("message %d must have text and nothing else", i)
			}
		case RoleAssistant:
			if m.Text == "" && len(m.Calls) == 0 {
				return fmt.Errorf("message %d is empty", i)
			}
			for _, call := range m.Calls {
				if call.ID == "" || call.Name == "" || slices.Contains(open, call.ID) || !object(call.Arguments) {
					return fmt.Errorf("message %d has a call that is not whole", i)
				}
				open = append(open, call.ID)
			}
		case RoleTool:
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d answers no call", i)
			}
			open = slices.Delete(open, at, at+1)
		default:
			return fmt.Errorf("message %d has no role", i)
		}
	}
	if len(open) > 0 {
		return errors.New("it ends before all calls of tools are answered")
	}
	return r.checkSchemas()
}

func (r Request) checkSchemas() error {
	for _, t := range r.Tools {
		if t.Name == "" || !object(t.Schema) {
			return errors.New("a tool needs a name and the schema of an object")
		}
	}
	if r.Schema != nil && (r.Schema.Name == "" || !object(r.Schema.JSON)) {
		return errors.New("a schema needs a name and must be an object")
	}
	return nil
}

// object reports whether this is one JSON object.
func object(b json.RawMessage) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{' && json.Valid(b)
	}
	return false
}
