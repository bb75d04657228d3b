package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until a test moves it. It implements core.Clock and, like the real one, returns
// UTC with millisecond precision. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock set to 2025-06-15 12:00:00 UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2025, time.June, 15, 12, 0, 0, 0, time.UTC)}
}

// Now returns the current time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock, truncated to the millisecond.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t.UTC().Truncate(time.Millisecond)
}

// Advance moves the clock forward, or back if d is negative, and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d).Truncate(time.Millisecond)
	return c.now
}
