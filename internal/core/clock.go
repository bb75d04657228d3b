package core

import "time"

// Clock returns the current time. Tests replace it.
type Clock interface {
	Now() time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the current time in UTC, truncated to milliseconds, the precision of the database and the API.
func (SystemClock) Now() time.Time {
	return time.Now().UTC().Truncate(time.Millisecond)
}
