package server

import (
	"net/http"
	"slices"
	"strings"
)

// Header values of replies to pages of other sites. Programs in a browser may send what the API reads, and read what it
// sends.
var (
	corsAny     = []string{"*"}
	corsMethods = []string{"GET, HEAD, POST, PUT, PATCH, DELETE"}
	corsHeaders = []string{
		"Authorization, Content-Type, Accept, Accept-Language, Idempotency-Key, Prefer, If-Match, If-None-Match, " +
			"If-Range, Range, Last-Event-ID, Upload-Offset, traceparent, tracestate",
	}
	corsExposed = []string{
		"ETag, Location, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, Content-Disposition, " +
			"Content-Range, Preference-Applied, Deprecation, Sunset, Link",
	}
	corsMaxAge = []string{"86400"}
)

// cors lets pages of other origins call the REST API with a bearer credential, as far as cors-origins allows. Cookies
// are never allowed, so a page can do nothing with the session of the person who views it. The MCP endpoint has its own
// check and refuses other origins.
func (s *Server) cors(next http.Handler) http.Handler {
	origins := s.cfg.CORSOrigins
	if len(origins) == 0 {
		return next
	}
	anyOrigin := slices.Contains(origins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isREST(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		if !anyOrigin {
			h.Add("Vary", "Origin")
		}
		origin := r.Header.Get("Origin")
		if origin == "" || !anyOrigin && !slices.Contains(origins, strings.ToLower(origin)) ||
			r.Header.Get("Cookie") != "" && r.Header.Get("Authorization") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h["Access-Control-Allow-Origin"] = corsAny
		if !anyOrigin {
			h["Access-Control-Allow-Origin"] = []string{origin}
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h["Access-Control-Allow-Methods"] = corsMethods
			h["Access-Control-Allow-Headers"] = corsHeaders
			h["Access-Control-Max-Age"] = corsMaxAge
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h["Access-Control-Expose-Headers"] = corsExposed
		next.ServeHTTP(w, r)
	})
}

// isREST reports whether the path belongs to the REST API.
func isREST(path string) bool { return strings.HasPrefix(path, "/api/") }
