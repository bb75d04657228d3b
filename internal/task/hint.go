package task

import (
	"sync"
	"time"

	"carrel/internal/core"
)

// hints batches hints for other nodes, so that many events share one notification.
type hints struct {
	// self identifies this process, so that it ignores its own hints.
	self string
	mu   sync.Mutex
	// waiting holds the latest hint of each task.
	waiting map[string]Hint
	arrived chan struct{}
}

func newHints() *hints {
	return &hints{self: core.NewSeed(), waiting: map[string]Hint{}, arrived: make(chan struct{}, 1)}
}

// add queues a hint, unless there are no other nodes.
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

// take removes and returns the queued hints.
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

// hintBatchDelay is how long a hint waits for others to share its notification.
const hintBatchDelay = 10 * time.Millisecond

// sendHints sends queued hints. Failed hints are dropped, because every node also polls.
func (e *Engine) sendHints() {
	for {
		select {
		case <-e.hints.arrived:
		case <-e.loopCtx.Done():
			return
		}
		if !sleep(e.loopCtx, hintBatchDelay) {
			return
		}
		if err := e.store.NotifyTasks(e.loopCtx, e.hints.self, e.hints.take()); err != nil && e.loopCtx.Err() == nil {
			e.log.DebugContext(e.loopCtx, "hints were dropped", "error", err)
		}
	}
}

// listenRetryDelay is the pause before a lost connection is replaced.
const listenRetryDelay = time.Second

// listen receives the hints of other nodes, and reconnects after a lost connection.
func (e *Engine) listen() {
	for {
		err := e.store.ListenTasks(e.loopCtx, e.hints.self, e.handleHint)
		if err == nil || e.loopCtx.Err() != nil {
			return
		}
		e.log.WarnContext(e.loopCtx, "hints of other nodes cannot be received; polling continues", "error", err)
		if !sleep(e.loopCtx, listenRetryDelay) {
			return
		}
	}
}

func (e *Engine) handleHint(h Hint) {
	if h.Task == "" {
		e.backlog.Store(true)
		e.wakeClaim()
		return
	}
	e.hub.wake(h.Task, h.Key, nil)
	// Other nodes send hints for a task that runs here only to cancel it.
	if e.runsHere(h.Task) {
		e.wakeEndDue()
	}
}
