package task

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// maxDeltaBytes is the size at which a delta event is written without waiting for more text.
	maxDeltaBytes = 1024
	// stepEndDelay is how long the end of a step waits to share a write with the next step's start or the task's end.
	stepEndDelay = 5 * time.Millisecond
)

// buffer batches the writes of a run, so that many tokens share a row and a quick step takes one write. Its timer
// runs only while something is buffered.
type buffer struct {
	mu     sync.Mutex
	events []Event
	// text holds delta text not yet turned into an event. It follows events.
	text []byte
	// steps holds the steps with unwritten changes, by number.
	steps map[int]StepRecord
	// ended counts the ended steps, durable the ended steps already written.
	ended, durable int
	timer          *time.Timer
	due            time.Time // expiry of the timer
	// seq is the last sequence number assigned.
	seq     int64
	flushed time.Time
	closed  bool
}

// Emit adds an event of a kind-specific type to the stream; the payload is JSON. It is written with the next step's
// end, or after Options.EventBatchDelay.
func (r *Run) Emit(kind string, payload []byte) {
	if r.replaying() {
		return
	}
	b := &r.events
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(kind, payload)
	b.scheduleFlush(r, r.engine.options.EventBatchDelay)
}

// Delta adds text to the stream. Deltas are batched; the first one after a pause waits only for the end of a quick
// step.
func (r *Run) Delta(text string) {
	if text == "" || r.replaying() {
		return
	}
	b := &r.events
	b.mu.Lock()
	b.text = append(b.text, text...)
	full := len(b.text) >= maxDeltaBytes
	if !full {
		delay := r.engine.options.EventBatchDelay
		b.scheduleFlush(r, max(delay-time.Since(b.flushed), min(stepEndDelay, delay)))
	}
	b.mu.Unlock()
	if full {
		// Blocks a run that produces text faster than the database can store it. A write error has cancelled the run.
		_ = r.flush()
	}
}

// replaying reports whether the run is still before a step that ended in an earlier attempt, so that its events have
// already been written.
func (r *Run) replaying() bool {
	if r.journal == nil || r.inStep.Load() {
		return false
	}
	next, ok := r.journal[int(r.n.Load())+1]
	return ok && next.State != StepStarted
}

// resume loads the journal of earlier attempts. Events after the last ended step belong to an interrupted step that
// runs again, so readers are told to discard them.
func (r *Run) resume(steps []StepRecord, last int64) {
	r.journal = make(map[int]StepRecord, len(steps))
	var stands int64
	for _, s := range steps {
		r.journal[s.N] = s
		if s.State != StepStarted {
			stands = max(stands, s.LastSeq)
		}
	}
	b := &r.events
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq = last
	if last > stands {
		payload, _ := json.Marshal(map[string]string{ // strings always marshal
			"discardAfter": Position{Number: r.task.Number, Seq: stands}.String(),
		})
		b.add(EventRestarted, payload)
		b.scheduleFlush(r, r.engine.options.EventBatchDelay)
	}
}

// recordStep buffers the state of a step and its event. It reports whether the end of any step is not yet durable.
func (b *buffer) recordStep(r *Run, s StepRecord) (pending bool) {
	payload, _ := json.Marshal(struct { // strings always marshal
		N     int       `json:"n"`
		Kind  string    `json:"kind"`
		Label string    `json:"label"`
		State StepState `json:"state"`
	}{s.N, s.Kind, s.Label, s.State})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.steps == nil {
		b.steps = map[int]StepRecord{}
	}
	b.add(EventStep, payload)
	s.LastSeq = b.seq + int64(len(b.events)) // the sequence number of the event just added
	b.steps[s.N] = s
	if s.State != StepStarted {
		b.ended++
		b.scheduleFlush(r, min(stepEndDelay, r.engine.options.EventBatchDelay))
	} else {
		b.scheduleFlush(r, r.engine.options.EventBatchDelay)
	}
	return b.ended > b.durable
}

// add appends an event. The caller holds mu.
func (b *buffer) add(kind string, payload []byte) {
	b.closeDelta()
	b.events = append(b.events, Event{Kind: kind, Payload: payload})
}

// closeDelta turns the buffered text into an event. The caller holds mu.
func (b *buffer) closeDelta() {
	if len(b.text) == 0 {
		return
	}
	payload, _ := json.Marshal(map[string]string{"text": string(b.text)}) // strings always marshal
	b.events = append(b.events, Event{Kind: EventDelta, Payload: payload})
	b.text = nil
}

// scheduleFlush has the buffer written after a delay, or earlier if a flush is already due. The caller holds mu.
func (b *buffer) scheduleFlush(r *Run, after time.Duration) {
	due := time.Now().Add(max(after, 0))
	switch {
	case b.closed:
	case b.timer == nil:
		// A write error has cancelled the run.
		b.timer, b.due = time.AfterFunc(max(after, 0), func() { _ = r.flush() }), due
	case due.Before(b.due):
		b.timer.Reset(max(after, 0))
		b.due = due
	}
}

// take removes the buffered entry, assigns sequence numbers, and returns it with the number of ended steps so far.
func (b *buffer) take(t Task) (e Entry, ended int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.closeDelta()
	e = Entry{Events: b.events, Progress: t.Crashes > 0 && b.ended > b.durable}
	for i := range e.Events {
		b.seq++
		ev := &e.Events[i]
		ev.TaskID, ev.Number, ev.Seq, ev.Attempt = t.ID, t.Number, b.seq, t.Attempt
	}
	for _, s := range b.steps {
		e.Steps = append(e.Steps, s)
	}
	b.events, b.steps = nil, nil
	b.flushed = time.Now()
	return e, b.ended
}

// written records that the ends of that many steps are durable.
func (b *buffer) written(ended int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.durable = ended
}

// close stops the timer for good.
func (b *buffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// flush writes the buffer, after any write in progress. A failure cancels the run and stops all further writes, so that
// the journal has no gaps.
func (r *Run) flush() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	entry, ended := r.events.take(r.task)
	if r.writeErr != nil || entry.Empty() {
		return r.writeErr
	}
	err := r.retry(func(ctx context.Context) error { return r.engine.store.RecordTask(ctx, r.task.Fence(), entry) })
	if err != nil {
		r.writeErr = err
		r.cancel(err)
		return err
	}
	r.events.written(ended)
	r.engine.hub.wake(r.task.ID, r.task.Key, nil)
	r.engine.hints.add(r.engine.peers(), Hint{Task: r.task.ID, Key: r.task.Key, Seq: r.events.last()})
	return nil
}

// last returns the last assigned sequence number.
func (b *buffer) last() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seq
}
