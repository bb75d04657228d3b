package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"carrel/internal/core"
)

// recover replies to a panic with an internal error. The panic and its stack are only logged.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.handlePanic(w, r)
		next.ServeHTTP(w, r)
	})
}

// handlePanic recovers from a panic. It must be deferred directly for recover to work.
func (s *Server) handlePanic(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // makes net/http close the connection
	}
	s.log.ErrorContext(r.Context(), "panic in a handler", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
	x := exchangeOf(r.Context())
	if x.out.status != 0 {
		// A part of the reply is sent. Closing the connection marks it as incomplete.
		x.out.status = http.StatusInternalServerError
		panic(http.ErrAbortHandler)
	}
	x.out.routing, x.out.missed = nil, 0
	clearBodyHeaders(w.Header())
	s.opts.Problem(w, r, core.Internal(fmt.Errorf("panic: %v", cause)))
}

// clearBodyHeaders removes the headers of a body that is not sent.
func clearBodyHeaders(h http.Header) {
	for _, name := range []string{
		"Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition",
		"Cache-Control", "Etag", "Last-Modified", "Location",
	} {
		delete(h, name)
	}
}
