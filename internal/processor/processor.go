// Package processor shares the processors between long computations and short requests.
//
// Go's scheduler has no priorities. While a computation runs on each of its threads, the network is polled every 10 ms,
// and a request that takes microseconds then waits for time slices of 10 ms. Two rules prevent that. The long
// computations of all users and imports take a slot, of which there is one per processor. While there are computations,
// a server has more threads than slots, see [AddThreads]: the operating system gives a thread that wakes up for a
// request precedence over threads that have been computing.
package processor

import (
	"context"
	"os"
	"runtime"
)

// slots is sized before AddThreads changes GOMAXPROCS.
var slots = make(pool, runtime.GOMAXPROCS(0))

// Slots returns how many computations run at a time.
func Slots() int { return cap(slots) }

// Acquire waits for a slot. The caller yields it every few milliseconds.
func Acquire(ctx context.Context) error {
	extra.use()
	return slots.acquire(ctx)
}

// Release gives the caller's slot back.
func Release() { slots.release() }

// Yield lets the computations that wait for a slot take their turns.
func Yield() {
	extra.use()
	slots.yield()
}

// AddThreads makes the scheduler use more threads than there are slots while there are computations. Without
// computations the additional threads would only compete for requests, which costs a tenth of a short request. It does
// nothing if the environment sets GOMAXPROCS.
func AddThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		extra.enable(Slots(), func(n int) { runtime.GOMAXPROCS(n) })
	}
}

// pool is a semaphore that serves callers in their order.
type pool chan struct{}

func (p pool) acquire(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p pool) release() { <-p }

func (p pool) yield() {
	p.release()
	p <- struct{}{}
}
