package webhook

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// waits are the pauses between tries that Standard Webhooks suggests: ten tries over three days.
var waits = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// jitter is how much longer than planned a pause may be, so that what failed together does not come back together.
	jitter = 0.1
	// maxRetryAfter is the longest pause that a receiver can ask for. With it at every try the deadline is still kept.
	maxRetryAfter = 6 * time.Hour
)

// nextTry returns when to try again after this many tries, and whether to. The receiver can ask for a longer pause.
func nextTry(tries int, at time.Time, retryAfter time.Duration) (time.Time, bool) {
	if tries > len(waits) {
		return time.Time{}, false
	}
	wait := max(waits[tries-1], min(retryAfter, maxRetryAfter))
	wait += time.Duration(rand.Float64() * jitter * float64(wait)) //nolint:gosec // nobody gains by guessing it
	// As exact as the queue keeps it: what is claimed then is due.
	return at.Add(wait).Truncate(time.Millisecond), true
}

// retryAfter reads the header of that name: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// maxFlights is how many deliveries to one webhook this node has under way at once. A slow receiver then takes neither all
// the room for tasks nor a flood of requests.
const maxFlights = 32

// flights counts what is under way, by webhook.
type flights struct {
	mu sync.Mutex
	n  map[string]int
}

// begin asks for a place; what has one calls end.
func (f *flights) begin(webhookID string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[webhookID] >= maxFlights {
		return false
	}
	f.n[webhookID]++
	return true
}

func (f *flights) end(webhookID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[webhookID]--; f.n[webhookID] == 0 {
		delete(f.n, webhookID)
	}
}
