package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until a test moves it. It implements core.Clock and tells the time as the
// real one does: in UTC, to the millisecond. It may be read and moved from many goroutines.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at a fixed moment, the same in every run: 2025-06-15 12:00:00 UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2025, time.June, 15, 12, 0, 0, 0, time.UTC)}
}

// Now returns the moment at which the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to a moment, earlier or later, cut to the millisecond.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t.UTC().Truncate(time.Millisecond)
}

// Advance moves the clock on (back, if d is negative) and returns where it stands then.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d).Truncate(time.Millisecond)
	return c.now
}
