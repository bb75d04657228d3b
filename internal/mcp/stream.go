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
	// recheckEvery is how often open streams are looked after. It is less than the second in which a stream must end whose
	// credential was revoked: to look takes time as well.
	recheckEvery = 750 * time.Millisecond
	// openAfter is when a reply that is not over counts as a stream. Most are over by then, and cost the watch nothing.
	openAfter = 200 * time.Millisecond
	// recheckWithin is how long it may take to find out whether a credential is still good.
	recheckWithin = 5 * time.Second
	// beats is how many rechecks lie between two signs of life, which keep proxies from closing a quiet stream.
	beats = 20
	// streamWrite is how long a client may take to accept something before it is given up.
	streamWrite = 30 * time.Second
)

// stream is the reply to a request. When it stays open it is looked after together with all others: somebody watches over
// the credential, and shows signs of life. It also puts the SDK's plain refusals into the protocol's words.
type stream struct {
	http.ResponseWriter
	// request is the one to serve with: its context ends with the stream.
	request *http.Request
	token   string
	open    *streamwatch.Watch[*stream]
	cancel  context.CancelFunc
	// release frees the credential's slot; nil if the stream has none.
	release func()
	who     atomic.Pointer[core.Actor]
	// looks counts the rounds that the stream has seen. It is the watch's alone.
	looks int

	// mu is held while something is written, which takes as long as the client does: nobody who looks after others waits
	// for it.
	mu    sync.Mutex
	timer *time.Timer
	// begun says that the header is sent, events that what follows are events, plain that it is a refusal in plain text.
	begun, events, plain, ended bool
}

func newStream(w http.ResponseWriter, r *http.Request, who core.Actor, token string, open *streamwatch.Watch[*stream]) *stream {
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{ResponseWriter: w, request: r.WithContext(ctx), token: token, open: open, cancel: cancel}
	s.who.Store(&who)
	s.timer = time.AfterFunc(openAfter, s.join)
	return s
}

// actor is who is asking, as of the last look.
func (s *stream) actor() core.Actor { return *s.who.Load() }

// join has the stream looked after from now on.
func (s *stream) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.open.Join(s.token, s)
	}
}

// end says that the reply is over; nothing is written after it.
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

// look looks after the open streams of a credential. It waits for none of their clients.
func (e *endpoint) look(token string, open []*stream) {
	// Whose request it is done for does not matter, as long as its end is not the end of this.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(open[0].request.Context()), recheckWithin)
	defer cancel()
	who, good := e.recheck(ctx, token, open[0].actor())
	for _, s := range open {
		if !good {
			s.cancel()
			continue
		}
		s.who.Store(&who)
		if s.looks++; s.looks%beats == 0 {
			go s.beat()
		}
	}
}

// beat writes a comment, which readers of events skip, unless something is being written just now, which is a sign of life
// as well.
func (s *stream) beat() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if !s.events || s.ended {
		return
	}
	s.patience()
	_, err := s.ResponseWriter.Write([]byte(": alive\n\n"))
	if err == nil {
		err = http.NewResponseController(s.ResponseWriter).Flush()
	}
	if err != nil {
		s.cancel()
	}
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
