package core

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the class of an error. Each protocol maps kinds to its own status codes in one table.
type Kind string

// The kinds of errors.
const (
	KindInvalid         Kind = "invalid"
	KindUnauthenticated Kind = "unauthenticated"
	KindPaymentRequired Kind = "payment_required"
	KindForbidden       Kind = "forbidden"
	KindNotFound        Kind = "not_found"
	KindConflict        Kind = "conflict"
	KindMismatch        Kind = "mismatch"
	KindPrecondition    Kind = "precondition_failed"
	KindTooLarge        Kind = "too_large"
	KindUnsupported     Kind = "unsupported"
	KindMethod          Kind = "method_not_allowed"
	KindNotAcceptable   Kind = "not_acceptable"
	KindRateLimited     Kind = "rate_limited"
	KindUnavailable     Kind = "unavailable"
	KindUpstream        Kind = "upstream"
	KindTimeout         Kind = "timeout"
	KindInternal        Kind = "internal"
)

// Error is an error that clients may see. Code is stable, and clients switch on it. Detail is a sentence that says what
// to do. Neither may repeat input. The cause is logged only.
type Error struct {
	Kind       Kind
	Code       string
	Detail     string
	Fields     []FieldError
	RetryAfter time.Duration
	// Scope is the scope that the credential lacks, if that is the reason.
	Scope Scope
	// Spend is the cap that is reached, if that is the reason.
	Spend *Spend
	cause error
}

// FieldError describes an invalid field of a request. Pointer is a JSON pointer (RFC 6901) into the body, or the name
// of a parameter.
type FieldError struct {
	Pointer string
	Detail  string
}

// Error returns the error with its cause, for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.cause)
	}
	return e.Code + ": " + e.Detail
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of the error with a cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Invalid is the error for a request with invalid fields.
func Invalid(fields ...FieldError) *Error {
	return &Error{
		Kind: KindInvalid, Code: "invalid_request",
		Detail: "The request has missing or wrong fields; see errors.", Fields: fields,
	}
}

// InvalidField is Invalid for a single field.
func InvalidField(pointer, detail string) *Error {
	return Invalid(FieldError{Pointer: pointer, Detail: detail})
}

// NotFound is the error for an id that does not exist or belongs to another user. It is the same for both, so that it
// does not reveal which ids exist. what names the kind of object ("agent", "thread").
func NotFound(what string) *Error {
	return &Error{Kind: KindNotFound, Code: "not_found", Detail: "There is no such " + what + "."}
}

// Forbidden is the error for an operation that the caller may not carry out.
func Forbidden(code, detail string) *Error {
	return &Error{Kind: KindForbidden, Code: code, Detail: detail}
}

// Conflict is the error for a request that contradicts the current state.
func Conflict(code, detail string) *Error {
	return &Error{Kind: KindConflict, Code: code, Detail: detail}
}

// Unauthenticated is the error for a missing or invalid credential.
func Unauthenticated(code, detail string) *Error {
	return &Error{Kind: KindUnauthenticated, Code: code, Detail: detail}
}

// Internal wraps an unexpected error. The cause is logged and never sent to clients.
func Internal(cause error) *Error {
	return &Error{
		Kind: KindInternal, Code: "internal",
		Detail: "An internal error occurred. Try again; if it persists, report the request id.", cause: cause,
	}
}

// AsError returns err as an *Error. A full disk becomes DiskFull, and any other error Internal.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if IsDiskFull(err) {
		return DiskFull(err)
	}
	return Internal(err)
}

// IsRefusal reports whether err means that a request was refused before it had any effect, so that a retry counts as a
// new request.
func IsRefusal(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case KindInvalid, KindPaymentRequired, KindForbidden, KindNotFound:
		return true
	case KindConflict:
		return e.Code == "turn_working"
	}
	return false
}

// IsKind reports whether err is an *Error of this kind.
func IsKind(err error, kind Kind) bool {
	if err == nil {
		return false // without the allocation of e
	}
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
