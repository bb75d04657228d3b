package federated

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"carrel/internal/outbound"
	"carrel/internal/source"
)

// failure turns an error into a sentence for the user. It never quotes the error, which may contain a URL with an API
// key.
func (c *apiClient) failure(ctx context.Context, err error) *source.Failure {
	var f *source.Failure
	var s statusError
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil:
		return &source.Failure{
			Code:   source.WarnSourceTimeout,
			Detail: "The source did not reply in time. Try again, or search without it.",
		}
	case errors.Is(err, outbound.ErrTooLarge):
		return &source.Failure{
			Code: source.WarnSourceUnexpected, Detail: "The reply is too large. Request fewer results.",
		}
	case errors.As(err, &s):
		return s.failure()
	case errors.Is(err, errUnexpected):
		return &source.Failure{
			Code:   source.WarnSourceUnexpected,
			Detail: "The reply has an unknown format. Check for a newer version of Carrel.",
		}
	}
	// An unknown name and a private one fail alike: the difference would map the private network (see
	// outbound.ErrNotPublic).
	return &source.Failure{
		Code:   source.WarnSourceUnavailable,
		Detail: "The source can't be reached. Check its address, or try again later.",
	}
}

// errUnexpected means that a reply has another shape than the API documents.
var errUnexpected = errors.New("federated: unexpected reply")

func errUnexpectedBecause(err error) error { return fmt.Errorf("%w: %w", errUnexpected, err) }

// statusError is a reply with a status other than 200.
type statusError struct {
	status int
}

func (s statusError) Error() string { return fmt.Sprintf("federated: status %d", s.status) }

// retryable reports whether the same request may succeed later.
func (s statusError) retryable() bool {
	switch s.status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (s statusError) failure() *source.Failure {
	switch {
	case s.status == http.StatusTooManyRequests:
		return &source.Failure{
			Code:   source.WarnSourceRateLimited,
			Detail: "The source's rate limit is reached. Try again later, or set your own API key.",
		}
	case s.status == http.StatusUnauthorized, s.status == http.StatusForbidden, s.status == http.StatusPaymentRequired:
		return &source.Failure{
			Code:   source.WarnSourceRefused,
			Detail: "The source rejects the API key or requires one. Check the key in the settings of the source.",
		}
	case s.status >= http.StatusInternalServerError:
		return &source.Failure{
			Code: source.WarnSourceUnavailable, Detail: "The source reports an internal error. Try again later.",
		}
	}
	return &source.Failure{
		Code:   source.WarnSourceUnexpected,
		Detail: fmt.Sprintf("The source rejects the query (status %d). Rephrase it.", s.status),
	}
}
