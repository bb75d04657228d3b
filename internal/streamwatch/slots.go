package streamwatch

import (
	"strconv"
	"sync"
	"time"

	"carrel/internal/core"
)

// retryAfter is when a client that was refused a stream may try again. A slot is free as soon as a stream closes, and a
// stream whose client is gone closes with the next heartbeat.
const retryAfter = 10 * time.Second

// Slots limits how many streams a credential holds open at once. An idle stream costs memory and a goroutine on the
// server for as long as the client likes, and the limit on requests does not count it. All kinds of streams of a server
// share one Slots. A nil Slots limits nothing.
type Slots struct {
	limit int

	mu   sync.Mutex
	open map[string]int
}

// NewSlots returns a limit of this many open streams per credential.
func NewSlots(limit int) *Slots {
	return &Slots{limit: limit, open: map[string]int{}}
}

// Take takes a slot of a credential. The caller must call release when the stream ends; more than one call is harmless.
// Without a free slot it returns a rate_limited error.
func (s *Slots) Take(credentialID string) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[credentialID] >= s.limit {
		return nil, &core.Error{
			Kind: core.KindRateLimited, Code: "rate_limited", RetryAfter: retryAfter,
			Detail: "This credential has " + strconv.Itoa(s.limit) + " event streams open, which is the limit. Close one before opening another.",
		}
	}
	s.open[credentialID]++
	return sync.OnceFunc(func() { s.release(credentialID) }), nil
}

func (s *Slots) release(credentialID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[credentialID]--; s.open[credentialID] <= 0 {
		delete(s.open, credentialID) // credentials come and go, the map must not grow with them
	}
}

// Open returns how many streams are open.
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
