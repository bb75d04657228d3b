package core

import "fmt"

// Storage is the size of an account's documents in bytes, and the limit of its plan.
type Storage struct {
	Used int64
	// Limited is false if the plan has no limit.
	Limited bool
	Limit   int64
}

// Holds reports whether more bytes fit into the limit.
func (s Storage) Holds(more int64) bool { return !s.Limited || s.Used+more <= s.Limit }

// Left returns the number of bytes left, if there is a limit.
func (s Storage) Left() int64 { return max(0, s.Limit-s.Used) }

// Exceeded is the error for documents beyond the limit.
func (s Storage) Exceeded() *Error {
	return Forbidden("quota_exceeded", fmt.Sprintf(
		"The plan of this account has room for %s of documents, and %s are used. Delete documents and empty the bin, or "+
			"choose a larger plan.",
		Bytes(s.Limit), Bytes(s.Used)))
}

// Bytes formats a number of bytes for a message.
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
