package outbound

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay of a Retry-After header, which is a number of seconds or a date (RFC 9110, 10.2.3). It
// returns 0 for a header that is absent, malformed or in the past.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
