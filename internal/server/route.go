package server

import (
	"net/http"
	"strings"

	"carrel/internal/core"
)

// The paths of Options.Agents, and the pattern of the handler that serves them, which the mux would set.
const (
	agentsPrefix  = "/api/agents/"
	agentsPattern = "/api/"
)

// route serves the request with the mux, and replaces its 404 and 405 replies with problems. It does not call
// mux.Handler first, which would match every request twice. The guard has refused the paths that the mux would clean.
func (s *Server) route(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.opts.Agents != nil && strings.HasPrefix(r.URL.Path, agentsPrefix) {
			r.Pattern = agentsPattern
			compress(w, r, s.opts.Agents)
			return
		}
		out := &exchangeOf(r.Context()).out
		out.routing = r
		compress(w, r, mux)
		out.routing = nil
		if out.missed == 0 {
			return
		}
		missed := out.missed
		out.missed = 0
		r.Pattern = ""
		clearBodyHeaders(w.Header())
		if missed == http.StatusMethodNotAllowed {
			// The mux has already set the Allow header.
			s.opts.Problem(w, r, &core.Error{
				Kind: core.KindMethod, Code: "method_not_allowed",
				Detail: "This path does not support this method. The Allow header lists the supported methods.",
			})
			return
		}
		s.opts.Problem(w, r, core.NotFound("path"))
	})
}
