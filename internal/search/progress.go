package search

import "time"

// Progress is the state of an engine relative to the change log.
type Progress struct {
	// Head is the latest known head of the change log, and Through the number up to which the index holds everything.
	Head, Through uint64
	// Missing is how many numbers up to Head the index does not hold.
	Missing uint64
	// Documents is how many changes have been applied since the index last fell behind, and PerSecond their rate.
	Documents int
	PerSecond float64
	// Remaining estimates the time until the index has caught up; 0 if unknown.
	Remaining time.Duration
	// Rebuilding means that searches read old content while the index is rebuilt.
	Rebuilding bool
	// Behind is the time since the index last held every change; 0 if it holds them now.
	Behind time.Duration
	// Error is the error of the last attempt, or nil.
	Error error
}

// Percent returns the share of the log that the index holds.
func (p Progress) Percent() float64 {
	if p.Head == 0 {
		return 100
	}
	return 100 * float64(p.Head-min(p.Head, p.Missing)) / float64(p.Head)
}
