package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/task"
)

// wantsEvents reports whether the client of a message wants the events of its turn instead of the reply: it accepts
// text/event-stream and does not name application/json.
func wantsEvents(r *http.Request) bool {
	events := false
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		switch mediaType(part) {
		case "text/event-stream":
			events = !refused(part)
		case "application/json":
			return false
		}
	}
	return events
}

// serveTurn sends a message and answers with the events of its turn.
func (a *API) serveTurn(
	w http.ResponseWriter, r *http.Request, route oas.Route, traits core.Traits, body []byte, out *outcome,
) {
	s, err := a.beginTurnStream(r.Context(), route.Args()[0], route.Args()[1])
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	defer s.release()
	rep := newReply(w.Header())
	defer rep.free()
	a.carryOut(rep, r.WithContext(WithoutWait(r.Context())), traits, body, out)
	if out.err != nil {
		a.problems.Write(w, r, out.err)
		return
	}
	s.send(a, w, r, rep, out.turn)
}

// turnStream sends the events of the turn of a message.
type turnStream struct {
	agentID, threadID string
	// after is a position before the turn's first event. Events of another turn, which ended meanwhile, may follow it.
	after   task.Position
	release func()
}

// beginTurnStream takes a place for the stream before the message is sent, so that a refusal leaves no turn behind.
func (a *API) beginTurnStream(ctx context.Context, agentID, threadID string) (*turnStream, error) {
	release, err := a.streams.Take(actor(ctx).CredentialID)
	if err != nil {
		return nil, err
	}
	after, err := a.Threads.TurnPosition(ctx, threadID)
	if err != nil {
		release()
		return nil, err
	}
	return &turnStream{agentID, threadID, after, release}, nil
}

// send sends the events of the turn until it has ended. If the turn had already ended, as that of a repeated message,
// it sends its last event only.
func (s *turnStream) send(a *API, w http.ResponseWriter, r *http.Request, rep *reply, turnID string) {
	h := w.Header()
	h.Del("Retry-After")
	if rep.status == http.StatusAccepted {
		source := a.threadEvents(s.agentID, s.threadID)
		all := source.events
		source.events = func(
			ctx context.Context, who core.Actor, after *task.Position,
		) (iter.Seq2[task.Event, error], error) {
			events, err := all(ctx, who, after)
			return ofTurn(events, turnID), err
		}
		a.streamFrom(w, r, actor(r.Context()), source, &s.after, true)
		return
	}
	var turn struct {
		MessageID string `json:"messageId"`
	}
	if err := json.Unmarshal(rep.body.Bytes(), &turn); err != nil {
		a.problems.Write(w, r, err)
		return
	}
	data, _ := json.Marshal(map[string]string{"status": string(task.StateComplete), "messageId": turn.MessageID})
	beginEvents(w)
	_, _ = w.Write([]byte("event: " + task.EventDone + "\ndata: " + string(data) + "\n\n")) // the client may have gone
}

// ofTurn returns the events of one turn.
func ofTurn(events iter.Seq2[task.Event, error], turnID string) iter.Seq2[task.Event, error] {
	return func(yield func(task.Event, error) bool) {
		for e, err := range events {
			if (err != nil || e.TaskID == turnID) && !yield(e, err) {
				return
			}
		}
	}
}
