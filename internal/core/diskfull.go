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
	}).Because(diskFullCause{cause})
}

// diskFullCause marks the errors of DiskFull, because databases report a full disk with codes of their own.
type diskFullCause struct{ error }

// Unwrap returns the marked error.
func (c diskFullCause) Unwrap() error { return c.error }

// IsDiskFull reports whether something could not be written because the disk or the quota is full.
func IsDiskFull(err error) bool {
	var marked diskFullCause
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.As(err, &marked)
}
