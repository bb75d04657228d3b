package processor

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// extraThreads is the number of threads for requests. With one, a search would make all other requests wait.
	extraThreads = 2
	// idleTime is how long the threads are kept after the last computation. A change stops all goroutines for a moment.
	idleTime = 10 * time.Second
)

var extra = &threads{}

// threads adds threads to the scheduler while there are computations. The zero value does nothing.
type threads struct {
	used  atomic.Bool // since the last check
	added atomic.Bool

	mu   sync.Mutex
	base int
	set  func(n int) // nil unless enabled
}

func (t *threads) enable(base int, set func(n int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base, t.set = base, set
}

// use is called whenever a computation starts or continues.
func (t *threads) use() {
	if !t.used.Load() {
		t.used.Store(true)
	}
	if t.added.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.set == nil || t.added.Load() {
		return
	}
	t.added.Store(true)
	t.set(t.base + extraThreads)
	time.AfterFunc(idleTime, t.check)
}

// check removes the threads if they have not been used since the last check.
func (t *threads) check() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used.Swap(false) {
		time.AfterFunc(idleTime, t.check)
		return
	}
	t.added.Store(false)
	t.set(t.base)
}
