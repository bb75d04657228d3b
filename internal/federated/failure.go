package federated

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"carrel/internal/outbound"
	"carrel/internal/source"
)

// failure makes a sentence of any error. It never quotes one: errors of requests hold the address, and the address may
// hold a key.
func (c *apiClient) failure(ctx context.Context, err error) *source.Failure {
	var f *source.Failure
	var s statusError
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return &source.Failure{Code: source.WarnSourceTimeout, Detail: "It did not answer in time. Try again, or search without it."}
	case errors.Is(err, outbound.ErrTooLarge):
		return &source.Failure{Code: source.WarnSourceUnexpected, Detail: "Its answer is too large. Ask for fewer results."}
	case errors.As(err, &s):
		return s.failure()
	case errors.Is(err, errUnexpected):
		return &source.Failure{Code: source.WarnSourceUnexpected, Detail: "Its answer is not what it used to be. Look for a newer version of Carrel."}
	}
	// An unknown name and a private one get the same reply: the difference would map the private network (see
	// outbound.ErrNotPublic).
	return &source.Failure{
		Code: source.WarnSourceUnavailable, Detail: "It can't be reached. Check its address, or try again later.",
	}
}

// errUnexpected is an answer that can't be read.
var errUnexpected = errors.New("live: unexpected answer")

func errUnexpectedBecause(err error) error { return fmt.Errorf("%w: %w", errUnexpected, err) }

// statusError is an answer that is none.
type statusError struct {
	status int
}

func (s statusError) Error() string { return fmt.Sprintf("live: status %d", s.status) }

// again reports whether the same request may work a moment later.
func (s statusError) retryable() bool {
	switch s.status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (s statusError) failure() *source.Failure {
	switch {
	case s.status == http.StatusTooManyRequests:
		return &source.Failure{Code: source.WarnSourceRateLimited, Detail: "It is asked too often. Try again in a while, or give it a key of your own."}
	case s.status == http.StatusUnauthorized, s.status == http.StatusForbidden, s.status == http.StatusPaymentRequired:
		return &source.Failure{Code: source.WarnSourceRefused, Detail: "It refuses the key, or wants one. Check the key in the settings of the source."}
	case s.status >= http.StatusInternalServerError:
		return &source.Failure{Code: source.WarnSourceUnavailable, Detail: "It has a fault of its own. Try again later."}
	}
	return &source.Failure{Code: source.WarnSourceUnexpected, Detail: fmt.Sprintf("It refuses the question (status %d). Ask with other words.", s.status)}
}
