package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// What a client sends is cut to this before it is logged, so that nobody can fill the disk with it.
const (
	maxLoggedPath  = 200
	maxLoggedAgent = 120
)

// logAccess writes the one line of a request. It holds no query and no header but the user agent; the request id is
// added by the log from the context.
func (s *Server) logAccess(x *exchange, r *http.Request, pattern string, status int, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case isProbe(r.URL.Path):
		level = slog.LevelDebug // one every few seconds, for ever
	}
	ctx := r.Context()
	if !s.log.Enabled(ctx, level) {
		return
	}
	route := pattern
	if route == "" || strings.HasSuffix(route, "/") {
		route = cut(r.URL.Path, maxLoggedPath) // no pattern, or one that says too little
	}
	s.log.LogAttrs(ctx, level, "request",
		slog.String("method", cut(r.Method, maxLoggedAgent)),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Int64("bytes", x.out.bytes),
		slog.Int64("durationUs", took.Microseconds()), // a float costs slog two allocations
		slog.String("userAgent", cut(r.UserAgent(), maxLoggedAgent)),
	)
}

// patternPath takes the method and the host off a pattern of the mux: "GET example.org/x" is "/x".
func patternPath(pattern string) string {
	if i := strings.IndexByte(pattern, '/'); i > 0 {
		return pattern[i:]
	}
	return pattern
}

// cut shortens s to n bytes, and a broken last character is taken out by the log.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
