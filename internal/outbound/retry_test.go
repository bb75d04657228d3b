package outbound_test

import (
	"net/http"
	"testing"
	"time"

	"carrel/internal/outbound"
)

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"90":                             90 * time.Second,
		"-5":                             0,
		"1.5":                            0,
		"soon":                           0,
		"2147483647":                     2147483647 * time.Second,
		"9223372036854775807":            0, // its nanoseconds would overflow a duration
		"Mon, 16 Nov 2026 12:10:00 GMT":  10 * time.Minute,
		"Mon, 16 Nov 2026 11:50:00 GMT":  0,
		"Monday, 16-Nov-26 12:00:30 GMT": 30 * time.Second, // RFC 850, which a recipient must accept
		"Mon Nov 16 12:00:05 2026":       5 * time.Second,  // asctime
		"2026-11-16T12:10:00Z":           0,
	} {
		h := http.Header{}
		if value != "" {
			h.Set("Retry-After", value)
		}
		if got := outbound.RetryAfter(h, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", value, got, want)
		}
	}
}
