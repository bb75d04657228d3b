package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"carrel/internal/core"
)

const (
	// recheckEvery is how often an open stream makes sure that it may go on. It is less than the second in which a stream
	// must end whose credential was revoked: to look takes time as well.
	recheckEvery = 750 * time.Millisecond
	// beats is how many rechecks lie between two signs of life, which keep proxies from closing a quiet stream.
	beats = 20
	// streamWrite is how long a client may take to accept something before it is given up.
	streamWrite = 30 * time.Second
)

// stream is the reply to a request. As long as it is open it watches over the credential, shows signs of life, and ends
// when the server stops; all by one timer that costs nothing where the reply is there at once. It also puts the SDK's
// plain refusals into the protocol's words.
type stream struct {
	http.ResponseWriter
	// request is the one to serve with: its context ends with the stream.
	request *http.Request
	// recheck returns who is asking, and whether they still may.
	recheck func(ctx context.Context) (core.Actor, bool)
	cancel  context.CancelFunc

	mu    sync.Mutex
	who   core.Actor
	timer *time.Timer
	ticks int
	// begun says that the header is sent, events that what follows are events, plain that it is a refusal in plain text.
	begun, events, plain, ended bool
}

func newStream(w http.ResponseWriter, r *http.Request, who core.Actor, recheck func(context.Context) (core.Actor, bool)) *stream {
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{ResponseWriter: w, request: r.WithContext(ctx), who: who, recheck: recheck, cancel: cancel}
	s.mu.Lock()
	s.timer = time.AfterFunc(recheckEvery, s.tick)
	s.mu.Unlock()
	return s
}

// actor is who is asking, as of the last look.
func (s *stream) actor() core.Actor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

// end says that the reply is over; nothing is written after it.
func (s *stream) end() {
	s.mu.Lock()
	s.ended = true
	s.timer.Stop()
	s.mu.Unlock()
	s.cancel()
}

// tick looks after an open stream.
func (s *stream) tick() {
	who, ok := s.recheck(s.request.Context())
	if !ok {
		s.cancel()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.who = who
	if s.ended {
		return
	}
	s.ticks++
	if s.ticks%beats == 0 && s.events && s.beat() != nil {
		s.cancel()
		return
	}
	s.timer.Reset(recheckEvery)
}

// beat writes a comment, which readers of events skip.
func (s *stream) beat() error {
	s.patience()
	if _, err := s.ResponseWriter.Write([]byte(": alive\n\n")); err != nil {
		return err
	}
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// patience gives the client time for the next write. It comes before every one: the last write's time may be over, and
// whatever is written then fails.
func (s *stream) patience() {
	_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(time.Now().Add(streamWrite)) // not all writers can
}

// WriteHeader sends the header.
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
		h.Set("X-Accel-Buffering", "no") // nginx would gather events
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the reply. The SDK writes an event at a time, so that a sign of life never stands inside one.
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
		s.patience()
	}
	if s.plain {
		return len(b), s.writeRefusal(string(b))
	}
	return s.ResponseWriter.Write(b) //nolint:gosec // JSON and events, which no browser shows as a page
}

func (s *stream) writeRefusal(text string) error {
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

// Flush sends what was written.
func (s *stream) Flush() { _ = s.FlushError() }

// FlushError is Flush for those who want to know.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// event writes a whole event and sends it.
func (s *stream) event(text string) error {
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return s.FlushError()
}
