package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// replacement stands for what can't be kept: a NUL, which PostgreSQL refuses, or bytes that are no UTF-8.
const replacement = "\uFFFD"

// clean makes a text safe to send and to store.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	return s
}

// cleaner makes a text safe that comes in pieces. Servers that send tokens as they are made may cut a character in two;
// its first part waits here for the second.
type cleaner struct{ carry string }

// next returns what is whole of the text so far and was not returned before.
func (c *cleaner) next(piece string) string {
	if c.carry != "" {
		piece, c.carry = c.carry+piece, ""
	}
	whole := len(piece)
	for i := whole - 1; i >= 0 && i >= whole-utf8.UTFMax+1; i-- {
		if utf8.RuneStart(piece[i]) {
			if !utf8.FullRuneInString(piece[i:]) {
				piece, c.carry = piece[:i], piece[i:]
			}
			break
		}
	}
	return clean(piece)
}

// rest returns what still waits when nothing more comes.
func (c *cleaner) rest() string {
	s := clean(c.carry)
	c.carry = ""
	return s
}

// cleanObject returns the arguments of a call, safe to store, and whether they are a JSON object. No arguments at all
// are those of a tool that takes none.
func cleanObject(args string) (json.RawMessage, bool) {
	args = strings.TrimSpace(clean(args))
	if args == "" {
		return json.RawMessage("{}"), true
	}
	b := json.RawMessage(args)
	if !object(b) {
		return nil, false
	}
	if !strings.Contains(args, `\u`) {
		return b, true
	}
	// A NUL or half a surrogate pair may hide in an escape.
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	safe, err := json.Marshal(cleanValue(v))
	return safe, err == nil
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[clean(key)] = cleanValue(value)
		}
		return out
	}
	return v
}
