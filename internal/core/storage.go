package core

import "fmt"

// Storage is how many bytes of documents an account keeps, and how many its plan has room for.
type Storage struct {
	Used int64
	// Limited says that Limit counts.
	Limited bool
	Limit   int64
}

// Holds reports whether there is room for so many bytes more.
func (s Storage) Holds(more int64) bool { return !s.Limited || s.Used+more <= s.Limit }

// Left is how many bytes there is room for, where that is limited.
func (s Storage) Left() int64 { return max(0, s.Limit-s.Used) }

// Exceeded is the answer to documents that there is no room for.
func (s Storage) Exceeded() *Error {
	return Forbidden("quota_exceeded", fmt.Sprintf(
		"The plan of this account has room for %s of documents, and %s are used. Delete documents, or choose a plan with more room.",
		Bytes(s.Limit), Bytes(s.Used)))
}

// Bytes renders a number of bytes for a sentence.
func Bytes(n int64) string {
	const kilo = 1000
	if n < kilo {
		return fmt.Sprintf("%d bytes", n)
	}
	value, unit := float64(n)/kilo, 0
	for ; value >= kilo && unit < 3; unit++ {
		value /= kilo
	}
	return fmt.Sprintf("%.1f %s", value, [...]string{"kB", "MB", "GB", "TB"}[unit])
}
