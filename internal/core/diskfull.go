package core

import (
	"errors"
	"syscall"
	"time"
)

// diskFullRetry is the pause before another attempt: an operator must free space first.
const diskFullRetry = time.Minute

// DiskFull returns the error of a write for which the disk of the server has no space.
func DiskFull(cause error) *Error {
	return (&Error{
		Kind: KindUnavailable, Code: "unavailable", RetryAfter: diskFullRetry,
		Detail: "The disk of the server is full. Free space on it, or ask its operator to, and try again.",
	}).Because(cause)
}

// IsDiskFull reports whether a file could not be written because the disk or the quota is full.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
