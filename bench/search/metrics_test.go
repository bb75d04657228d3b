package main

import (
	"math"
	"slices"
	"testing"
)

func TestNDCG(t *testing.T) {
	t.Parallel()
	second := 1 / math.Log2(3)
	for name, test := range map[string]struct {
		results []string
		grades  map[string]int
		k       int
		want    float64
	}{
		"the best order":             {[]string{"a", "b"}, map[string]int{"a": 2, "b": 1}, 10, 1},
		"a good one in second place": {[]string{"x", "a"}, map[string]int{"a": 1}, 10, second},
		"grades count exponentially": {
			[]string{"b", "a"}, map[string]int{"a": 2, "b": 1}, 10, (1 + 3*second) / (3 + second),
		},
		"one that is missing":           {[]string{"a"}, map[string]int{"a": 1, "b": 1}, 10, 1 / (1 + second)},
		"nothing behind k counts":       {[]string{"x", "a"}, map[string]int{"a": 1}, 1, 0},
		"the ideal is cut at k as well": {[]string{"a"}, map[string]int{"a": 1, "b": 1, "c": 1}, 1, 1},
		"no results":                    {nil, map[string]int{"a": 1}, 10, 0},
		"nothing relevant":              {[]string{"a"}, map[string]int{"a": 0}, 10, 0},
	} {
		if got := ndcg(test.results, test.grades, test.k); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestRecall(t *testing.T) {
	t.Parallel()
	grades := map[string]int{"a": 1, "b": 3, "c": 1, "d": 1, "seen": 0}
	for name, test := range map[string]struct {
		results []string
		k       int
		want    float64
	}{
		"half of them":            {[]string{"a", "x", "b"}, 10, 0.5},
		"irrelevant ones are not": {[]string{"seen", "x"}, 10, 0},
		"nothing behind k":        {[]string{"x", "a"}, 1, 0},
		"all":                     {[]string{"d", "c", "b", "a"}, 4, 1},
	} {
		if got := recall(test.results, grades, test.k); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := recall([]string{"a"}, nil, 10); got != 0 {
		t.Errorf("recall of nothing is %v", got)
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, test := range []struct {
		values []int
		p      float64
		want   int
	}{
		{hundred, 50, 50},
		{hundred, 90, 90},
		{hundred, 99, 99},
		{hundred, 100, 100},
		{hundred, 0, 1},
		{[]int{7}, 50, 7},
		{[]int{7}, 99, 7},
		{[]int{1, 2, 3}, 50, 2},
		{[]int{1, 2, 3, 4}, 99, 4},
		{nil, 50, 0},
	} {
		if got := percentile(test.values, test.p); got != test.want {
			t.Errorf("p%v of %d values is %d, want %d", test.p, len(test.values), got, test.want)
		}
	}
	if !slices.IsSorted(hundred) {
		t.Error("the values were changed")
	}
}

func TestMeanOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	if got := mean(nil); got != 0 {
		t.Errorf("mean of nothing is %v", got)
	}
	if got := mean([]float64{1, 2, 6}); got != 3 {
		t.Errorf("mean is %v, want 3", got)
	}
}

func TestMemoryIsReadFromTheProcessStatus(t *testing.T) {
	t.Parallel()
	status := "Name:\tsearch\nVmPeak:\t 9000 kB\nVmHWM:\t    3072 kB\nVmRSS:\t    2048 kB\nRssAnon:\t 1024 " +
		"kB\nRssFile:\t 1024 kB\nThreads:\t7\n"
	if got, want := parseMemory([]byte(status)), (memory{Resident: 2 << 20, Mapped: 1 << 20, Peak: 3 << 20}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
