package server

import (
	"context"
	"io"
	"net/http"
	"time"

	"carrel/internal/core"
)

// The paths of the probes. They are never limited: a probe that is turned away gets the process killed.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// readyTimeout bounds the check behind /readyz; a slower database counts as away.
const readyTimeout = 2 * time.Second

func isProbe(path string) bool { return path == healthPath || path == readyPath }

// healthz says that the process answers, and nothing else.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { writeOK(w) }

// readyz says whether requests can be served. Callers at the same time share one check, so that probing can't
// become load on the database.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.opts.Ready == nil {
		writeOK(w)
		return
	}
	shared := context.WithoutCancel(r.Context()) // the others still want to know when this caller has hung up
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
		Detail: "The service can't answer requests now. Try again soon.", RetryAfter: readyTimeout,
	}
	s.opts.Problem(w, r, unavailable.Because(err))
}

func writeOK(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n") // a probe that hung up needs no answer
}
