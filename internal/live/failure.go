package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"carrel/internal/outbound"
)

// The codes of failures, which are those of the warnings in a reply.
const (
	CodeRateLimited = "source_rate_limited"
	CodeTimeout     = "source_timeout"
	CodeRefused     = "source_refused"
	CodeUnavailable = "source_unavailable"
	CodeUnexpected  = "source_unexpected"
)

// Failure is why a source could not be searched, fit to be shown to its user.
type Failure struct {
	Code   string
	Detail string
}

// Error returns the sentence.
func (f *Failure) Error() string { return f.Detail }

// failure makes a sentence of any error. It never quotes one: errors of requests hold the address, and the address may
// hold a key.
func (c *caller) failure(ctx context.Context, err error) *Failure {
	var f *Failure
	var s statusError
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return &Failure{CodeTimeout, "It did not answer in time. Try again, or search without it."}
	case errors.Is(err, outbound.ErrNotPublic):
		return &Failure{CodeRefused, "Its address is not public. Whoever runs this installation can allow private addresses."}
	case errors.Is(err, outbound.ErrTooLarge):
		return &Failure{CodeUnexpected, "Its answer is too large. Ask for fewer results."}
	case errors.As(err, &s):
		return s.failure()
	case errors.Is(err, errUnexpected):
		return &Failure{CodeUnexpected, "Its answer is not what it used to be. Look for a newer version of Carrel."}
	}
	return &Failure{CodeUnavailable, "It can't be reached. Try again later."}
}

// errUnexpected is an answer that can't be read.
var errUnexpected = errors.New("live: unexpected answer")

func unexpected(err error) error { return fmt.Errorf("%w: %w", errUnexpected, err) }

// statusError is an answer that is none.
type statusError struct {
	status int
}

func (s statusError) Error() string { return fmt.Sprintf("live: status %d", s.status) }

// again reports whether the same request may work a moment later.
func (s statusError) again() bool {
	switch s.status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (s statusError) failure() *Failure {
	switch {
	case s.status == http.StatusTooManyRequests:
		return &Failure{CodeRateLimited, "It is asked too often. Try again in a while, or give it a key of your own."}
	case s.status == http.StatusUnauthorized, s.status == http.StatusForbidden, s.status == http.StatusPaymentRequired:
		return &Failure{CodeRefused, "It refuses the key, or wants one. Check the key in the settings of the source."}
	case s.status >= http.StatusInternalServerError:
		return &Failure{CodeUnavailable, "It has a fault of its own. Try again later."}
	}
	return &Failure{CodeUnexpected, fmt.Sprintf("It refuses the question (status %d). Ask with other words.", s.status)}
}
