package httpapi

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth limits the nesting of a body. The contract's own schemas are four levels deep; cards may be deeper.
const maxDepth = 64

// errMalformed means that a body is not a strict JSON object.
var errMalformed = errors.New("malformed JSON")

// nulError locates a NUL character in a body. JSON allows it, but PostgreSQL cannot store it.
type nulError struct{ pointer string }

func (e nulError) Error() string { return "NUL in a string" }

// checkJSON is stricter than most decoders: a single object, valid UTF-8, no duplicate keys, no lone surrogates,
// limited depth, no trailing data. Where decoders differ, as for duplicate keys, two parts of a system could read the
// same body differently.
func checkJSON(body []byte) error {
	_, err := normalJSON(body)
	return err
}

// normalJSON checks a body like checkJSON and returns it with integers in plain form (10 for 10.0), as the decoder
// requires. It does not change rawMembers.
func normalJSON(body []byte) ([]byte, error) {
	s := scanner{in: body}
	s.space()
	if s.peek() != '{' {
		return nil, errMalformed
	}
	if err := s.value(0); err != nil {
		return nil, err
	}
	s.space()
	if s.at != len(s.in) {
		return nil, errMalformed
	}
	if s.plain == nil {
		return body, nil
	}
	return append(s.plain, body[s.copied:]...), nil
}

// rawMembers are the members with arbitrary JSON: a card, and the response of an authenticator.
var rawMembers = map[string]bool{"card": true, "answer": true}

type scanner struct {
	in []byte
	at int
	// path is the current position, for the pointer of an error.
	path []string
	// plain is the input up to copied, with integers in plain form; nil if nothing was changed yet.
	plain  []byte
	copied int
}

// normalize replaces the number from from to the current position by its plain form.
func (s *scanner) normalize(from int) {
	if len(s.path) > 0 && rawMembers[s.path[0]] {
		return
	}
	if plain, ok := wholeNumber(string(s.in[from:s.at])); ok {
		s.plain = append(append(s.plain, s.in[s.copied:from]...), plain...)
		s.copied = s.at
	}
}

func (s *scanner) space() {
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.in) {
		return s.in[s.at]
	}
	return 0
}

// value scans a value at this depth of nesting.
func (s *scanner) value(depth int) error {
	switch c := s.peek(); {
	case depth >= maxDepth && (c == '{' || c == '['):
		return errMalformed
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		_, err := s.str()
		return err
	case c == '-' || c >= '0' && c <= '9':
		from := s.at
		err := s.number()
		if err == nil {
			s.normalize(from)
		}
		return err
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(s.in)-s.at >= len(word) && string(s.in[s.at:s.at+len(word)]) == word {
			s.at += len(word)
			return nil
		}
	}
	return errMalformed
}

func (s *scanner) object(depth int) error {
	s.at++ // {
	s.space()
	if s.peek() == '}' {
		s.at++
		return nil
	}
	seen := map[string]struct{}{}
	for {
		if s.peek() != '"' {
			return errMalformed
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if _, dup := seen[key]; dup {
			return errMalformed
		}
		seen[key] = struct{}{}
		s.space()
		if s.peek() != ':' {
			return errMalformed
		}
		s.at++
		s.space()
		s.path = append(s.path, key)
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		if more, err := s.next('}'); !more || err != nil {
			return err
		}
	}
}

func (s *scanner) array(depth int) error {
	s.at++ // [
	s.space()
	if s.peek() == ']' {
		s.at++
		return nil
	}
	for i := 0; ; i++ {
		s.path = append(s.path, strconv.Itoa(i))
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		if more, err := s.next(']'); !more || err != nil {
			return err
		}
	}
}

// next skips a comma, or the end of the list.
func (s *scanner) next(end byte) (more bool, err error) {
	s.space()
	switch s.peek() {
	case ',':
		s.at++
		s.space()
		return true, nil
	case end:
		s.at++
		return false, nil
	}
	return false, errMalformed
}

// str scans a string and returns its decoded value.
func (s *scanner) str() (string, error) {
	s.at++ // the opening quote
	start := s.at
	var decoded []byte // nil if the string has no escapes
	for s.at < len(s.in) {
		c := s.in[s.at]
		switch {
		case c == '"':
			raw := s.in[start:s.at]
			s.at++
			if decoded != nil {
				raw = append(decoded, raw...)
			}
			if !utf8.Valid(raw) {
				return "", errMalformed
			}
			return string(raw), nil
		case c < ' ':
			return "", errMalformed
		case c != '\\':
			s.at++
		default:
			decoded = append(decoded, s.in[start:s.at]...)
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			decoded = utf8.AppendRune(decoded, r)
			start = s.at
		}
	}
	return "", errMalformed
}

func (s *scanner) escape() (rune, error) {
	if s.at+1 >= len(s.in) {
		return 0, errMalformed
	}
	c := s.in[s.at+1]
	s.at += 2
	if c != 'u' {
		if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
			return rune("\"\\/\b\f\n\r\t"[i]), nil
		}
		return 0, errMalformed
	}
	r, err := s.hex()
	if err != nil {
		return 0, err
	}
	if r == 0 {
		return 0, nulError{s.pointer()}
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if s.at+1 >= len(s.in) || s.in[s.at] != '\\' || s.in[s.at+1] != 'u' {
		return 0, errMalformed
	}
	s.at += 2
	low, err := s.hex()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, errMalformed
	}
	return r, nil
}

func (s *scanner) hex() (rune, error) {
	if s.at+4 > len(s.in) {
		return 0, errMalformed
	}
	n, err := strconv.ParseUint(string(s.in[s.at:s.at+4]), 16, 32)
	if err != nil {
		return 0, errMalformed
	}
	s.at += 4
	return rune(n), nil
}

func (s *scanner) number() error {
	digits := func() bool {
		from := s.at
		for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
			s.at++
		}
		return s.at > from
	}
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !digits() {
		return errMalformed
	}
	if s.peek() == '.' {
		s.at++
		if !digits() {
			return errMalformed
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !digits() {
			return errMalformed
		}
	}
	return nil
}

// pointer returns the current position as a JSON pointer. It contains the first key only, and only if that is in the
// contract: error messages never repeat input.
func (s *scanner) pointer() string {
	if len(s.path) == 0 {
		return ""
	}
	if !knownField(s.path[0]) {
		return ""
	}
	return "/" + s.path[0]
}
