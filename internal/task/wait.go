package task

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"carrel/internal/core"
)

// lastLook bounds the read with which a wait that ran out ends.
const lastLook = 2 * time.Second

// Wait returns the task once it has ended. When the context ends first, the task is read once more and returned as it
// is, with the context's error unless it has ended by then.
func (e *Engine) Wait(ctx context.Context, id string) (Task, error) {
	w, done := e.hub.watch(topic{name: id})
	defer done()
	for {
		changed, ended := e.hub.next(w)
		if ended != nil {
			return *ended, nil
		}
		// A run of ours wakes us at its end; only what runs elsewhere must be looked up.
		if !e.runsHere(id) {
			if t, err := e.store.Task(ctx, id); err == nil && t.State.Ended() || core.IsKind(err, core.KindNotFound) {
				return t, err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
			defer cancel()
			t, err := e.store.Task(last, id)
			if err == nil && !t.State.Ended() {
				err = ctx.Err()
			}
			return t, err
		}
	}
}

// pageOfEvents is how many events are read at once.
const pageOfEvents = 256

// Subscribe yields the events of a task after the one with this number, and ends after the last. An error is yielded
// once, at the end; the reader comes back with the last number that it saw.
func (e *Engine) Subscribe(ctx context.Context, id string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if _, err := e.follow(ctx, id, after, func(ev Event) bool { return yield(ev, nil) }); err != nil {
			yield(Event{}, why(ctx, err))
		}
	}
}

// follow calls fn with a task's events until the last, or until fn returns false, which it reports.
func (e *Engine) follow(ctx context.Context, id string, after int64, fn func(Event) bool) (stopped bool, err error) {
	w, done := e.hub.watch(topic{name: id})
	defer done()
	for {
		changed, _ := e.hub.next(w)
		events, err := e.store.TaskEvents(ctx, id, after, pageOfEvents)
		if err != nil {
			return false, err
		}
		for _, ev := range events {
			if !fn(ev) {
				return true, nil
			}
			after = ev.Seq
			if ev.Kind == EventDone {
				return false, nil
			}
		}
		if len(events) == pageOfEvents {
			continue
		}
		if len(events) == 0 && !e.runsHere(id) {
			// The last event may have been seen before, or the task may be gone.
			t, err := e.store.Task(ctx, id)
			if err != nil {
				return false, err
			}
			if t.State.Ended() {
				more, err := e.store.TaskEvents(ctx, id, after, 1)
				if err != nil || len(more) == 0 {
					return false, err
				}
				continue
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// Stream yields the events of all tasks of a key after a position, in order, and waits for more until the context
// ends. Its error is yielded once, at the end.
func (e *Engine) Stream(ctx context.Context, key string, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w, done := e.hub.watch(topic{key: true, name: key})
		defer done()
		// The task in which the reader was cut off comes first.
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
					yield(Event{}, why(ctx, err))
				}
				if stopped || err != nil && !core.IsKind(err, core.KindNotFound) {
					return
				}
				number = t.Number
				continue
			case !core.IsKind(err, core.KindNotFound):
				yield(Event{}, why(ctx, err))
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

// why is what a reader is told: a query that its own context has cut off is no failure, and the context knows the reason.
func why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// pollWatched looks up what is followed here and runs elsewhere, all at once: hints may be lost.
func (e *Engine) pollWatched(ctx context.Context) error {
	ids, keys := e.hub.watched()
	elsewhere := ids[:0]
	for _, id := range ids {
		if !e.runsHere(id) {
			elsewhere = append(elsewhere, id)
		}
	}
	var errs []error
	for chunk := range slices.Chunk(elsewhere, pollChunk) {
		marks, err := e.store.TaskMarks(ctx, chunk)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, id := range chunk {
			m, found := marks[id]
			e.hub.poll(topic{name: id}, m, found)
		}
	}
	for chunk := range slices.Chunk(keys, pollChunk) {
		numbers, err := e.store.KeyMarks(ctx, chunk)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, key := range chunk {
			// A key without tasks is waited for, not gone.
			e.hub.poll(topic{key: true, name: key}, Mark{Seq: numbers[key]}, true)
		}
	}
	return errors.Join(errs...)
}

// pollChunk bounds how many topics are asked for in one statement.
const pollChunk = 500
