package core_test

import (
	"testing"
	"time"

	"carrel/internal/core"
)

func TestTokenBucketAllowsABurstAndThenOnePerInterval(t *testing.T) {
	t.Parallel()
	b := core.TokenBucket{Burst: 3, Every: 10 * time.Second}
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	var full time.Time
	for _, step := range []struct {
		after  time.Duration
		ok     bool
		tokens float64
		wait   time.Duration
	}{
		{0, true, 2, 0},
		{0, true, 1, 0},
		{0, true, 0, 10 * time.Second},
		{0, false, 0, 10 * time.Second},
		{7500 * time.Millisecond, false, 0.75, 2500 * time.Millisecond},
		{10 * time.Second, true, 0, 10 * time.Second},
		{15 * time.Second, false, 0.5, 5 * time.Second},
		{time.Hour, true, 2, 0},
	} {
		now := start.Add(step.after)
		var ok bool
		full, ok = b.Take(full, now)
		tokens, wait := b.Tokens(full, now), b.Wait(full, now)
		if ok != step.ok || tokens != step.tokens || wait != step.wait {
			t.Errorf("after %s: %t, %v tokens, wait %s; want %+v", step.after, ok, tokens, wait, step)
		}
	}
	if got := b.Tokens(time.Time{}, start); got != 3 {
		t.Errorf("a new bucket has %v tokens", got)
	}
}
