package processor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestComputationsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := make(pool, 1)
		if err := p.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		var turns []string
		go func() {
			if err := p.acquire(t.Context()); err != nil {
				t.Error(err)
			}
			turns = append(turns, "other")
			p.release()
		}()
		synctest.Wait() // until the other computation waits
		p.yield()
		turns = append(turns, "own")
		p.release()
		if want := []string{"other", "own"}; !slices.Equal(turns, want) {
			t.Errorf("turns %v, want %v", turns, want)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	p := make(pool, 1)
	if err := p.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without a free slot: %v", err)
	}
	p.release()
	if err := p.acquire(t.Context()); err != nil {
		t.Errorf("with a free slot: %v", err)
	}
}

func TestThreadsAreAddedWhileThereAreComputations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var x threads
		var counts []int
		seen := func() []int {
			x.mu.Lock()
			defer x.mu.Unlock()
			return slices.Clone(counts)
		}
		x.use() // before it is enabled, as in commands other than serve
		x.enable(2, func(n int) { counts = append(counts, n) })
		x.use()
		time.Sleep(idleTime / 2)
		x.use()
		time.Sleep(idleTime) // past the first check
		synctest.Wait()
		if got, want := seen(), []int{4}; !slices.Equal(got, want) {
			t.Errorf("threads during computations: %v, want %v", got, want)
		}
		time.Sleep(2 * idleTime)
		synctest.Wait()
		if got, want := seen(), []int{4, 2}; !slices.Equal(got, want) {
			t.Errorf("threads after computations: %v, want %v", got, want)
		}
		x.use()
		if got, want := seen(), []int{4, 2, 4}; !slices.Equal(got, want) {
			t.Errorf("threads with another computation: %v, want %v", got, want)
		}
		time.Sleep(3 * idleTime)
	})
}

// TestComputationsAddThreads is not parallel, because GOMAXPROCS is that of all tests.
func TestComputationsAddThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer func(x *threads) {
		extra = x
		runtime.GOMAXPROCS(before)
	}(extra)
	extra = &threads{}
	compute := func() int {
		if err := Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer Release()
		return runtime.GOMAXPROCS(0)
	}
	t.Setenv("GOMAXPROCS", "1")
	AddThreads()
	if got := compute(); got != before {
		t.Errorf("%d threads although the environment sets GOMAXPROCS, want %d", got, before)
	}
	t.Setenv("GOMAXPROCS", "")
	AddThreads()
	if got := compute(); got <= Slots() {
		t.Errorf("%d threads for %d slots", got, Slots())
	}
}
