package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// replacement is substituted for invalid UTF-8 and for NUL, which PostgreSQL does not store.
const replacement = "\uFFFD"

// sanitize makes a text safe to send and to store.
func sanitize(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	return s
}

// sanitizer sanitizes a text that arrives in deltas. It holds the start of a character that is split between two
// deltas back until the rest has arrived.
type sanitizer struct{ pending string }

// next returns the pending bytes and the delta, up to the last complete character.
func (s *sanitizer) next(delta string) string {
	if s.pending != "" {
		delta, s.pending = s.pending+delta, ""
	}
	end := len(delta)
	for i := end - 1; i >= 0 && i >= end-utf8.UTFMax+1; i-- {
		if utf8.RuneStart(delta[i]) {
			if !utf8.FullRuneInString(delta[i:]) {
				delta, s.pending = delta[:i], delta[i:]
			}
			break
		}
	}
	return sanitize(delta)
}

// rest returns the pending bytes at the end of the text.
func (s *sanitizer) rest() string {
	text := sanitize(s.pending)
	s.pending = ""
	return text
}

// sanitizeObject returns the arguments of a tool call, safe to store, and whether they are a JSON object. Models send
// an empty string for tools without parameters.
func sanitizeObject(arguments string) (json.RawMessage, bool) {
	arguments = strings.TrimSpace(sanitize(arguments))
	if arguments == "" {
		return json.RawMessage("{}"), true
	}
	b := json.RawMessage(arguments)
	if !isObject(b) {
		return nil, false
	}
	if !strings.Contains(arguments, `\u`) {
		return b, true
	}
	// An escape may encode a NUL or an unpaired surrogate.
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	safe, err := json.Marshal(sanitizeValue(v))
	return safe, err == nil
}

func sanitizeValue(v any) any {
	switch v := v.(type) {
	case string:
		return sanitize(v)
	case []any:
		for i := range v {
			v[i] = sanitizeValue(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[sanitize(key)] = sanitizeValue(value)
		}
		return out
	}
	return v
}
