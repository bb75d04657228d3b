package server

import (
	"net/http"
	"strings"
)

// Header values of all replies. Replies can share them, because http.Header methods replace a slice or append to it,
// which copies.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	frameDeny  = []string{"DENY"}
	sameOrigin = []string{"same-origin"}
	// strictCSP is for replies that are not pages. Pages replace it.
	strictCSP = []string{"default-src 'none'; frame-ancestors 'none'"}
	// hsts does not have includeSubDomains, because subdomains may belong to other services.
	hsts = []string{"max-age=31536000"}
)

// secure sets the security headers. Handlers may override them.
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
