// Package oas contains the server code that ogen generates from the contract, and the errors of its decoders.
package oas

import (
	"context"
	"fmt"
	"net/http"
)

// ErrorHandler handles an error of a decoder or an encoder.
type ErrorHandler func(ctx context.Context, w http.ResponseWriter, r *http.Request, err error)

func defaultErrorHandler(_ context.Context, w http.ResponseWriter, _ *http.Request, _ error) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// OperationContext names the operation of an error.
type OperationContext struct {
	Name, ID string
}

// DecodeParamsError is the error of a request whose parameters cannot be decoded.
type DecodeParamsError struct {
	OperationContext
	Err error
}

func (e *DecodeParamsError) Error() string {
	return fmt.Sprintf("operation %s: decode params: %v", e.Name, e.Err)
}

// Unwrap returns the error of the parameter.
func (e *DecodeParamsError) Unwrap() error { return e.Err }

// DecodeParamError is the error of a parameter. In is its location, such as "path".
type DecodeParamError struct {
	Name, In string
	Err      error
}

func (e *DecodeParamError) Error() string { return fmt.Sprintf("%s: %q: %v", e.In, e.Name, e.Err) }

// Unwrap returns the error of the decoder.
func (e *DecodeParamError) Unwrap() error { return e.Err }

// DecodeRequestError is the error of a request whose body cannot be read or decoded.
type DecodeRequestError struct {
	OperationContext
	Err error
}

func (e *DecodeRequestError) Error() string {
	return fmt.Sprintf("operation %s: decode request: %v", e.Name, e.Err)
}

// Unwrap returns the error of the body.
func (e *DecodeRequestError) Unwrap() error { return e.Err }

// DecodeBodyError is the error of a body that does not match its schema.
type DecodeBodyError struct {
	ContentType string
	Body        []byte
	Err         error
}

func (e *DecodeBodyError) Error() string { return fmt.Sprintf("decode %s: %v", e.ContentType, e.Err) }

// Unwrap returns the error of the decoder.
func (e *DecodeBodyError) Unwrap() error { return e.Err }
