package account

import (
	"testing"
	"time"
)

func TestAThrottleFillsUpAndStaysSmall(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	th := &throttle{burst: 2, every: 10 * time.Second}
	for i, want := range []time.Duration{0, 0, 10 * time.Second, 10 * time.Second} {
		if got := th.take(1, now); got != want {
			t.Errorf("take %d: %v, want %v", i, got, want)
		}
	}
	if got := th.take(1, now.Add(4*time.Second)); got != 6*time.Second {
		t.Errorf("later: %v", got)
	}
	if got := th.take(1, now.Add(10*time.Second)); got != 0 {
		t.Errorf("when there is one again: %v", got)
	}
	th.giveBack(1)
	if got := th.take(1, now.Add(10*time.Second)); got != 0 {
		t.Errorf("after one was given back: %v", got)
	}
	for key := range uint64(3 * maxBuckets) {
		th.take(key+10, now.Add(time.Duration(key)*time.Millisecond))
	}
	if n := len(th.buckets); n > maxBuckets {
		t.Errorf("it holds %d buckets", n)
	}
}
