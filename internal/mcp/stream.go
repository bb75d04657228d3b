package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/streamwatch"
)

const (
	// recheckInterval is how often the credentials of open streams are checked. A stream must end within a second after
	// its credential was revoked, and the check itself takes time.
	recheckInterval = 750 * time.Millisecond
	// openAfter is the time after which an unfinished reply is rechecked. Most replies end earlier and cost nothing.
	openAfter = 200 * time.Millisecond
	// recheckTimeout limits one check.
	recheckTimeout = 5 * time.Second
	// heartbeatRounds is the number of checks between two heartbeats, which keep proxies from closing an idle stream.
	heartbeatRounds = 20
	// writeTimeout is how long a client may take to accept a write before it is disconnected.
	writeTimeout = 30 * time.Second
)

// stream is the reply to a request. If it stays open, its credential is rechecked and heartbeats are sent, in one round
// for all open streams. It also turns plain-text errors of the SDK into JSON-RPC errors.
type stream struct {
	http.ResponseWriter
	// request is the request to serve; its context ends with the stream.
	request *http.Request
	token   string
	open    *streamwatch.Watch[*stream]
	cancel  context.CancelFunc
	// release frees the credential's stream slot; nil if the stream takes none.
	release func()
	who     atomic.Pointer[core.Actor]
	// rounds counts the checks. Only recheckStreams uses it.
	rounds int

	// mu is held during writes, which last as long as the client takes. Checks of other streams must not wait for it.
	mu    sync.Mutex
	timer *time.Timer
	// begun is set when the header was sent, events if the reply is an event stream, plain if it is a plain-text error.
	begun, events, plain, ended bool
}

func newStream(
	w http.ResponseWriter, r *http.Request, who core.Actor, token string, open *streamwatch.Watch[*stream],
) *stream {
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{ResponseWriter: w, request: r.WithContext(ctx), token: token, open: open, cancel: cancel}
	s.who.Store(&who)
	s.timer = time.AfterFunc(openAfter, s.join)
	return s
}

// actor returns the actor as of the last check.
func (s *stream) actor() core.Actor { return *s.who.Load() }

// join adds the stream to the open ones, which are rechecked.
func (s *stream) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.open.Join(s.token, s)
	}
}

// end marks the reply as finished; later writes fail.
func (s *stream) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	if !s.timer.Stop() {
		s.open.Leave(s.token, s)
	}
	s.cancel()
	if s.release != nil {
		s.release()
	}
}

// recheckStreams checks the credential of open streams, ends them if it is no longer valid, and sends heartbeats. It
// does not wait for clients.
func (e *endpoint) recheckStreams(token string, open []*stream) {
	// Any of the requests can provide the context, if its end does not cancel the check.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(open[0].request.Context()), recheckTimeout)
	defer cancel()
	who, good := e.recheck(ctx, token, open[0].actor())
	for _, s := range open {
		if !good {
			s.cancel()
			continue
		}
		s.who.Store(&who)
		if s.rounds++; s.rounds%heartbeatRounds == 0 {
			go s.heartbeat()
		}
	}
}

// heartbeat writes a comment, which clients skip. It does nothing while another write is in progress.
func (s *stream) heartbeat() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if !s.events || s.ended {
		return
	}
	s.extendWriteDeadline()
	_, err := s.ResponseWriter.Write([]byte(": alive\n\n"))
	if err == nil {
		err = http.NewResponseController(s.ResponseWriter).Flush()
	}
	if err != nil {
		s.cancel()
	}
}

// extendWriteDeadline gives the client time for the next write. It must be called before every write: after the
// deadline of an earlier write, all writes fail.
func (s *stream) extendWriteDeadline() {
	// Not all writers have deadlines; recorders in tests do not.
	_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// WriteHeader implements http.ResponseWriter.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeHeader(status)
}

func (s *stream) writeHeader(status int) {
	h := s.Header()
	contentType := h.Get("Content-Type")
	s.begun = true
	s.events = strings.HasPrefix(contentType, "text/event-stream")
	if s.plain = status >= http.StatusBadRequest && strings.HasPrefix(contentType, "text/plain"); s.plain {
		h.Set("Content-Type", "application/json")
		h.Del("Content-Length")
	}
	if s.events {
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would buffer events
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The SDK writes whole events, so a heartbeat never splits one.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return 0, context.Canceled
	case !s.begun:
		s.writeHeader(http.StatusOK)
	}
	if s.events {
		s.extendWriteDeadline()
	}
	if s.plain {
		return len(b), s.writeError(string(b))
	}
	return s.ResponseWriter.Write(b) //nolint:gosec // JSON and events, which browsers do not render as a page
}

func (s *stream) writeError(text string) error {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": rpcError{Code: codeInvalidRequest, Message: strings.TrimSpace(text)},
	})
	if err != nil {
		return err
	}
	_, err = s.ResponseWriter.Write(body)
	return err
}

// Flush implements http.Flusher.
func (s *stream) Flush() { _ = s.FlushError() }

// FlushError is used by http.ResponseController.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// event writes and flushes one event.
func (s *stream) event(text string) error {
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return s.FlushError()
}
