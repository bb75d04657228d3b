package webhook

import (
	"math/rand/v2"
	"sync"
	"time"
)

// backoff are the pauses between attempts suggested by Standard Webhooks: ten attempts over three days.
var backoff = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// jitter is the maximum relative extension of a pause, so that deliveries that failed together do not retry
	// together.
	jitter = 0.1
	// maxRetryAfter is the longest pause a receiver can request. Requested for every attempt, it still meets the
	// deadline.
	maxRetryAfter = 6 * time.Hour
)

// nextAttempt returns the time of the next attempt and whether there is one. The receiver can request a longer pause.
func nextAttempt(attempts int, at time.Time, retryAfter time.Duration) (time.Time, bool) {
	if attempts > len(backoff) {
		return time.Time{}, false
	}
	wait := max(backoff[attempts-1], min(retryAfter, maxRetryAfter))
	wait += time.Duration(rand.Float64() * jitter * float64(wait)) //nolint:gosec // jitter, not a secret
	// The queue stores milliseconds; with more precision a claimed task could be a moment too early.
	return at.Add(wait).Truncate(time.Millisecond), true
}

// maxInFlight limits the concurrent deliveries to one webhook on this node, so that a slow receiver neither uses up the
// task capacity nor gets a flood of requests.
const maxInFlight = 32

// inFlight counts the running deliveries by webhook.
type inFlight struct {
	mu sync.Mutex
	n  map[string]int
}

// begin reserves a slot and reports whether there was one. The caller must call end to free it.
func (f *inFlight) begin(webhookID string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[webhookID] >= maxInFlight {
		return false
	}
	f.n[webhookID]++
	return true
}

func (f *inFlight) end(webhookID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[webhookID]--; f.n[webhookID] == 0 {
		delete(f.n, webhookID)
	}
}
