package otlp_test

import (
	"net/http"
	"strings"
	"testing"

	"carrel/internal/otlp"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID      = "00f067aa0ba902b7"
	traceparent = "00-" + traceID + "-" + spanID + "-01"
)

func TestTraceparentIsParsed(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]struct{ valid, sampled bool }{
		traceparent:                                   {true, true},
		"00-" + traceID + "-" + spanID + "-00":        {true, false},
		"00-" + traceID + "-" + spanID + "-03":        {true, true},
		"00-" + traceID + "-" + spanID + "-fe":        {true, false},
		"cc-" + traceID + "-" + spanID + "-01":        {true, true},
		"cc-" + traceID + "-" + spanID + "-01-future": {true, true},
		"cc-" + traceID + "-" + spanID + "-01future":  {},
		"00-" + traceID + "-" + spanID + "-01-future": {},
		"ff-" + traceID + "-" + spanID + "-01":        {},
		"":                                            {},
		traceparent[:54]:                              {},
		" " + traceparent[:54]:                        {},
		strings.ToUpper(traceparent):                  {},
		strings.Replace(traceparent, traceID, strings.Repeat("0", 32), 1): {},
		strings.Replace(traceparent, spanID, strings.Repeat("0", 16), 1):  {},
		strings.Replace(traceparent, "f", "g", 1):                         {},
		strings.ReplaceAll(traceparent, "-", "_"):                         {},
	} {
		c, ok := otlp.ParseTraceparent(s)
		if ok != want.valid || c.Sampled != want.sampled || ok && c.TraceID.String() != traceID ||
			ok && c.SpanID.String() != spanID || c.Valid() != ok {
			t.Errorf("%q: %+v, %v", s, c, ok)
		}
	}
}

func TestRepeatedTraceparentIsIgnored(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Add("traceparent", traceparent)
	if !otlp.Remote(h).Valid() {
		t.Error("one header is ignored")
	}
	h.Add("traceparent", traceparent)
	if otlp.Remote(h).Valid() || otlp.Remote(http.Header{}).Valid() {
		t.Error("a repeated or missing header is used")
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add(traceparent)
	f.Add("cc-" + traceID + "-" + spanID + "-01-x")
	f.Add("00-" + traceID + "-" + spanID + "-0é")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := otlp.ParseTraceparent(s)
		if ok != c.Valid() {
			t.Fatalf("%q is %v, %v", s, c, ok)
		}
		if ok && !strings.HasPrefix(s[2:], "-"+c.TraceID.String()+"-"+c.SpanID.String()+"-") {
			t.Errorf("%q is parsed as %v", s, c)
		}
	})
}
