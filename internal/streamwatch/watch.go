// Package streamwatch rechecks long-lived streams in rounds, and limits how many of them a credential may open. One
// timer and one check per credential for all streams keep thousands of idle clients cheap.
package streamwatch

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxConcurrent is the number of checks that run at the same time. A slow check does not delay the others, and a round
// does not use all database connections.
const maxConcurrent = 8

// Watch holds members, such as streams, grouped by key, such as their credential. Without members it has no goroutine
// and no timer.
type Watch[M comparable] struct {
	every time.Duration
	check func(key string, members []M)

	mu      sync.Mutex
	members map[string]map[M]struct{}
	// timer starts the next round; nil without members.
	timer *time.Timer
}

// New returns a watch that calls check once per round for each key, with all members of the key. The interval is from
// the end of a round to the start of the next, so check must return in bounded time. It may be called for several keys
// concurrently.
func New[M comparable](every time.Duration, check func(key string, members []M)) *Watch[M] {
	return &Watch[M]{every: every, check: check, members: map[string]map[M]struct{}{}}
}

// Join adds a member to a key.
func (w *Watch[M]) Join(key string, m M) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.members[key] == nil {
		w.members[key] = map[M]struct{}{}
	}
	w.members[key][m] = struct{}{}
	if w.timer == nil {
		w.timer = time.AfterFunc(w.every, w.round)
	}
}

// Leave removes a member. A round in progress may still pass it to check once.
func (w *Watch[M]) Leave(key string, m M) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members[key], m)
	if len(w.members[key]) == 0 {
		delete(w.members, key)
	}
}

// round checks every key once and starts the timer of the next round.
func (w *Watch[M]) round() {
	var checks errgroup.Group
	checks.SetLimit(maxConcurrent)
	for _, key := range w.keys() {
		if members := w.membersOf(key); len(members) > 0 {
			checks.Go(func() error {
				w.check(key, members)
				return nil
			})
		}
	}
	_ = checks.Wait() // checks return no errors
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.members) == 0 {
		w.timer = nil
		return
	}
	w.timer.Reset(w.every)
}

func (w *Watch[M]) keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.members))
}

func (w *Watch[M]) membersOf(key string) []M {
	w.mu.Lock()
	defer w.mu.Unlock()
	members := make([]M, 0, len(w.members[key]))
	return slices.AppendSeq(members, maps.Keys(w.members[key]))
}
