package main

import (
	"math"
	"testing"
	"time"
)

func TestMedianIsTheMiddleAndIgnoresOneDisturbedRound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		values []float64
		want   float64
	}{
		"nothing":       {nil, 0},
		"one":           {[]float64{3}, 3},
		"odd, unsorted": {[]float64{9, 1, 3}, 3},
		"even":          {[]float64{4, 1, 2, 3}, 2.5},
		"an outlier":    {[]float64{3, 3.1, 2.9, 3, 0.01}, 3},
	} {
		if got := median(tc.values); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	values := []float64{3, 1, 2}
	median(values)
	if values[0] != 3 {
		t.Error("the caller's rounds were put in another order")
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, tc := range []struct {
		values []int
		p      float64
		want   int
	}{
		{nil, 50, 0},
		{[]int{7}, 1, 7},
		{[]int{7}, 99, 7},
		{[]int{1, 2}, 50, 1},
		{[]int{1, 2, 3}, 50, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 99.5, 100},
		{hundred, 100, 100},
		{hundred, 0, 1},
	} {
		if got := percentile(tc.values, tc.p); got != tc.want {
			t.Errorf("p%v of %d values: %d, want %d", tc.p, len(tc.values), got, tc.want)
		}
	}
}

// rounds of n requests of 1 ms in one second.
func roundsOf(counts ...int) []sample {
	out := make([]sample, len(counts))
	for i, n := range counts {
		out[i] = sample{elapsed: time.Second, latencies: make([]time.Duration, n)}
		for j := range n {
			out[i].latencies[j] = time.Millisecond
		}
	}
	return out
}

func TestSummaryTakesTheMedianRateAndTheTailOfAllRounds(t *testing.T) {
	t.Parallel()
	rounds := roundsOf(100, 90, 10)
	for i := range 10 {
		rounds[2].latencies[i] = time.Second // a disturbed round
	}
	got := summarise(rounds, spent{server: 400 * time.Millisecond, client: 200 * time.Millisecond})
	want := summary{
		requests:  200,
		perSecond: 90,
		p50:       time.Millisecond,
		p99:       time.Second,
		cpu:       2 * time.Millisecond,
		clientCPU: time.Millisecond,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := summarise(nil, spent{time.Second, time.Second, time.Second}); got != (summary{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestRatiosComparePairsOfRounds(t *testing.T) {
	t.Parallel()
	// The machine becomes three times faster; the ratio does not change.
	got := ratios(roundsOf(400, 800, 1200), roundsOf(100, 200, 300))
	if len(got) != 3 || math.Abs(median(got)-4) > 1e-9 {
		t.Errorf("got %v", got)
	}
	if got := ratios(roundsOf(5), roundsOf(0)); len(got) != 0 {
		t.Errorf("a round without an answer gave %v", got)
	}
}
