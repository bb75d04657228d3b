package server

import (
	"net/http"

	"carrel/internal/core"
)

// route hands the request to the mux, and answers in its place where it found nothing. The mux is asked only once: a
// look-up before the real one would double the cost of every request.
func (s *Server) route(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &exchangeOf(r.Context()).out
		out.routing = r
		mux.ServeHTTP(w, r)
		out.routing = nil
		if out.missed == 0 {
			return
		}
		missed := out.missed
		out.missed = 0
		r.Pattern = ""
		forgetReply(w.Header())
		if missed == http.StatusMethodNotAllowed {
			// The mux has set Allow.
			s.opts.Problem(w, r, &core.Error{
				Kind: core.KindMethod, Code: "method_not_allowed",
				Detail: "This path does not take this method; see the header Allow for those it does.",
			})
			return
		}
		s.opts.Problem(w, r, core.NotFound("path"))
	})
}
