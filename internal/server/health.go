package server

import (
	"context"
	"errors"
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
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeOK(w, "") }

// readyz reports whether Options.Ready succeeds, with the reason of an unavailable error, or else Options.Notice.
// Concurrent requests share one
// check, to limit the load on the database.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.opts.Ready == nil {
		writeOK(w, "")
		return
	}
	shared := context.WithoutCancel(r.Context()) // other requests wait for the same check
	_, err, _ := s.ready.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, readyTimeout)
		defer cancel()
		return nil, s.opts.Ready(ctx)
	})
	if err == nil {
		notice := ""
		if s.opts.Notice != nil {
			notice = s.opts.Notice()
		}
		writeOK(w, notice)
		return
	}
	s.log.WarnContext(r.Context(), "not ready", "error", err)
	var reason *core.Error
	if !errors.As(err, &reason) || reason.Kind != core.KindUnavailable {
		reason = (&core.Error{
			Kind: core.KindUnavailable, Code: "unavailable",
			Detail: "The service is not ready. Try again soon.", RetryAfter: readyTimeout,
		}).Because(err)
	}
	s.opts.Problem(w, r, reason)
}

// writeOK writes "ok", and a notice on a line of its own unless it is empty.
func writeOK(w http.ResponseWriter, notice string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	body := "ok\n"
	if notice != "" {
		body += notice + "\n"
	}
	_, _ = io.WriteString(w, body) // the probe may have disconnected
}
