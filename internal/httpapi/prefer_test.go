package httpapi

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPreferHeaderIsParsed(t *testing.T) {
	t.Parallel()
	const none = time.Duration(math.MaxInt64)
	for header, want := range map[string]preference{
		"wait=0":                          {0, true, "wait=0"},
		"wait=7":                          {7 * time.Second, true, "wait=7"},
		"WAIT=7":                          {7 * time.Second, true, "wait=7"},
		" wait = 7 ":                      {7 * time.Second, true, "wait=7"},
		`wait="7"`:                        {7 * time.Second, true, "wait=7"},
		"wait=7; foo=bar":                 {7 * time.Second, true, "wait=7"},
		"return=minimal, wait=7":          {7 * time.Second, true, "wait=7"},
		"wait=7, wait=9":                  {7 * time.Second, true, "wait=7"},
		"wait=x, wait=9":                  {9 * time.Second, true, "wait=9"},
		"wait=4294967295":                 {24 * time.Hour, true, "wait=86400"},
		"respond-async":                   {0, true, "respond-async"},
		"Respond-Async":                   {0, true, "respond-async"},
		"respond-async, wait=7":           {7 * time.Second, true, "respond-async, wait=7"},
		"wait=7, respond-async":           {7 * time.Second, true, "respond-async, wait=7"},
		"respond-async, wait=x":           {0, true, "respond-async"},
		"":                                {none, false, ""},
		"wait":                            {none, false, ""},
		"wait=":                           {none, false, ""},
		"wait=-1":                         {none, false, ""},
		"wait=1.5":                        {none, false, ""},
		"wait=4294967296":                 {none, false, ""},
		"waiting=3":                       {none, false, ""},
		`note="wait=1, wait=2"`:           {none, false, ""},
		`note="\", wait=1, respond-async`: {none, false, ""},
		`note="a", wait=3`:                {3 * time.Second, true, "wait=3"},
		",,;=":                            {none, false, ""},
	} {
		if got := parsePrefer([]string{header}); got != want {
			t.Errorf("%q is %+v, want %+v", header, got, want)
		}
	}
	if got := parsePrefer([]string{"respond-async", "wait=3"}); got.wait != 3*time.Second ||
		got.applied != "respond-async, wait=3" {
		t.Errorf("two lines are %+v", got)
	}
}

// FuzzParsePrefer checks that every header gives a valid wait.
func FuzzParsePrefer(f *testing.F) {
	for _, seed := range []string{
		"", "wait=1", "respond-async, wait=1", `a="b, wait=2"`, `"`, `"\`, "wait=99999999999999999999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		p := parsePrefer([]string{header})
		if p.wait < 0 || p.given != (p.wait <= maxPreferred) {
			t.Errorf("%q is %+v", header, p)
		}
	})
}

func TestIdleStreamGetsHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		s := stream{w: w, flush: http.NewResponseController(w)}
		ctx, cancel := context.WithTimeout(t.Context(), 46*time.Second)
		defer cancel()
		s.follow(ctx, nil, false, nil)
		if got := w.Body.String(); got != ": connected\n\n"+strings.Repeat(": alive\n\n", 3) {
			t.Errorf("in 46 s it wrote %q", got)
		}
	})
}
