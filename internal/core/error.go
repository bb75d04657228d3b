package core

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the class of a failure. Each outward protocol has one table from kinds to its own answers.
type Kind string

// The kinds, in the order in which a request meets them.
const (
	KindInvalid         Kind = "invalid"
	KindUnauthenticated Kind = "unauthenticated"
	KindPaymentRequired Kind = "payment_required"
	KindForbidden       Kind = "forbidden"
	KindNotFound        Kind = "not_found"
	KindConflict        Kind = "conflict"
	KindMismatch        Kind = "mismatch"
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

// Error is every failure that a caller may see. Code is the stable word that clients switch on and Detail a
// sentence that says what to do; neither ever repeats what the caller sent. The cause is for our logs alone.
type Error struct {
	Kind       Kind
	Code       string
	Detail     string
	Fields     []FieldError
	RetryAfter time.Duration
	// Scope is what a credential would need, where that is what is missing.
	Scope Scope
	cause error
}

// FieldError says what is wrong with one part of a request. Pointer is a JSON pointer (RFC 6901) into the body,
// or the name of a parameter.
type FieldError struct {
	Pointer string
	Detail  string
}

// Error renders the failure for a log, its cause included.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.cause)
	}
	return e.Code + ": " + e.Detail
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of the error that carries its cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Invalid is a request that can't be carried out as it stands: bad fields, each named.
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

// NotFound is an id that does not exist or belongs to somebody else: the two can't be told apart. The word names
// the kind of thing ("agent", "thread").
func NotFound(what string) *Error {
	return &Error{Kind: KindNotFound, Code: "not_found", Detail: "There is no such " + what + "."}
}

// Forbidden is something that this caller may never do with this credential.
func Forbidden(code, detail string) *Error {
	return &Error{Kind: KindForbidden, Code: code, Detail: detail}
}

// Conflict is a request that does not fit the present state of things.
func Conflict(code, detail string) *Error {
	return &Error{Kind: KindConflict, Code: code, Detail: detail}
}

// Unauthenticated is a missing or useless credential.
func Unauthenticated(code, detail string) *Error {
	return &Error{Kind: KindUnauthenticated, Code: code, Detail: detail}
}

// Internal wraps a failure that is ours. Its cause is logged, never sent.
func Internal(cause error) *Error {
	return &Error{
		Kind: KindInternal, Code: "internal",
		Detail: "Something went wrong on our side. Try again; if it stays, report the request id.", cause: cause,
	}
}

// AsError returns err as an *Error; what is not one becomes Internal.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Internal(err)
}

// IsRefusal reports whether err turned a request away before anything was done: the same request, mended or at another
// time, is a new one.
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
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
