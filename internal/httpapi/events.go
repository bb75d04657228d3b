package httpapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

const (
	// heartbeatInterval keeps proxies from closing an idle stream.
	heartbeatInterval = 15 * time.Second
	// recheckInterval is how often the credentials of open streams are checked. A stream must end within a second after
	// its credential was revoked, and the check itself takes time, which recheckTimeout limits.
	recheckInterval = 750 * time.Millisecond
	recheckTimeout  = 5 * time.Second
	// writeTimeout is how long a client may take to accept an event before it is disconnected.
	writeTimeout = 30 * time.Second
)

// errStreamEnds is the cause of a stream that the server ends.
var errStreamEnds = errors.New("the stream ends")

// streamEvents answers GET …/threads/{threadId}/events with server-sent events.
func (a *API) streamEvents(w http.ResponseWriter, r *http.Request) {
	a.stream(w, r, core.OpStreamEvents, a.threadEvents(r.PathValue("agentId"), r.PathValue("threadId")))
}

// threadEvents are the events of a thread.
func (a *API) threadEvents(agentID, threadID string) eventSource {
	return eventSource{
		events: func(ctx context.Context, who core.Actor, after *task.Position) (iter.Seq2[task.Event, error], error) {
			return a.Threads.Events(ctx, who, agentID, threadID, after)
		},
		check: func(ctx context.Context, who core.Actor) error {
			_, err := a.Threads.Get(ctx, who, agentID, threadID)
			return err
		},
	}
}

// eventSource is an object with events: a thread, or a source with its imports.
type eventSource struct {
	events func(ctx context.Context, who core.Actor, after *task.Position) (iter.Seq2[task.Event, error], error)
	// check returns nil while the object exists and the actor has access to it.
	check func(ctx context.Context, who core.Actor) error
}

// stream sends the events of an object as they occur.
func (a *API) stream(w http.ResponseWriter, r *http.Request, op core.Operation, source eventSource) {
	who, err := a.authorize(r, op)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	after, err := lastEventID(r)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	until := r.URL.Query().Get("until")
	if until != "" && until != "done" {
		a.problems.Write(w, r, core.InvalidField("until", "Must be done, or left out."))
		return
	}
	release, err := a.streams.Take(who.CredentialID)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	defer release()
	a.streamFrom(w, r, who, source, after, until == "done")
}

// streamFrom sends the events after a position. The caller holds a place for the stream.
func (a *API) streamFrom(
	w http.ResponseWriter, r *http.Request, who core.Actor, source eventSource, after *task.Position, untilDone bool,
) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	events, err := source.events(ctx, who, after)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	beginEvents(w)
	if r.Method == http.MethodHead {
		return
	}
	s := &stream{
		w: w, flush: http.NewResponseController(w), request: r, source: source,
		cancel: func() { cancel(errStreamEnds) },
	}
	credential := r.Header.Get("Authorization") + "\n" + r.Header.Get("Cookie")
	a.open.Join(credential, s)
	defer a.open.Leave(credential, s)
	next := make(chan eventResult)
	pulling := make(chan struct{})
	go func() {
		defer close(pulling)
		pull(ctx, events, next)
	}()
	if err := s.follow(ctx, next, untilDone, a.draining); err != nil && ctx.Err() == nil {
		a.log.WarnContext(ctx, "a stream ended early; its client can resume it", slog.Any("error", err))
	}
	s.cancel()
	<-pulling
}

// beginEvents sends the header of a stream.
func beginEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer events
	w.WriteHeader(http.StatusOK)
}

// lastEventID returns the position after which a client wants to resume, or nil.
func lastEventID(r *http.Request) (*task.Position, error) {
	id := strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	if id == "" {
		return nil, nil //nolint:nilnil // no header is not an error
	}
	p, err := task.ParsePosition(id)
	return &p, err
}

// recheckStreams ends the streams of a credential that is no longer valid, or whose object was deleted or is no longer
// accessible. If a check fails for another reason, such as a database error, the streams stay open.
func (a *API) recheckStreams(_ string, open []*stream) {
	// Any of the requests can provide the context, if its end does not cancel the check.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(open[0].request.Context()), recheckTimeout)
	defer cancel()
	who, err := a.authenticate(open[0].request.WithContext(ctx))
	checked := map[string]error{}
	for _, s := range open {
		path := s.request.URL.Path
		if _, known := checked[path]; !known && err == nil {
			checked[path] = s.source.check(ctx, who)
		}
		refusal := cmp.Or(err, checked[path])
		if core.IsKind(refusal, core.KindUnauthenticated) || core.IsKind(refusal, core.KindForbidden) ||
			core.IsKind(refusal, core.KindNotFound) {
			s.cancel()
		}
	}
}

// stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	// recheckStreams uses these to check access and to end the stream.
	request *http.Request
	source  eventSource
	cancel  func()
}

// follow sends events until the client disconnects, the stream is ended, the server shuts down or, with untilDone, the
// turn has ended. The error is that of the sequence.
func (s *stream) follow(
	ctx context.Context, next <-chan eventResult, untilDone bool, draining <-chan struct{},
) error {
	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	if s.comment("connected") != nil {
		return nil
	}
	for {
		select {
		case p, open := <-next:
			if p.err != nil {
				return p.err
			}
			if !open || s.event(p.event) != nil || untilDone && p.event.Kind == task.EventDone {
				return nil
			}
		case <-heartbeat.C:
			if s.comment("alive") != nil {
				return nil
			}
		case <-draining:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *stream) event(e task.Event) error {
	var b strings.Builder
	if e.Kind != task.EventQueued { // not stored, so a client cannot resume after it
		b.WriteString("id: " + e.Position().String() + "\n")
	}
	b.WriteString("event: " + e.Kind + "\ndata: ")
	b.Write(e.Payload) // JSON without line breaks
	b.WriteString("\n\n")
	return s.write(b.String())
}

func (s *stream) comment(text string) error { return s.write(": " + text + "\n\n") }

func (s *stream) write(text string) error {
	_ = s.flush.SetWriteDeadline(time.Now().Add(writeTimeout)) // writers in tests have no deadlines
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.flush.Flush()
}

// eventResult is an event, or the error that ended the sequence.
type eventResult struct {
	event task.Event
	err   error
}

// pull sends a sequence to a channel, so that it can be used in a select.
func pull(ctx context.Context, events iter.Seq2[task.Event, error], next chan<- eventResult) {
	defer close(next)
	for e, err := range events {
		select {
		case next <- eventResult{e, err}:
		case <-ctx.Done():
			return
		}
	}
}
