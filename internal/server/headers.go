package server

import (
	"net/http"
	"strings"
)

// The values of the headers that every reply has. They are shared by all replies: net/http and its Header methods
// only ever replace a slice or append to it, which copies.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	frameDeny  = []string{"DENY"}
	sameOrigin = []string{"same-origin"}
	// strictCSP is right for everything that is not a page. A page sets its own, which replaces it.
	strictCSP = []string{"default-src 'none'; frame-ancestors 'none'"}
	// hsts leaves out includeSubDomains: other services of the same domain are not ours to decide for.
	hsts = []string{"max-age=31536000"}
)

// secure sets the headers that tell browsers to be strict. Handlers may override them.
func (s *Server) secure(next http.Handler) http.Handler {
	always := s.cfg.TLS() || strings.HasPrefix(s.cfg.BaseURL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = nosniff
		h["Referrer-Policy"] = noReferrer
		h["X-Frame-Options"] = frameDeny
		h["Cross-Origin-Opener-Policy"] = sameOrigin
		h["Content-Security-Policy"] = strictCSP
		if always || exchangeOf(r.Context()).https {
			h["Strict-Transport-Security"] = hsts
		}
		next.ServeHTTP(w, r)
	})
}
