package main

import (
	"strings"
	"testing"
	"time"
)

func TestGrowthComparesTheSmallestWithTheLargestSize(t *testing.T) {
	t.Parallel()
	r := &growthRun{settings: &growthSettings{levels: []int{1, 10, 100}}}
	cost := func(times ...time.Duration) (out []growthCost) {
		for _, p50 := range times {
			out = append(out, growthCost{p50: p50, cpu: p50})
		}
		return out
	}
	got := r.table("SQLite", []string{"flat", "logarithmic", "linear"}, map[string][]growthCost{
		"flat":        cost(time.Millisecond, time.Millisecond, time.Millisecond),
		"logarithmic": cost(time.Millisecond, 1500*time.Microsecond, 2*time.Millisecond),
		"linear":      cost(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond),
	})
	for i, want := range []string{
		"flat|1.00 ms|1.00 ms|1.00 ms|1.00 ms|1.0×|met|███",
		"logarithmic|1.00 ms|1.50 ms|2.00 ms|2.00 ms|2.0×|met|▄▆█",
		"linear|1.00 ms|10 ms|100 ms|100 ms|100.0×|NOT met|▁▁█",
	} {
		if row := strings.Join(got.rows[i], "|"); row != want {
			t.Errorf("%s, want %s", row, want)
		}
	}
	if len(got.head) != len(got.rows[0]) {
		t.Errorf("%d headings for %d columns", len(got.head), len(got.rows[0]))
	}
}

func TestGrowthRefusesSizesThatShrink(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-levels", "10,1"},
		{"-levels", "1,1"},
		{"-levels", "0"},
		{"-levels", "x"},
		{"-rows", "10"},
		{"-databases", "mysql"},
		{"-users", "0"},
		{"-users", "1000"},
		{"-rows", "10000"},
	} {
		if _, err := parseGrowth(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	s, err := parseGrowth(nil)
	if err != nil || len(s.levels) != 3 || len(s.databases) != 2 {
		t.Errorf("%v, %v, %v", s.levels, s.databases, err)
	}
}

func TestMixedReportsPhasesAndTheEffectOfImports(t *testing.T) {
	t.Parallel()
	m := &mixed{
		settings: &mixedSettings{users: 2}, phases: []string{"Carrel", "during imports", "PocketBase"},
		names: []string{"search with counts"},
		times: map[string][]time.Duration{
			"Carrel search with counts":         {2 * time.Millisecond, time.Millisecond},
			"during imports search with counts": {5 * time.Millisecond},
		},
	}
	p := m.page(time.Now(), 100, nil)
	for i, want := range []string{
		"p99 of searches during imports, by the p99 without|2.5×|≤ 2×|NOT met",
		"search with counts|2|1.00 ms|2.00 ms|5.00 ms|5.00 ms|–|–|2.5×",
		"search with counts|▁▁██▁▁▁▁▁▁▁▁▁▁|▁▁▁▁▁█▁▁▁▁▁▁▁▁|▁▁▁▁▁▁▁▁▁▁▁▁▁▁",
	} {
		if row := strings.Join(p.tables[i].rows[0], "|"); row != want {
			t.Errorf("%s, want %s", row, want)
		}
	}
}
