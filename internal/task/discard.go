package task

import "encoding/json"

// Mark returns the position after all that the run has told its readers so far. What it tells next comes after it.
func (r *Run) Mark() Position {
	b := &r.events
	b.mu.Lock()
	defer b.mu.Unlock()
	b.joinText() // what is gathered belongs before the mark, and may not share an event with what follows
	return Position{Number: r.task.Number, Seq: b.seq + int64(len(b.events))}
}

// Discard has readers drop what came after a mark, which may be one of an earlier attempt: what follows takes its place.
func (r *Run) Discard(after Position) {
	payload, _ := json.Marshal(map[string]string{"discardAfter": after.String()}) // strings always marshal
	r.Emit(EventRestarted, payload)
}
