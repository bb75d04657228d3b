package model

import (
	"errors"
	"fmt"
	"time"

	"carrel/internal/core"
)

// Errors of Provider.Stream, for errors.Is.
var (
	// ErrNoModel is returned when no model is configured.
	ErrNoModel = errors.New("no model is configured")
	// ErrNotAllowed is returned for a model that the operator has not allowed.
	ErrNotAllowed = errors.New("the model is not allowed")
	// ErrTruncated is returned when the stream ends before the answer does.
	ErrTruncated = errors.New("the stream ended before the answer")
	// ErrKey is returned when the provider rejects the API key.
	ErrKey = errors.New("the provider rejected the API key")
	// ErrCredit is returned when the account with the provider is out of credit.
	ErrCredit = errors.New("the account is out of credit")
	// ErrUnknownModel is returned when the provider has no such model or path.
	ErrUnknownModel = errors.New("the model is unknown")
	// ErrTooLong is returned when the request exceeds the context window of the model.
	ErrTooLong = errors.New("the request exceeds the context window")
	// ErrRateLimited is returned when the provider's rate limit is exceeded.
	ErrRateLimited = errors.New("the rate limit is exceeded")
	// ErrRefused is returned when the model or a content filter declines to answer.
	ErrRefused = errors.New("the model refused to answer")
	// ErrRequest is returned when the provider rejects the request as invalid.
	ErrRequest = errors.New("the provider rejected the request")
	// ErrProvider is returned when the provider fails or is overloaded.
	ErrProvider = errors.New("the provider failed")
	// ErrUnreachable is returned when the connection to the provider fails.
	ErrUnreachable = errors.New("the provider can't be reached")
	// ErrReply is returned when the response is not in the format of the API.
	ErrReply = errors.New("the response is malformed")
	// ErrToolCall is returned when the arguments of a tool call are not a JSON object.
	ErrToolCall = errors.New("the tool call is malformed")
	// ErrTimeout is returned when the answer takes too long.
	ErrTimeout = errors.New("the model took too long")
)

// failure is the error of one attempt. Its text goes to the log. It contains neither the key nor text of the prompt or
// answer, so messages of providers, which often quote both, are not included.
type failure struct {
	// kind is one of the errors above.
	kind error
	// retryable is set if the same request may succeed after a moment; retryAfter is the delay the provider asked for.
	retryable  bool
	retryAfter time.Duration
	// uncharged is set if the provider charges nothing although it had accepted the request.
	uncharged bool
	// status and code are the provider's, if it sent any.
	status int
	code   string
	// unsupported are request fields that the model refuses.
	unsupported quirk
	// cause is a network or context error.
	cause error
}

// Error implements error.
func (f *failure) Error() string {
	s := f.kind.Error()
	if f.status != 0 {
		s += fmt.Sprintf(" (status %d)", f.status)
	}
	if f.code != "" {
		s += " (" + f.code + ")"
	}
	if f.cause != nil {
		s += ": " + f.cause.Error()
	}
	return s
}

// Unwrap returns the kind and the cause.
func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

// public returns the error for callers and users, with f as its cause.
func (f *failure) public() *core.Error {
	e := &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: detail(f.kind), RetryAfter: f.retryAfter}
	switch {
	case errors.Is(f.kind, ErrTimeout):
		e.Kind, e.Code = core.KindTimeout, "model_timeout"
	case errors.Is(f.kind, ErrNoModel):
		e.Kind, e.Code = core.KindUnavailable, "unavailable"
	}
	return e.Because(f)
}

// detail returns the text for users: the problem and its remedy.
func detail(kind error) string {
	for _, d := range []struct {
		kind error
		text string
	}{
		{ErrNoModel, "No model is configured. The operator sets one with CARREL_MODEL."},
		{ErrNotAllowed, "This agent's model may not be used here. " +
			"Choose another; the operator allows models with CARREL_MODEL_ALLOWED."},
		{ErrTruncated, "The model's answer was cut off. Try again."},
		{ErrKey, "The model provider rejected the API key, or the key has no access to this model. " +
			"The operator must correct CARREL_MODEL_API_KEY."},
		{ErrCredit, "The account with the model provider is out of credit. " +
			"The operator must add credit or raise the limit."},
		{ErrUnknownModel, "The model provider has no such model or address. " +
			"The operator must correct CARREL_MODEL_NAME or CARREL_MODEL_BASE_URL; an agent can name another model."},
		{ErrTooLong, "The text is longer than the model's context window. " +
			"Ask for less at once, or start a new thread."},
		{ErrRateLimited, "The model provider's rate limit is exceeded. Try again in a while."},
		{ErrRefused, "The model declined to answer. Rephrase the question."},
		{ErrRequest, "The model provider rejected the request. " +
			"The operator finds the reason in the log, or can choose another model."},
		{ErrProvider, "The model provider failed or is overloaded. Try again in a while."},
		{ErrUnreachable, "The model provider can't be reached. " +
			"The operator should check that CARREL_MODEL_BASE_URL is correct and responds."},
		{ErrReply, "The model provider sent a malformed response. " +
			"The operator should check that CARREL_MODEL_BASE_URL is the address of a model API."},
		{ErrToolCall, "The model sent a malformed tool call. Try again, or choose a stronger model."},
		{ErrTimeout, "The model took too long to answer. Try again, or ask for less at once."},
	} {
		if errors.Is(kind, d.kind) {
			return d.text
		}
	}
	return "The model failed. Try again."
}
