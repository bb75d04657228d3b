package task

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// fullRow is how much text is gathered into one event before it is written without further waiting.
	fullRow = 1024
	// endedStep is how long the end of a step waits for the next one's start, or the task's end, to share its write.
	endedStep = 5 * time.Millisecond
)

// buffer gathers what a run has to write, so that many tokens are one row and a quick step is one write. It has a
// timer only while something waits.
type buffer struct {
	mu     sync.Mutex
	events []Event
	// text is of the deltas at the end of events that are not put together yet.
	text []byte
	// steps are those whose state is not written yet, by their number.
	steps map[int]StepRecord
	// ended counts the steps that have ended, and durable those of them that are known to be written.
	ended, durable int
	timer          *time.Timer
	due            time.Time // of the timer
	// seq is the number of the last event that was handed out for writing.
	seq     int64
	flushed time.Time
	closed  bool
}

// Emit tells the task's readers something of the kind's own; the payload is JSON. It is durable with the next step's
// end, or a moment later.
func (r *Run) Emit(kind string, payload []byte) {
	if r.replaying() {
		return
	}
	b := &r.events
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(kind, payload)
	b.arm(r, r.engine.o.Gather)
}

// Delta tells the task's readers a piece of text. Pieces are gathered; the first after a pause goes out at once.
func (r *Run) Delta(text string) {
	if text == "" || r.replaying() {
		return
	}
	b := &r.events
	b.mu.Lock()
	b.text = append(b.text, text...)
	full := len(b.text) >= fullRow
	if !full {
		b.arm(r, r.engine.o.Gather-time.Since(b.flushed))
	}
	b.mu.Unlock()
	if full {
		// The one who writes faster than the database takes it waits here. A failure has ended the run.
		_ = r.flush()
	}
}

// replaying reports whether what the code does now was done before and stands: the step that comes next has ended.
func (r *Run) replaying() bool {
	if r.journal == nil || r.inStep.Load() {
		return false
	}
	next, ok := r.journal[int(r.n.Load())+1]
	return ok && next.State != StepStarted
}

// resume takes what earlier attempts left. Events after the last step that ended are of something that was cut off
// and will be done again: readers are told to forget them.
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
		b.arm(r, r.engine.o.Gather)
	}
}

// step notes the state of a step and tells it. It reports whether the end of a step is not known to be written.
func (b *buffer) step(r *Run, s StepRecord) (ended bool) {
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
	s.LastSeq = b.seq + int64(len(b.events)) // the number that this event will get
	b.steps[s.N] = s
	if s.State != StepStarted {
		b.ended++
		b.arm(r, min(endedStep, r.engine.o.Gather))
	} else {
		b.arm(r, r.engine.o.Gather)
	}
	return b.ended > b.durable
}

// add appends an event. The caller holds mu.
func (b *buffer) add(kind string, payload []byte) {
	b.joinText()
	b.events = append(b.events, Event{Kind: kind, Payload: payload})
}

// joinText makes one event of the gathered text. The caller holds mu.
func (b *buffer) joinText() {
	if len(b.text) == 0 {
		return
	}
	payload, _ := json.Marshal(map[string]string{"text": string(b.text)}) // strings always marshal
	b.events = append(b.events, Event{Kind: EventDelta, Payload: payload})
	b.text = nil
}

// arm has the buffer written after a while, if that is not arranged already. The caller holds mu.
func (b *buffer) arm(r *Run, after time.Duration) {
	due := time.Now().Add(max(after, 0))
	switch {
	case b.closed:
	case b.timer == nil:
		// A failure has ended the run.
		b.timer, b.due = time.AfterFunc(max(after, 0), func() { _ = r.flush() }), due
	case due.Before(b.due):
		b.timer.Reset(max(after, 0))
		b.due = due
	}
}

// take returns what is to be written, numbered, and how many steps have ended with it.
func (b *buffer) take(t Task) (e Entry, ended int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.joinText()
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

// written notes that so many ends of steps are durable.
func (b *buffer) written(ended int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.durable = ended
}

// close makes sure that no timer is left.
func (b *buffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// flush writes what was gathered, after what is just being written. A failure ends the run, and nothing is written
// after it: a journal has no holes.
func (r *Run) flush() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	entry, ended := r.events.take(r.task)
	if r.broken != nil || entry.Empty() {
		return r.broken
	}
	err := r.retry(func(ctx context.Context) error { return r.engine.store.RecordTask(ctx, r.task.Fence(), entry) })
	if err != nil {
		r.broken = err
		r.cancel(err)
		return err
	}
	r.events.written(ended)
	r.engine.hub.wake(r.task.ID, r.task.Key, nil)
	r.engine.bus.add(r.engine.peers(), Hint{Task: r.task.ID, Key: r.task.Key, Seq: r.events.last()})
	return nil
}

// last returns the number of the last event.
func (b *buffer) last() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seq
}
