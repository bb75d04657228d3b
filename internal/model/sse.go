package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// maxEvent bounds one event. Some servers send a whole tool call in a single one.
const maxEvent = 16 << 20

var errTooLong = errors.New("the stream is too long")

// event is one server-sent event. Its fields are valid until the next call of eventReader.next.
type event struct{ name, data []byte }

// eventReader splits a stream into server-sent events, as the HTML standard describes in "Interpreting an event
// stream": lines end with LF, CR or CRLF, lines that start with a colon are comments, and an event that the stream ends
// in the middle of is dropped. Events without data are skipped; servers send them to keep a connection open.
type eventReader struct {
	in         *bufio.Reader
	line       []byte
	name, data []byte
	started    bool
	// skipLF is set after a CR. The LF of a CRLF is skipped with the next read and not awaited, because it may arrive
	// much later than the CR.
	skipLF bool
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{in: bufio.NewReader(r)} }

// next returns the next event, or io.EOF at the end of the stream.
func (r *eventReader) next() (event, error) {
	r.name, r.data = r.name[:0], r.data[:0]
	for {
		if err := r.readLine(); err != nil {
			return event{}, err
		}
		if len(r.line) == 0 {
			if data := bytes.TrimSuffix(r.data, []byte("\n")); len(data) > 0 {
				return event{r.name, data}, nil
			}
			r.name, r.data = r.name[:0], r.data[:0]
			continue
		}
		field, value, _ := bytes.Cut(r.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			r.name = append(r.name[:0], value...)
		case "data":
			if len(r.data)+len(value) > maxEvent {
				return event{}, errTooLong
			}
			r.data = append(append(r.data, value...), '\n')
		}
	}
}

// readLine reads a line into r.line, without its terminator. An unterminated last line is dropped.
func (r *eventReader) readLine() error {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			return err
		}
		b, _ := r.in.Peek(r.in.Buffered()) // never more than is buffered
		if r.skipLF && b[0] == '\n' {
			b = b[:0]
			r.discard(1)
		}
		r.skipLF = false
		end := bytes.IndexAny(b, "\r\n")
		if end < 0 {
			r.line = append(r.line, b...)
			r.discard(len(b))
			if len(r.line) > maxEvent {
				return errTooLong
			}
			continue
		}
		r.line = append(r.line, b[:end]...)
		r.skipLF = b[end] == '\r'
		r.discard(end + 1)
		if !r.started {
			r.started = true
			r.line = bytes.TrimPrefix(r.line, []byte("\uFEFF"))
		}
		return nil
	}
}

func (r *eventReader) discard(n int) {
	_, _ = r.in.Discard(n) // never more than is buffered
}

// decodeChunk reads the data of an event. Fields of an unexpected type are left zero: servers differ in fields that do
// not matter here, and the others are readable.
func decodeChunk(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil
	}
	return err
}

// textDelta is a string of a chunk. Servers that send single tokens may split a character between two chunks.
// encoding/json would replace both halves, so invalid bytes are kept here and joined by the sanitizer.
type textDelta string

// UnmarshalJSON accepts a string or null. It also accepts Mistral's list of content parts, of which it takes the texts,
// and an object, which some servers send as the arguments of a tool call.
func (t *textDelta) UnmarshalJSON(b []byte) error {
	switch {
	case b[0] == '[':
		var parts []struct {
			Text textDelta `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, part := range parts {
			*t += part.Text
		}
		return nil
	case b[0] == '{':
		*t = textDelta(b)
		return nil
	case b[0] != '"' || utf8.Valid(b):
		return json.Unmarshal(b, (*string)(t))
	}
	s, err := unquote(b)
	*t = textDelta(s)
	return err
}

// unquote decodes a JSON string like encoding/json, but keeps bytes that are not valid UTF-8.
func unquote(quoted []byte) (string, error) {
	var out []byte
	for b := quoted[1 : len(quoted)-1]; len(b) > 0; {
		valid := 0
		for valid < len(b) {
			r, size := utf8.DecodeRune(b[valid:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			valid += size
		}
		var s string
		if err := json.Unmarshal(append(append([]byte{'"'}, b[:valid]...), '"'), &s); err != nil {
			return "", err
		}
		out = append(out, s...)
		if b = b[valid:]; len(b) > 0 {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return string(out), nil
}
