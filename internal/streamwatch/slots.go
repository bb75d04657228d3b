package streamwatch

import (
	"strconv"
	"sync"
	"time"

	"carrel/internal/core"
)

// retryAfter is the Retry-After for a refused stream. The stream of a disconnected client closes with its next
// heartbeat at the latest.
const retryAfter = 10 * time.Second

// Slots limits the open streams of each credential. An idle stream costs memory and a goroutine for as long as the
// client wants, and the rate limit does not count it. All kinds of streams of a server share one Slots. A nil Slots has
// no limit.
type Slots struct {
	limit int

	mu   sync.Mutex
	open map[string]int
}

// NewSlots returns slots for this many open streams per credential.
func NewSlots(limit int) *Slots {
	return &Slots{limit: limit, open: map[string]int{}}
}

// Take takes a slot of a credential, or returns a rate_limited error. The caller must call release when the stream
// ends; further calls have no effect.
func (s *Slots) Take(credentialID string) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[credentialID] >= s.limit {
		return nil, &core.Error{
			Kind: core.KindRateLimited, Code: "rate_limited", RetryAfter: retryAfter,
			Detail: "This credential has " + strconv.Itoa(s.limit) + " event streams open, which is the limit. Close one " +
				"before opening another.",
		}
	}
	s.open[credentialID]++
	return sync.OnceFunc(func() { s.release(credentialID) }), nil
}

func (s *Slots) release(credentialID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[credentialID]--; s.open[credentialID] <= 0 {
		delete(s.open, credentialID) // otherwise the map grows with every credential
	}
}

// Open returns the number of open streams.
func (s *Slots) Open() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, count := range s.open {
		n += count
	}
	return n
}
