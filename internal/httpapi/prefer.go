package httpapi

import (
	"context"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// preference holds the supported preferences of a Prefer header (RFC 7240).
type preference struct {
	// wait is the longest time that the client wants to wait; without a preference it is unlimited.
	wait time.Duration
	// given is set if the header contains a preference about waiting. applied is then the value of Preference-Applied.
	given   bool
	applied string
}

type preferenceKey struct{}

func withPreference(ctx context.Context, r *http.Request) context.Context {
	if len(r.Header.Values("Prefer")) == 0 {
		return ctx
	}
	return context.WithValue(ctx, preferenceKey{}, parsePrefer(r.Header.Values("Prefer")))
}

func preferenceOf(ctx context.Context) preference {
	if p, ok := ctx.Value(preferenceKey{}).(preference); ok {
		return p
	}
	return preference{wait: math.MaxInt64}
}

// maxPreferred limits the value of wait=N.
const maxPreferred = 24 * time.Hour

// parsePrefer parses a Prefer header. The first of two equal preferences counts, and unknown or invalid ones are
// ignored (RFC 7240, 2). "respond-async, wait=10" means to wait at most ten seconds (4.3).
func parsePrefer(lines []string) preference {
	p := preference{wait: math.MaxInt64}
	async, waits := false, false
	for part := range unquotedSplit(strings.Join(lines, ",")) {
		token, _, _ := strings.Cut(part, ";")
		name, value, _ := strings.Cut(token, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			async = true
		case "wait":
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 32)
			if err == nil && !waits {
				p.wait, waits = min(time.Duration(seconds)*time.Second, maxPreferred), true
			}
		}
	}
	if async && !waits {
		p.wait = 0
	}
	p.given = async || waits
	switch {
	case async && waits:
		p.applied = "respond-async, wait=" + strconv.Itoa(int(p.wait.Seconds()))
	case waits:
		p.applied = "wait=" + strconv.Itoa(int(p.wait.Seconds()))
	case async:
		p.applied = "respond-async"
	}
	return p
}

// unquotedSplit yields the parts of a header between commas that are not inside quotes.
func unquotedSplit(header string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, quoted := 0, false
		for i := 0; i < len(header); i++ {
			switch {
			case header[i] == '"':
				quoted = !quoted
			case header[i] == '\\' && quoted:
				i++ // an escaped character
			case header[i] == ',' && !quoted:
				if !yield(header[start:i]) {
					return
				}
				start = i + 1
			}
		}
		yield(header[start:])
	}
}
