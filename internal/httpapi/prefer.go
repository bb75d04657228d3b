package httpapi

import (
	"context"
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
// it were not there (RFC 7240, 2).
func parsePrefer(lines []string) preference {
	p := preference{wait: math.MaxInt64}
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		token, _, _ := strings.Cut(part, ";")
		name, value, _ := strings.Cut(token, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			p.wait, p.said = 0, true
		case "wait":
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 32)
			if err == nil && !p.said {
				p.wait, p.said = min(time.Duration(seconds)*time.Second, maxPreferred), true
			}
		}
	}
	return p
}
