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

// preference is what a client says in Prefer (RFC 7240).
type preference struct {
	// wait is how long it wants to wait at most; without a word of it, as long as we do.
	wait time.Duration
	// said is whether it said so.
	said bool
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

// maxPreferred bounds what is read of wait=N; nothing waits that long.
const maxPreferred = 24 * time.Hour

// parsePrefer reads the preferences that we know. Of two of a kind the first counts, and what can't be read is as if
// it were not there (RFC 7240, 2). With both, "respond-async, wait=10" is to wait ten seconds and then no longer (4.3).
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
	p.said = async || waits
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
				i++ // the next one stands for itself
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
