package task

import "encoding/json"

// Mark returns the position after everything emitted so far. Later events come after it.
func (r *Run) Mark() Position {
	b := &r.events
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeDelta() // buffered text belongs before the mark and must not share an event with later text
	return Position{Number: r.task.Number, Seq: b.seq + int64(len(b.events))}
}

// Discard tells readers to drop the events after a mark, possibly of an earlier attempt. Later events replace them.
func (r *Run) Discard(after Position) {
	payload, _ := json.Marshal(map[string]string{"discardAfter": after.String()}) // strings always marshal
	r.Emit(EventRestarted, payload)
}
