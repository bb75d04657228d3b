package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Values from clients are truncated to these lengths, so that they can't fill the disk.
const (
	maxLoggedPath  = 200
	maxLoggedAgent = 120
)

// logAccess logs one line for a request. It contains neither the query nor headers, except the user agent. It has the
// ids of the user and the credential of an authenticated request. The logger adds the request id.
func (s *Server) logAccess(x *exchange, r *http.Request, pattern string, status int, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case isProbe(r.URL.Path):
		level = slog.LevelDebug // probes arrive every few seconds
	}
	ctx := r.Context()
	if !s.log.Enabled(ctx, level) {
		return
	}
	route := pattern
	if route == "" || strings.HasSuffix(route, "/") {
		route = cut(r.URL.Path, maxLoggedPath) // no pattern, or a whole subtree
	}
	attrs := [9]slog.Attr{
		slog.String("method", cut(r.Method, maxLoggedAgent)),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Int64("bytes", x.out.bytes),
		slog.Duration("duration", took),
		slog.String("client", x.client()),
		slog.String("userAgent", cut(r.UserAgent(), maxLoggedAgent)),
	}
	n := 7
	x.mu.Lock()
	if x.userID != "" {
		attrs[n], attrs[n+1] = slog.String("userId", x.userID), slog.String("credentialId", x.credentialID)
		n += 2
	}
	x.mu.Unlock()
	s.log.LogAttrs(ctx, level, "request", attrs[:n]...)
}

// client returns the address of the client, or "" if it is unknown, as for a Unix socket.
func (x *exchange) client() string {
	if !x.addr.IsValid() {
		return ""
	}
	return x.addr.String()
}

// patternPath removes method and host from a mux pattern: "GET example.org/x" becomes "/x".
func patternPath(pattern string) string {
	if i := strings.IndexByte(pattern, '/'); i > 0 {
		return pattern[i:]
	}
	return pattern
}

// cut truncates s to n bytes. The log handler replaces a truncated last character.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
