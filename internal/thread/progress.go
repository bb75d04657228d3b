package thread

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Progress is how far a running turn is.
type Progress struct {
	TurnID    string
	StartedAt time.Time
	Steps     []task.StepRecord
	// Text is the reply so far; it may still change.
	Text string
}

// progress reads how far the turn of a thread is, or nil when none works.
func (s *Service) progress(ctx context.Context, threadID string) (*Progress, error) {
	t, err := s.store.ActiveTask(ctx, threadID)
	if core.IsKind(err, core.KindNotFound) {
		return nil, nil //nolint:nilnil // a thread without a running turn is the usual case, not a missing row
	}
	if err != nil {
		return nil, err
	}
	p := &Progress{TurnID: t.ID, StartedAt: t.CreatedAt}
	if p.Steps, err = s.store.TaskSteps(ctx, t.ID); err != nil {
		return nil, err
	}
	p.Text, err = s.textSoFar(ctx, t.ID, nil)
	return p, err
}

// eventsPage is how many events are read at once.
const eventsPage = 500

// textSoFar puts the pieces of a reply together, as a reader of the stream would. The rest are events that are not
// stored yet.
func (s *Service) textSoFar(ctx context.Context, taskID string, rest []task.Event) (string, error) {
	var d draft
	for after := int64(0); ; {
		events, err := s.store.TaskEvents(ctx, taskID, after, eventsPage)
		if err != nil {
			return "", err
		}
		for _, e := range events {
			after = e.Seq
			d.add(e)
		}
		if len(events) < eventsPage {
			break
		}
	}
	for _, e := range rest {
		d.add(e)
	}
	return d.String(), nil
}

// draft is a reply that is being written, piece by piece.
type draft struct {
	pieces []piece
	last   int64
}

type piece struct {
	seq  int64
	text string
}

// add takes the next event of the turn; one that was taken before is left out.
func (d *draft) add(e task.Event) {
	if e.Seq <= d.last {
		return
	}
	d.last = e.Seq
	var payload struct {
		Text         string `json:"text"`
		DiscardAfter string `json:"discardAfter"`
	}
	if e.Kind != task.EventDelta && e.Kind != task.EventRestarted || json.Unmarshal(e.Payload, &payload) != nil {
		return
	}
	if e.Kind == task.EventDelta {
		d.pieces = append(d.pieces, piece{e.Seq, payload.Text})
		return
	}
	keep, err := task.ParsePosition(payload.DiscardAfter)
	if err != nil {
		return
	}
	for len(d.pieces) > 0 && d.pieces[len(d.pieces)-1].seq > keep.Seq {
		d.pieces = d.pieces[:len(d.pieces)-1]
	}
}

// String returns the reply so far.
func (d *draft) String() string {
	var b strings.Builder
	for _, p := range d.pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// Position returns where the stream of a thread is now. Whoever reads the thread after it misses nothing by following
// the stream from there.
func (s *Service) Position(ctx context.Context, threadID string) (task.Position, error) {
	if !core.IsID(core.PrefixThread, threadID) {
		return task.Position{}, core.NotFound("thread")
	}
	at, _, err := s.store.ThreadPosition(ctx, threadID)
	return at, err
}

// Changed waits until something happens in a thread after a position, or the context ends.
func (s *Service) Changed(ctx context.Context, threadID string, after task.Position) error {
	for _, err := range s.tasks.Stream(ctx, threadID, after) {
		return err
	}
	return ctx.Err()
}

// Events follows a thread: the events after a position, then what happens, until the context ends. Without a position
// it starts at the beginning of the latest turn, also if that has ended: a client that opens the stream after it sent a
// message must see the turn's end, however short the turn was. A thread without a turn is waited for.
func (s *Service) Events(ctx context.Context, actor core.Actor, agentID, threadID string, after *task.Position) (iter.Seq2[task.Event, error], error) {
	if err := s.allow(ctx, actor, core.OpStreamEvents, agentID); err != nil {
		return nil, err
	}
	if err := s.Reach(ctx, actor, agentID, threadID); err != nil {
		return nil, err
	}
	if after == nil {
		now, _, err := s.store.ThreadPosition(ctx, threadID)
		if err != nil {
			return nil, err
		}
		after = &task.Position{Number: now.Number}
	}
	return s.tasks.Stream(ctx, threadID, *after), nil
}
