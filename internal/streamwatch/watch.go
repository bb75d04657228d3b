// Package streamwatch looks after what stays open for long, such as streams, in rounds for all of them: a timer each, and a look
// each at what is the same for many, is most of what a thousand idle clients would cost.
package streamwatch

import (
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// atOnce is how many looks of a round are under way together. One that waits for the database does not hold up the others,
// and a round does not take all of the database's connections.
const atOnce = 8

// Watch holds those that are looked after, by what they have in common. It has no goroutine and no timer while there are
// none.
type Watch[M comparable] struct {
	every time.Duration
	look  func(key string, members []M)

	mu      sync.Mutex
	members map[string]map[M]struct{}
	// timer is that of the next round, and nil while there is none to come.
	timer *time.Timer
}

// New returns a watch that looks once a round for each key, at all who have joined under it. Rounds are this far apart,
// from the end of one to the begin of the next, so a look must end by itself. Two keys may be looked at together.
func New[M comparable](every time.Duration, look func(key string, members []M)) *Watch[M] {
	return &Watch[M]{every: every, look: look, members: map[string]map[M]struct{}{}}
}

// Join has a member looked after until it leaves.
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

// Leave ends what Join began. A round that is under way may still look at the member once.
func (w *Watch[M]) Leave(key string, m M) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members[key], m)
	if len(w.members[key]) == 0 {
		delete(w.members, key)
	}
}

// round looks once at everybody, and sees to the next round.
func (w *Watch[M]) round() {
	var looks errgroup.Group
	looks.SetLimit(atOnce)
	for _, key := range w.keys() {
		if members := w.under(key); len(members) > 0 {
			looks.Go(func() error {
				w.look(key, members)
				return nil
			})
		}
	}
	_ = looks.Wait() // a look has no error
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

func (w *Watch[M]) under(key string) []M {
	w.mu.Lock()
	defer w.mu.Unlock()
	members := make([]M, 0, len(w.members[key]))
	return slices.AppendSeq(members, maps.Keys(w.members[key]))
}
