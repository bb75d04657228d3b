package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/core"
)

// prepare returns the request with defaults, sanitized texts and alternating roles. An invalid request is a bug of the
// caller, and so an internal error.
func (r Request) prepare(models []string) (Request, error) {
	if r.Model == "" {
		r.Model = models[0]
	}
	if !slices.Contains(models, r.Model) {
		return Request{}, (&failure{kind: ErrNotAllowed}).public()
	}
	if r.MaxTokens <= 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	r.System = sanitize(r.System)
	r.Messages = merge(r.Messages)
	if err := r.validate(); err != nil {
		return Request{}, core.Internal(fmt.Errorf("invalid model request: %w", err))
	}
	return r, nil
}

// merge sanitizes messages and joins consecutive messages of one role, as a turn without an answer leaves them. Many
// servers refuse conversations whose roles do not alternate.
func merge(messages []Message) []Message {
	out := make([]Message, 0, len(messages))
	for _, m := range messages {
		m.Text = sanitize(m.Text)
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

// validate checks the rules that all providers share.
func (r Request) validate() error {
	if len(r.Messages) == 0 || r.Messages[0].Role != RoleUser {
		return errors.New("the first message is not the user's")
	}
	if r.Messages[len(r.Messages)-1].Role == RoleAssistant {
		return errors.New("the last message is the assistant's")
	}
	var open []string // ids of calls without a result
	for i, m := range r.Messages {
		if len(open) > 0 && m.Role != RoleTool {
			return fmt.Errorf("message %d precedes the results of tool calls", i)
		}
		switch m.Role {
		case RoleUser:
			if m.Text == "" || len(m.Calls) > 0 {
				return fmt.Errorf("message %d is empty or has tool calls", i)
			}
		case RoleAssistant:
			if m.Text == "" && len(m.Calls) == 0 {
				return fmt.Errorf("message %d is empty", i)
			}
			for _, call := range m.Calls {
				if call.ID == "" || call.Name == "" || slices.Contains(open, call.ID) || !isObject(call.Arguments) {
					return fmt.Errorf("message %d has an invalid tool call", i)
				}
				open = append(open, call.ID)
			}
		case RoleTool:
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d is the result of an unknown tool call", i)
			}
			open = slices.Delete(open, at, at+1)
		default:
			return fmt.Errorf("message %d has no role", i)
		}
	}
	if len(open) > 0 {
		return errors.New("results of tool calls are missing")
	}
	return r.validateSchemas()
}

func (r Request) validateSchemas() error {
	for _, t := range r.Tools {
		if t.Name == "" || !isObject(t.Schema) {
			return errors.New("a tool needs a name and a schema that is an object")
		}
	}
	if r.Schema != nil && (r.Schema.Name == "" || !isObject(r.Schema.JSON)) {
		return errors.New("a schema needs a name and must be an object")
	}
	return nil
}

// isObject reports whether b is a JSON object.
func isObject(b json.RawMessage) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{' && json.Valid(b)
	}
	return false
}
