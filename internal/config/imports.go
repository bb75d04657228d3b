package config

import (
	"fmt"
	"strconv"
	"time"
)

// Turns are the limits of concurrent turns.
type Turns struct {
	// PerUser limits the running turns of a user on all nodes, PerNode those on one node. Further turns wait. 0
	// means no limit.
	PerUser, PerNode int
}

// Imports are the limits of imports.
type Imports struct {
	// PerUser limits the concurrent imports of a user on all nodes, PerNode those on one node. Further imports wait.
	PerUser, PerNode int
	// UnpackedMiB, Entries, Depth and Work are the limits of one upload; see format/budget.
	UnpackedMiB, Entries, Depth int
	// Work is in millions of steps.
	Work int
	// MemoryMiB is the memory for parsing documents on a node.
	MemoryMiB int
	// Time is the time limit of one document.
	Time time.Duration
}

// count is an integer in a range.
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

// longTime is a duration of up to a day, for background work.
type longTime time.Duration

func (v *longTime) String() string { return time.Duration(*v).String() }

func (v *longTime) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return fmt.Errorf("must be a duration from 1s to 24h, such as 5m")
	}
	*v = longTime(d)
	return nil
}
