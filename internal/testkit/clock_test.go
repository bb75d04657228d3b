package testkit_test

import (
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

var _ core.Clock = (*testkit.Clock)(nil)

func TestClockStandsStillUntilMoved(t *testing.T) {
	t.Parallel()
	c := testkit.NewClock()
	start := c.Now()
	if got := c.Now(); !got.Equal(start) {
		t.Errorf("moved by itself from %v to %v", start, got)
	}
	if got, want := c.Advance(90*time.Minute), start.Add(90*time.Minute); !got.Equal(want) || !c.Now().Equal(want) {
		t.Errorf("Advance returned %v and Now %v, want %v", got, c.Now(), want)
	}
}

func TestClockReturnsUTCMilliseconds(t *testing.T) {
	t.Parallel()
	c := testkit.NewClock()
	c.Set(time.Date(2026, 3, 4, 5, 6, 7, 8_999_999, time.FixedZone("", 3600)))
	want := time.Date(2026, 3, 4, 4, 6, 7, 8_000_000, time.UTC)
	if got := c.Now(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.Advance(1500 * time.Microsecond); got != want.Add(time.Millisecond) {
		t.Errorf("got %v, want %v", got, want.Add(time.Millisecond))
	}
}

func TestClockAdvancesConcurrently(t *testing.T) {
	t.Parallel()
	c := testkit.NewClock()
	start := c.Now()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c.Advance(time.Second)
			c.Now()
		})
	}
	wg.Wait()
	if got := c.Now().Sub(start); got != 50*time.Second {
		t.Errorf("moved by %v, want 50 s", got)
	}
}
