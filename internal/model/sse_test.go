package model_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"carrel/internal/model"
)

type sse = model.ServerSentEvent

func TestServerSentEventsAreParsed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream string
		want   []sse
	}{
		"empty":                       {"", nil},
		"LF":                          {"data: a\n\ndata: b\n\n", []sse{{"", "a"}, {"", "b"}}},
		"CRLF":                        {"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []sse{{"x", "a"}, {"", "b"}}},
		"CR":                          {"data: a\r\rdata: b\r\r", []sse{{"", "a"}, {"", "b"}}},
		"byte order mark":             {"\uFEFFdata: a\n\n", []sse{{"", "a"}}},
		"comments":                    {": ping\n\n:\n\ndata: a\n: OPENROUTER PROCESSING\ndata: b\n\n", []sse{{"", "a\nb"}}},
		"no space after the colon":    {"data:a\nevent:x\n\n", []sse{{"x", "a"}}},
		"only one space is removed":   {"data:  a \n\n", []sse{{"", " a "}}},
		"colons in the value":         {"data: {\"a\":1}\n\n", []sse{{"", `{"a":1}`}}},
		"several data lines":          {"data: a\ndata:\ndata: b\n\n", []sse{{"", "a\n\nb"}}},
		"other fields":                {"id: 1\nretry: 10\nfoo\ndata: a\n\n", []sse{{"", "a"}}},
		"events without data":         {"event: ping\n\nevent: x\ndata:\n\ndata: a\n\n", []sse{{"", "a"}}},
		"the name is not carried":     {"event: x\ndata: a\n\ndata: b\n\n", []sse{{"x", "a"}, {"", "b"}}},
		"the last name counts":        {"event: long name\nevent: x\ndata: a\n\n", []sse{{"x", "a"}}},
		"extra blank lines":           {"\n\n\ndata: a\n\n\n\n", []sse{{"", "a"}}},
		"truncated line is dropped":   {"data: a\n\ndata: b", []sse{{"", "a"}}},
		"unfinished event is dropped": {"data: a\n\ndata: b\n", []sse{{"", "a"}}},
	} {
		for reader, r := range map[string]io.Reader{
			"whole":    strings.NewReader(tc.stream),
			"one byte": iotest.OneByteReader(strings.NewReader(tc.stream)),
		} {
			if got, err := model.ReadEvents(r); err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("%s, %s: got %q (%v), want %q", name, reader, got, err, tc.want)
			}
		}
	}
}

// TestCarriageReturnEndsALineWithoutMoreData would block if the reader waited for the LF of a possible CRLF.
func TestCarriageReturnEndsALineWithoutMoreData(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	got := make(chan []sse)
	go func() {
		events, _ := model.ReadEvents(r)
		got <- events
	}()
	for _, part := range []string{"data: a\r", "\r", "\ndata: b\r", "\n\r", "\n"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	if events, want := <-got, []sse{{"", "a"}, {"", "b"}}; !slices.Equal(events, want) {
		t.Errorf("got %q, want %q", events, want)
	}
}

func TestEventReaderReturnsReadErrorsAndLimitsEvents(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken))
	if got, err := model.ReadEvents(r); !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
	for name, stream := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 17<<20) + "\n\n",
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17) + "\n",
	} {
		if got, err := model.ReadEvents(strings.NewReader(stream)); err == nil || len(got) != 0 {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
}

var lineEnd = regexp.MustCompile("\r\n|\r|\n")

// referenceEvents parses a stream line by line with a regular expression.
func referenceEvents(stream string) (out []sse) {
	lines := lineEnd.Split(strings.TrimPrefix(stream, "\uFEFF"), -1)
	var name string
	var data []string
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if joined := strings.Join(data, "\n"); joined != "" {
				out = append(out, sse{name, joined})
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return out
}

func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: a\r\n\r\n", "data: a\r\rdata: b\r\r", "\uFEFFdata:a\n\n", ": c\n\ndata\ndata\n\n",
		"data: \xff\x00\n\n", "\r\n\r\r\n\n", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		want := referenceEvents(stream)
		for name, r := range map[string]io.Reader{
			"whole":    strings.NewReader(stream),
			"one byte": iotest.OneByteReader(strings.NewReader(stream)),
			"half":     iotest.HalfReader(strings.NewReader(stream)),
			"data+EOF": iotest.DataErrReader(strings.NewReader(stream)),
		} {
			if got, err := model.ReadEvents(r); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q gives %q (%v), want %q", name, stream, got, err, want)
			}
		}
	})
}

// rawQuote encodes a JSON string and keeps invalid UTF-8.
func rawQuote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

func FuzzTextDelta(f *testing.F) {
	for _, seed := range []string{"", "híd 🌉", "\xc3", "\xad \"\\\n\x00", "\xff\xfe\xe2\x82", "\uFFFD"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := model.DecodeDelta([]byte(rawQuote(text))); err != nil || got != text {
			t.Errorf("%q became %q (%v)", text, got, err)
		}
	})
}
