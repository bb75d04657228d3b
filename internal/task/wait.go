package task

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"carrel/internal/core"
)

// finalReadTimeout limits the last read of Wait, after its context has ended.
const finalReadTimeout = 2 * time.Second

// Wait returns the task once it has ended. If the context ends first, Wait reads the task once more and returns its
// current state, with the context's error unless the task has ended.
func (e *Engine) Wait(ctx context.Context, id string) (Task, error) {
	w, done := e.hub.watch(topic{name: id})
	defer done()
	for {
		changed, ended := e.hub.next(w)
		if ended != nil {
			return *ended, nil
		}
		// A run on this node wakes its watchers when it ends. Tasks on other nodes are read from the store.
		if !e.runsHere(id) {
			if t, err := e.store.Task(ctx, id); err == nil && t.State.Ended() || core.IsKind(err, core.KindNotFound) {
				return t, err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalReadTimeout)
			defer cancel()
			t, err := e.store.Task(last, id)
			if err == nil && !t.State.Ended() {
				err = ctx.Err()
			}
			return t, err
		}
	}
}

// eventPageSize is the number of events read at once.
const eventPageSize = 256

// Subscribe yields the events of a task with a sequence number above after, until the last. An error is yielded once,
// at the end; the caller can resume with the last number it received.
func (e *Engine) Subscribe(ctx context.Context, id string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if _, err := e.follow(ctx, id, after, func(ev Event) bool { return yield(ev, nil) }); err != nil {
			yield(Event{}, streamError(ctx, err))
		}
	}
}

// follow calls fn with a task's events, and with its position while it waits for a place. It returns after the last
// event, or when fn returns false, which it reports as stopped.
func (e *Engine) follow(ctx context.Context, id string, after int64, fn func(Event) bool) (stopped bool, err error) {
	w, done := e.hub.watch(topic{name: id})
	defer done()
	var position string // the payload of the last queued event
	for {
		changed, _ := e.hub.next(w)
		events, err := e.store.TaskEvents(ctx, id, after, eventPageSize)
		if err != nil {
			return false, err
		}
		for _, ev := range events {
			if stopped := !fn(ev); stopped || ev.Kind == EventDone {
				return stopped, nil
			}
			after, position = ev.Seq, ""
		}
		if len(events) == eventPageSize {
			continue
		}
		if len(events) == 0 && !e.runsHere(id) {
			queued, ended, err := e.checkIdle(ctx, w, id, after)
			if err != nil || ended {
				return false, err
			}
			if payload := string(queued.Payload); payload != position {
				position = payload
				if payload != "" && !fn(queued) {
					return true, nil
				}
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// checkIdle returns the position of a task without new events if it waits, and whether the task has ended and all its
// events were delivered. It wakes the watchers of a task that has ended with further events.
func (e *Engine) checkIdle(
	ctx context.Context, w *watch, id string, after int64,
) (queued Event, ended bool, err error) {
	t, err := e.store.Task(ctx, id)
	if err != nil {
		return Event{}, false, err
	}
	if !t.State.Ended() {
		queued, err = e.queuedEvent(ctx, w, t, after)
		return queued, false, err
	}
	events, err := e.store.TaskEvents(ctx, id, after, 1)
	if len(events) > 0 {
		e.hub.wake(id, t.Key, nil)
	}
	return Event{}, len(events) == 0, err
}

// Stream yields the events of all tasks of a key after a position, in order, and waits for new ones until the context
// ends. An error is yielded once, at the end.
func (e *Engine) Stream(ctx context.Context, key string, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w, done := e.hub.watch(topic{key: true, name: key})
		defer done()
		// Start with the task of the position itself: the reader may have left in the middle of it.
		number, seq := after.Number-1, after.Seq
		for {
			changed, _ := e.hub.next(w)
			t, err := e.store.NextTask(ctx, key, number)
			switch {
			case err == nil:
				if t.Number != after.Number {
					seq = 0
				}
				stopped, err := e.follow(ctx, t.ID, seq, func(ev Event) bool { return yield(ev, nil) })
				if err != nil && !core.IsKind(err, core.KindNotFound) {
					yield(Event{}, streamError(ctx, err))
				}
				if stopped || err != nil && !core.IsKind(err, core.KindNotFound) {
					return
				}
				number = t.Number
				continue
			case !core.IsKind(err, core.KindNotFound):
				yield(Event{}, streamError(ctx, err))
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// streamError returns the context's cause for a query that the context interrupted, else err.
func streamError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// pollRemote checks all tasks that are followed here and run on other nodes, because hints may be lost.
func (e *Engine) pollRemote(ctx context.Context) error {
	ids, keys := e.hub.watchedTopics()
	elsewhere := ids[:0]
	for _, id := range ids {
		if !e.runsHere(id) {
			elsewhere = append(elsewhere, id)
		}
	}
	var errs []error
	for chunk := range slices.Chunk(elsewhere, pollBatch) {
		marks, err := e.store.TaskProgress(ctx, chunk)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := e.pollQueue(ctx, marks); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, id := range chunk {
			m, found := marks[id]
			e.hub.poll(topic{name: id}, m, found)
		}
	}
	for chunk := range slices.Chunk(keys, pollBatch) {
		numbers, err := e.store.LatestTaskNumbers(ctx, chunk)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, key := range chunk {
			// A key without tasks has not been deleted; its first task may still come.
			e.hub.poll(topic{key: true, name: key}, Progress{Seq: numbers[key]}, true)
		}
	}
	return errors.Join(errs...)
}

// pollQueue adds the positions of queued tasks to their progress. A task without a position does not wait.
func (e *Engine) pollQueue(ctx context.Context, marks map[string]Progress) error {
	var queued []string
	for id, m := range marks {
		if m.Queued {
			queued = append(queued, id)
		}
	}
	if len(queued) == 0 {
		return nil
	}
	ahead, err := e.store.QueuePositions(ctx, e.limited, queued, e.clock.Now())
	for _, id := range queued {
		m := marks[id]
		m.Ahead, m.Queued = ahead[id]
		marks[id] = m
	}
	return err
}

// pollBatch is the maximum number of topics in one statement.
const pollBatch = 500
