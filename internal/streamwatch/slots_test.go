package streamwatch_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"carrel/internal/core"
	"carrel/internal/streamwatch"
)

func TestSlotsAreCountedPerCredential(t *testing.T) {
	t.Parallel()
	s := streamwatch.NewSlots(2)
	first, err := s.Take("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take("a"); core.AsError(err).Code != "rate_limited" || core.AsError(err).RetryAfter <= 0 {
		t.Errorf("a third stream: %v", err)
	}
	if _, err := s.Take("b"); err != nil {
		t.Errorf("another credential: %v", err)
	}
	first()
	first() // twice must not free two slots
	if s.Open() != 2 {
		t.Errorf("%d are open", s.Open())
	}
	if _, err := s.Take("a"); err != nil {
		t.Errorf("after a stream ended: %v", err)
	}
	if _, err := s.Take("a"); err == nil {
		t.Error("releasing twice freed two slots")
	}
}

func TestSlotsUnderConcurrentUse(t *testing.T) {
	t.Parallel()
	const limit = 10
	s := streamwatch.NewSlots(limit)
	var now, most atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 300 {
				release, err := s.Take("a")
				if err != nil {
					continue
				}
				for n := now.Add(1); ; {
					was := most.Load()
					if n <= was || most.CompareAndSwap(was, n) {
						break
					}
				}
				now.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if most.Load() > limit || s.Open() != 0 {
		t.Errorf("%d were open at once and %d are left", most.Load(), s.Open())
	}
}
