package task

import (
	"sync"
	"time"

	"carrel/internal/core"
)

// hints gathers what other nodes may want to know, so that many events are one notification.
type hints struct {
	// self is how this process knows its own hints.
	self string
	mu   sync.Mutex
	// waiting holds the newest event of each task.
	waiting map[string]Hint
	arrived chan struct{}
}

func newHints() *hints {
	return &hints{self: core.NewSeed(), waiting: map[string]Hint{}, arrived: make(chan struct{}, 1)}
}

// add notes a hint, unless nobody is there to hear it.
func (h *hints) add(peers int, hint Hint) {
	if peers == 0 {
		return
	}
	h.mu.Lock()
	if old, ok := h.waiting[hint.Task]; !ok || hint.Seq > old.Seq {
		h.waiting[hint.Task] = hint
	}
	h.mu.Unlock()
	select {
	case h.arrived <- struct{}{}:
	default:
	}
}

// take returns what was gathered.
func (h *hints) take() []Hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Hint, 0, len(h.waiting))
	for _, hint := range h.waiting {
		out = append(out, hint)
	}
	clear(h.waiting)
	return out
}

// hintGap is how long hints wait for others.
const hintGap = 10 * time.Millisecond

// sendHints sends what is gathered. A hint that can't be sent is dropped: everybody polls.
func (e *Engine) sendHints() {
	for {
		select {
		case <-e.bus.arrived:
		case <-e.loops.Done():
			return
		}
		if !e.sleep(e.loops, hintGap) {
			return
		}
		if err := e.store.NotifyTasks(e.loops, e.bus.self, e.bus.take()); err != nil && e.loops.Err() == nil {
			e.log.DebugContext(e.loops, "hints were dropped", "error", err)
		}
	}
}

// listenAgain is the time between two attempts to listen.
const listenAgain = time.Second

// listen hears the hints of other nodes and listens again when the connection was lost.
func (e *Engine) listen() {
	for {
		err := e.store.ListenTasks(e.loops, e.bus.self, e.heard)
		if err == nil || e.loops.Err() != nil {
			return
		}
		e.log.WarnContext(e.loops, "hints of other nodes are not heard; polling goes on", "error", err)
		if !e.sleep(e.loops, listenAgain) {
			return
		}
	}
}

// heard acts on a hint.
func (e *Engine) heard(h Hint) {
	if h.Task == "" {
		e.backlog.Store(true)
		e.nudge()
		return
	}
	e.hub.wake(h.Task, h.Key, nil)
	// Others have but one reason to tell us of a task that runs here: its end is wanted.
	if e.runsHere(h.Task) {
		e.nudgeDue()
	}
}
