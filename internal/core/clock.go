package core

import "time"

// Clock tells the time. Services take one so that tests can move it.
type Clock interface {
	Now() time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the present in UTC, cut to the millisecond: what is stored and what is sent are then the same.
func (SystemClock) Now() time.Time {
	return time.Now().UTC().Truncate(time.Millisecond)
}
