package server

import (
	"context"
	"io"
	"net/http"
	"time"

	"carrel/internal/core"
)

// Paths of the probes. They are not rate limited, because a refused probe restarts the process.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// readyTimeout is the timeout of the readiness check.
const readyTimeout = 2 * time.Second

func isProbe(path string) bool { return path == healthPath || path == readyPath }

// healthz reports that the process serves requests. It checks nothing else.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeOK(w) }

// readyz reports whether Options.Ready succeeds. Concurrent requests share one check, to limit the load on the
// database.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.opts.Ready == nil {
		writeOK(w)
		return
	}
	shared := context.WithoutCancel(r.Context()) // other requests wait for the same check
	_, err, _ := s.ready.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, readyTimeout)
		defer cancel()
		return nil, s.opts.Ready(ctx)
	})
	if err == nil {
		writeOK(w)
		return
	}
	s.log.WarnContext(r.Context(), "not ready", "error", err)
	unavailable := &core.Error{
		Kind: core.KindUnavailable, Code: "unavailable",
		Detail: "The service is not ready. Try again soon.", RetryAfter: readyTimeout,
	}
	s.opts.Problem(w, r, unavailable.Because(err))
}

func writeOK(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n") // the probe may have disconnected
}
