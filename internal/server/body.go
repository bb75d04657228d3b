package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// readDeadliner is the part of a connection that a body's time limit needs.
type readDeadliner interface {
	SetReadDeadline(deadline time.Time) error
}

// timedBody is a request body that must arrive in time. http.Server.ReadTimeout can't be used for that:
// it goes on after the body has been read, and would cancel every request that takes longer, streams above all.
type timedBody struct {
	io.ReadCloser
	conn readDeadliner
}

// attach starts the time of a request that has a body.
func (b *timedBody) attach(w http.ResponseWriter, r *http.Request, timeout time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	conn, ok := w.(readDeadliner)
	if !ok || conn.SetReadDeadline(time.Now().Add(timeout)) != nil {
		return // not a connection, as in tests
	}
	b.ReadCloser, b.conn = r.Body, conn
	r.Body = b
}

// Read lifts the limit when the body has ended.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && b.conn != nil {
		_ = b.conn.SetReadDeadline(time.Time{}) // can only fail on a closed connection
		b.conn = nil
	}
	return n, err
}
