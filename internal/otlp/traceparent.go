package otlp

import (
	"encoding/hex"
	"net/http"
	"strings"
)

// The layout of a traceparent header: version, trace id, parent id and flags, such as
// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 (W3C Trace Context, 3.2).
const (
	traceparentLength = 55
	flagSampled       = 1
)

// Remote returns the span of the caller that a traceparent header identifies, or the zero value if the header is
// absent, malformed or repeated.
func Remote(h http.Header) SpanContext {
	values := h["Traceparent"]
	if len(values) != 1 {
		return SpanContext{}
	}
	c, _ := ParseTraceparent(values[0])
	return c
}

// ParseTraceparent parses a traceparent header and reports whether it is valid. Later versions may append fields,
// which are ignored.
func ParseTraceparent(s string) (SpanContext, bool) {
	if len(s) < traceparentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return SpanContext{}, false
	}
	var version, flags [1]byte
	var c SpanContext
	ok := decodeHex(version[:], s[:2]) && decodeHex(c.TraceID[:], s[3:35]) && decodeHex(c.SpanID[:], s[36:52]) &&
		decodeHex(flags[:], s[53:55])
	rest := s[traceparentLength:]
	switch {
	case !ok, !c.Valid(), version[0] == 0xff, rest != "" && (version[0] == 0 || rest[0] != '-'):
		return SpanContext{}, false
	}
	c.Sampled = flags[0]&flagSampled != 0
	return c, true
}

// decodeHex decodes lower-case hexadecimal digits, the only ones that the header may have.
func decodeHex(to []byte, s string) bool {
	if strings.ContainsAny(s, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(to, []byte(s))
	return err == nil
}
