package task

import (
	"context"
	"encoding/json"
)

// reserve takes up to n places for tasks of a limited kind on this node. It returns their number and the lease id under
// which the tasks start. The caller must release the places once the tasks have started.
func (e *Engine) reserve(k Kind, n int) (owner string, places int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.accepting || e.lease.owner == "" {
		return "", 0
	}
	n = min(n, e.options.MaxRunning-len(e.runs))
	if k.MaxRunning > 0 {
		n = min(n, k.MaxRunning-e.reserved[k.Name]-e.runningOf(k.Name))
	}
	if n <= 0 {
		e.full[k.Name] = k.limited()
		return "", 0
	}
	e.reserved[k.Name] += n
	return e.lease.owner, n
}

// reserveNew takes a place for a new task and returns the lease id under which it starts, or "" if it must be queued:
// the node is full or shutting down, or other tasks of a limited kind are waiting for it.
func (e *Engine) reserveNew(k Kind) string {
	if k.limited() && e.isFull(k.Name) {
		return ""
	}
	owner, _ := e.reserve(k, 1)
	return owner
}

// release returns places. Tasks that found none meanwhile may now start.
func (e *Engine) release(k Kind, places int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reserved[k.Name] -= places; e.full[k.Name] {
		e.wakeClaim()
	}
}

// clearFull records that no task is waiting.
func (e *Engine) clearFull() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.full)
}

// isFull reports whether tasks of a limited kind may be waiting for a place on this node.
func (e *Engine) isFull(kind string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.full[kind]
}

// runningOf returns the number of tasks of a kind that run on this node. The caller holds mu.
func (e *Engine) runningOf(kind string) int {
	n := 0
	for _, r := range e.runs {
		if r.task.Kind == kind {
			n++
		}
	}
	return n
}

// limitedBatch is the maximum number of tasks of a limited kind claimed at once. It is small, so that new tasks find
// places while the queue is read.
const limitedBatch = 8

// claimLimited starts queued tasks of a limited kind, within the limits of the kind and of the node.
func (e *Engine) claimLimited(ctx context.Context, k Kind) error {
	owner, places := e.reserve(k, limitedBatch)
	if places == 0 {
		return nil
	}
	defer e.release(k, places)
	now := e.clock.Now()
	tasks, err := e.store.ClaimLimitedTasks(ctx, owner, k.Name, places, k.MaxPerUser, now, now.Add(k.Deadline))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		e.start(t, t.Attempt == 1)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.full[k.Name] = len(tasks) == places
	return nil
}

// queuedEvent returns the event with the position of a waiting task, or the zero Event if the task does not wait. The
// position is that of the last poll, so that many readers of a long queue share one query.
func (e *Engine) queuedEvent(ctx context.Context, w *watch, t Task, after int64) (Event, error) {
	if t.State != StateQueued || !e.kinds[t.Kind].limited() {
		return Event{}, nil
	}
	seen := e.hub.lastPoll(w)
	ahead, waits := seen.Ahead, seen.Queued
	if !waits {
		var err error
		if ahead, waits, err = e.QueuePosition(ctx, t); err != nil || !waits {
			return Event{}, err
		}
	}
	payload, _ := json.Marshal(map[string]int{"position": ahead}) // numbers always marshal
	return Event{
		TaskID: t.ID, Number: t.Number, Seq: after, Attempt: t.Attempt, Kind: EventQueued, Payload: payload,
	}, nil
}

// QueuePosition returns how many tasks are ahead of a task in the queue of its kind, and whether the task is waiting.
func (e *Engine) QueuePosition(ctx context.Context, t Task) (int, bool, error) {
	if t.State != StateQueued || !e.kinds[t.Kind].limited() {
		return 0, false, nil
	}
	ahead, err := e.store.QueuePositions(ctx, e.limited, []string{t.ID}, e.clock.Now())
	n, waits := ahead[t.ID]
	return n, waits, err
}
