package model

import (
	"errors"
	"fmt"
	"time"

	"carrel/internal/core"
)

// What may be behind the error of a Stream, for errors.Is.
var (
	// ErrNone is an installation without a model.
	ErrNone = errors.New("there is no model")
	// ErrNotAllowed is a model that the operator has not allowed.
	ErrNotAllowed = errors.New("the model is not allowed")
	// ErrCut is a stream that ended before the answer did.
	ErrCut = errors.New("the stream was cut")
	// ErrKey is a key that the provider does not take.
	ErrKey = errors.New("the key is not taken")
	// ErrCredit is an account with the provider that has no money left.
	ErrCredit = errors.New("the account is out of credit")
	// ErrUnknownModel is a model, or an address, that the provider does not know.
	ErrUnknownModel = errors.New("the model is unknown")
	// ErrTooLong is a request with more text than the model can read.
	ErrTooLong = errors.New("the text is too long")
	// ErrRateLimited is a provider that wants to be asked less.
	ErrRateLimited = errors.New("the rate is limited")
	// ErrRefused is a model that declines to answer this.
	ErrRefused = errors.New("the model refused")
	// ErrRequest is a request that the provider does not take.
	ErrRequest = errors.New("the request is not taken")
	// ErrProvider is a provider that fails or is overloaded.
	ErrProvider = errors.New("the provider failed")
	// ErrUnreachable is a provider that does not answer at all.
	ErrUnreachable = errors.New("the provider can't be reached")
	// ErrReply is an answer that can't be understood.
	ErrReply = errors.New("the answer can't be understood")
	// ErrToolCall is a call of a tool whose arguments are no JSON object.
	ErrToolCall = errors.New("the call of a tool is not valid")
	// ErrTimeout is an answer that takes too long.
	ErrTimeout = errors.New("the model took too long")
)

// failure is why a try gave no whole answer. Its text is for the log: it holds neither the key nor anything of a prompt
// or an answer, so a provider's own words, which like to quote both, are not repeated.
type failure struct {
	what error
	// again says that the same request may work in a moment, and after how long a pause the provider asked for.
	again bool
	after time.Duration
	// free says that nothing was charged for it although the stream had begun.
	free bool
	// status and code are the provider's, where it gave some.
	status int
	code   string
	// unwelcome are fields of the request that the provider does not take.
	unwelcome quirk
	// cause is a failure of the network.
	cause error
}

// Error says for the log what happened.
func (f *failure) Error() string {
	s := f.what.Error()
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

// Unwrap returns what it is and what lies behind it.
func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.what}
	}
	return []error{f.what, f.cause}
}

// public is the failure as callers and users get to know it.
func (f *failure) public() *core.Error {
	e := &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: cure(f.what), RetryAfter: f.after}
	switch {
	case errors.Is(f.what, ErrTimeout):
		e.Kind, e.Code = core.KindTimeout, "model_timeout"
	case errors.Is(f.what, ErrNone):
		e.Kind, e.Code = core.KindUnavailable, "unavailable"
	}
	return e.Because(f)
}

// cure says what happened and what to do about it.
func cure(what error) string {
	for _, c := range []struct {
		what   error
		detail string
	}{
		{ErrNone, "No model is set up here. The operator chooses one with CARREL_MODEL."},
		{ErrNotAllowed, "This agent's model may not be used here. Choose another; the operator allows models with CARREL_MODEL_ALLOWED."},
		{ErrCut, "The model's answer broke off. Try again."},
		{ErrKey, "The model's provider does not accept the key, or the key may not use this model. The operator corrects CARREL_MODEL_API_KEY."},
		{ErrCredit, "The account with the model's provider is out of credit. The operator adds some, or raises its limit."},
		{ErrUnknownModel, "The provider knows no such model or address. The operator corrects CARREL_MODEL_NAME or CARREL_MODEL_BASE_URL; an agent may name another model."},
		{ErrTooLong, "The text is longer than the model can read. Ask for less at once, or start a new thread."},
		{ErrRateLimited, "The model's provider is asked too often. Try again in a while."},
		{ErrRefused, "The model declined to answer this. Word the question in another way."},
		{ErrRequest, "The model's provider does not accept the request. The operator finds the reason in the log, and may choose another model."},
		{ErrProvider, "The model's provider failed or is overloaded. Try again in a while."},
		{ErrUnreachable, "The model's provider can't be reached. The operator sees whether CARREL_MODEL_BASE_URL is right and answers."},
		{ErrReply, "The model's provider answered with something that can't be understood. The operator sees whether CARREL_MODEL_BASE_URL is the address of such a provider."},
		{ErrToolCall, "The model asked for something in a form that can't be understood. Try again, or choose a stronger model."},
		{ErrTimeout, "The model took too long to answer. Try again, or ask for less at once."},
	} {
		if errors.Is(what, c.what) {
			return c.detail
		}
	}
	return "The model failed. Try again."
}
