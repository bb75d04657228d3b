package main

import (
	"slices"
	"testing"
)

func TestPlotShowsTheHighestOfAColumn(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]int64{
		"":         nil,
		"▁▁":       {0, 0},
		"▁▄█":      {0, 50, 100},
		"█▂█":      {1, 7, 0, 1, 7, 0},
		"▇▇▇▇▇▇▇█": {90, 90, 90, 90, 90, 90, 90, 100},
	} {
		if got := plot(values, max(len([]rune(want)), 1)); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

func TestSoakComparesTheSecondWithTheLastQuarter(t *testing.T) {
	t.Parallel()
	grows := func(from, to int64) []int64 {
		return slices.Concat(slices.Repeat([]int64{1}, 10), slices.Repeat([]int64{from}, 10),
			slices.Repeat([]int64{900}, 10), slices.Repeat([]int64{to}, 10))
	}
	for _, c := range []struct {
		from, to int64
		want     string
	}{{100, 100, "met"}, {100, 110, "met"}, {100, 111, "NOT met"}, {100, 20, "met"}} {
		row := soakRow("files", count, grows(c.from, c.to))
		if row[5] != c.want || row[1] != "1" || row[2] != "900" {
			t.Errorf("from %d to %d: %v", c.from, c.to, row)
		}
	}
}
