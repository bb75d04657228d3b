package httpapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

const (
	// heartbeat keeps proxies from closing a quiet stream.
	heartbeat = 15 * time.Second
	// recheck is how often it is made sure that open streams may go on. It is less than the second in which a stream must
	// end whose credential was revoked: to look takes time as well, which recheckWithin bounds.
	recheck       = 750 * time.Millisecond
	recheckWithin = 5 * time.Second
	// streamWrite is how long a client may take to accept an event before it is given up.
	streamWrite = 30 * time.Second
)

// errStreamEnds is why a stream is closed by us.
var errStreamEnds = errors.New("the stream ends")

// streamEvents answers GET …/events with server-sent events. It is a plain handler because its reply has no end.
func (a *API) streamEvents(w http.ResponseWriter, r *http.Request) {
	agentID, threadID := r.PathValue("agentId"), r.PathValue("threadId")
	a.stream(w, r, core.OpStreamEvents, followed{
		events: func(ctx context.Context, who core.Actor, after *task.Position) (iter.Seq2[task.Event, error], error) {
			return a.Threads.Events(ctx, who, agentID, threadID, after)
		},
		there: func(ctx context.Context, who core.Actor) error {
			_, err := a.Threads.Get(ctx, who, agentID, threadID)
			return err
		},
	})
}

// followed is something whose events can be followed.
type followed struct {
	events func(ctx context.Context, who core.Actor, after *task.Position) (iter.Seq2[task.Event, error], error)
	// there returns nil while it is there and the actor's.
	there func(ctx context.Context, who core.Actor) error
}

// stream writes the events of something as they come.
func (a *API) stream(w http.ResponseWriter, r *http.Request, op core.Operation, f followed) {
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
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	events, err := f.events(ctx, who, after)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would gather events
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	s := &stream{w: w, flush: http.NewResponseController(w), request: r, followed: f, cancel: func() { cancel(errStreamEnds) }}
	credential := r.Header.Get("Authorization") + "\n" + r.Header.Get("Cookie")
	a.open.Join(credential, s)
	defer a.open.Leave(credential, s)
	next := make(chan pulled)
	pulling := make(chan struct{})
	go func() {
		defer close(pulling)
		pull(ctx, events, next)
	}()
	s.follow(ctx, next, until == "done", a.draining)
	s.cancel()
	<-pulling
}

// lastEventID reads where a client was cut off; nil means that it says nothing.
func lastEventID(r *http.Request) (*task.Position, error) {
	id := strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	if id == "" {
		return nil, nil //nolint:nilnil // saying nothing is no error
	}
	p, err := task.ParsePosition(id)
	return &p, err
}

// look ends those of a credential's streams that may not go on: the credential is no longer good, or what they follow is
// gone. While that can't be found out, they may.
func (a *API) look(_ string, open []*stream) {
	// Whose request it is done for does not matter, as long as its end is not the end of this.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(open[0].request.Context()), recheckWithin)
	defer cancel()
	who, err := a.authenticate(open[0].request.WithContext(ctx))
	found := map[string]error{}
	for _, s := range open {
		path := s.request.URL.Path
		if _, known := found[path]; !known && err == nil {
			found[path] = s.followed.there(ctx, who)
		}
		why := cmp.Or(err, found[path])
		if core.IsKind(why, core.KindUnauthenticated) || core.IsKind(why, core.KindForbidden) || core.IsKind(why, core.KindNotFound) {
			s.cancel()
		}
	}
}

// stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	// request and followed are what look goes by, and cancel what it ends the stream with.
	request  *http.Request
	followed followed
	cancel   func()
}

// follow writes events as they come until the client goes, the stream may not go on, the server stops or, if asked, the
// turn is done.
func (s *stream) follow(ctx context.Context, next <-chan pulled, untilDone bool, draining <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if s.comment("connected") != nil {
		return
	}
	for {
		select {
		case p, open := <-next:
			if !open || p.err != nil || s.event(p.event) != nil {
				return
			}
			if untilDone && p.event.Kind == task.EventDone {
				return
			}
		case <-beat.C:
			if s.comment("alive") != nil {
				return
			}
		case <-draining:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *stream) event(e task.Event) error {
	var b strings.Builder
	b.WriteString("id: " + e.Position().String() + "\nevent: " + e.Kind + "\ndata: ")
	b.Write(e.Payload) // JSON of ours, without line breaks
	b.WriteString("\n\n")
	return s.write(b.String())
}

func (s *stream) comment(text string) error { return s.write(": " + text + "\n\n") }

func (s *stream) write(text string) error {
	_ = s.flush.SetWriteDeadline(time.Now().Add(streamWrite)) // not all writers can; those of tests
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.flush.Flush()
}

// pulled is an event, or why there are no more.
type pulled struct {
	event task.Event
	err   error
}

// pull makes a channel of a sequence, so that other things can be waited for beside it.
func pull(ctx context.Context, events iter.Seq2[task.Event, error], next chan<- pulled) {
	defer close(next)
	for e, err := range events {
		select {
		case next <- pulled{e, err}:
		case <-ctx.Done():
			return
		}
	}
}
