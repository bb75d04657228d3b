package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"carrel/internal/core"
)

// recover turns a panic of a handler into a reply that says nothing of it; the stack goes to the log alone.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.answerPanic(w, r)
		next.ServeHTTP(w, r)
	})
}

// answerPanic ends a panic, if there is one. It must be deferred itself: recover sees nothing from any deeper.
func (s *Server) answerPanic(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // how a handler asks net/http to cut the connection
	}
	s.log.ErrorContext(r.Context(), "panic in a handler", "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
	x := exchangeOf(r.Context())
	if x.out.status != 0 {
		// Half a reply is out. Cutting the connection is the only way left to say that it is not whole.
		x.out.status = http.StatusInternalServerError
		panic(http.ErrAbortHandler)
	}
	x.out.routing, x.out.missed = nil, 0
	forgetReply(w.Header())
	s.opts.Problem(w, r, core.Internal(fmt.Errorf("panic: %v", cause)))
}

// forgetReply takes back what a handler said of a body that is not going to be sent.
func forgetReply(h http.Header) {
	for _, name := range []string{
		"Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Cache-Control", "Etag", "Last-Modified", "Location",
	} {
		delete(h, name)
	}
}
