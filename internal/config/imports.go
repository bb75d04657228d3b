package config

import (
	"fmt"
	"strconv"
	"time"
)

// Imports are the limits of what fills sources.
type Imports struct {
	// PerUser and PerNode are how many imports of a user, on all nodes, and of a node run at once. The others wait.
	PerUser, PerNode int
	// UnpackedMiB, Entries, Depth and Work are what one upload may unpack to, hold, nest and take; see ingest/budget.
	UnpackedMiB, Entries, Depth int
	// Work is in millions of steps.
	Work int
	// MemoryMiB is the memory in which a node reads documents.
	MemoryMiB int
	// Time is how long one document may take.
	Time time.Duration
}

// count is a whole number from a range.
type count struct {
	n        *int
	min, max int
}

func (v count) String() string { return strconv.Itoa(*v.n) }

func (v count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.min || n > v.max {
		return fmt.Errorf("must be a whole number from %d to %d", v.min, v.max)
	}
	*v.n = n
	return nil
}

// longTime is a time that is not a wait of somebody: up to a day.
type longTime time.Duration

func (v *longTime) String() string { return time.Duration(*v).String() }

func (v *longTime) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return fmt.Errorf("must be a time from 1s to 24h, such as 5m")
	}
	*v = longTime(d)
	return nil
}
