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

// Progress is the state of an active turn.
type Progress struct {
	TurnID    string
	StartedAt time.Time
	Steps     []task.StepRecord
	// Text is the reply so far; it may still change.
	Text string
	// Queued is set while the turn waits, and Ahead is the number of turns ahead of it in the queue.
	Queued bool
	Ahead  int
}

// progress returns the progress of a thread's active turn, or nil.
func (s *Service) progress(ctx context.Context, threadID string) (*Progress, error) {
	t, err := s.store.ActiveTask(ctx, threadID)
	if core.IsKind(err, core.KindNotFound) {
		return nil, nil //nolint:nilnil // the usual case, not a missing row
	}
	if err != nil {
		return nil, err
	}
	p := &Progress{TurnID: t.ID, StartedAt: t.CreatedAt}
	if p.Ahead, p.Queued, err = s.tasks.QueuePosition(ctx, t); err != nil {
		return nil, err
	}
	if p.Steps, err = s.store.TaskSteps(ctx, t.ID); err != nil {
		return nil, err
	}
	d, err := s.draftSoFar(ctx, t.ID, nil)
	if err != nil {
		return nil, err
	}
	p.Text = d.String()
	for i, step := range p.Steps {
		if label := d.labels[step.N]; label != "" && step.State == task.StepStarted {
			p.Steps[i].Label = label // a slow step repeats its event with its progress
		}
	}
	return p, nil
}

// eventsPage is the number of events read at once.
const eventsPage = 500

// textSoFar assembles the text of a reply from its events, like a reader of the stream. rest are events that are not
// stored yet.
func (s *Service) textSoFar(ctx context.Context, taskID string, rest []task.Event) (string, error) {
	d, err := s.draftSoFar(ctx, taskID, rest)
	return d.String(), err
}

func (s *Service) draftSoFar(ctx context.Context, taskID string, rest []task.Event) (*draft, error) {
	d := &draft{labels: map[int]string{}}
	for after := int64(0); ; {
		events, err := s.store.TaskEvents(ctx, taskID, after, eventsPage)
		if err != nil {
			return d, err
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
	return d, nil
}

// draft assembles a reply from its delta events.
type draft struct {
	pieces []piece
	last   int64
	// labels are the latest labels of the steps, by number.
	labels map[int]string
}

type piece struct {
	seq  int64
	text string
}

// add applies the next event of the turn. Events that were already applied are ignored.
func (d *draft) add(e task.Event) {
	if e.Seq <= d.last {
		return
	}
	d.last = e.Seq
	var payload struct {
		Text         string `json:"text"`
		DiscardAfter string `json:"discardAfter"`
		N            int    `json:"n"`
		Label        string `json:"label"`
	}
	if json.Unmarshal(e.Payload, &payload) != nil {
		return
	}
	switch e.Kind {
	case task.EventStep:
		d.labels[payload.N] = payload.Label
		return
	case task.EventDelta:
		d.pieces = append(d.pieces, piece{e.Seq, payload.Text})
		return
	case task.EventRestarted:
	default:
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

// Position returns the current end of a thread's stream. A client that then reads the thread misses nothing if it
// follows the stream from there.
func (s *Service) Position(ctx context.Context, threadID string) (task.Position, error) {
	if !core.IsID(core.PrefixThread, threadID) {
		return task.Position{}, core.NotFound("thread")
	}
	at, _, err := s.store.ThreadPosition(ctx, threadID)
	return at, err
}

// TurnPosition returns the position before the first event of the active turn. Without an active turn, it is the end of
// the stream.
func (s *Service) TurnPosition(ctx context.Context, threadID string) (task.Position, error) {
	if !core.IsID(core.PrefixThread, threadID) {
		return task.Position{}, core.NotFound("thread")
	}
	at, working, err := s.store.ThreadPosition(ctx, threadID)
	if working {
		at.Seq = 0
	}
	return at, err
}

// WaitForChange waits for a stored event after a position, or for the end of the context.
func (s *Service) WaitForChange(ctx context.Context, threadID string, after task.Position) error {
	for e, err := range s.tasks.Stream(ctx, threadID, after) {
		if e.Kind != task.EventQueued {
			return err
		}
	}
	return ctx.Err()
}

// Events streams the events of a thread after a position until the context ends. Without a position it starts at the
// beginning of the latest turn, even if that has ended: a client that opens the stream after sending a message must see
// the end of a short turn. In a thread without turns it waits for one.
func (s *Service) Events(
	ctx context.Context, actor core.Actor, agentID, threadID string, after *task.Position,
) (iter.Seq2[task.Event, error], error) {
	if err := s.allow(ctx, actor, core.OpStreamEvents, agentID); err != nil {
		return nil, err
	}
	if err := s.CheckThread(ctx, actor, agentID, threadID); err != nil {
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
