package main

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
	"time"
)

func TestGrowthComparesTheSmallestWithTheLargestSize(t *testing.T) {
	t.Parallel()
	got := testGrowth().table(testGrowth().results[0])
	for i, want := range []string{
		"flat|1.00 ms|1.00 ms|1.00 ms|2.00 ms|1.0×|met|███",
		"logarithmic|1.00 ms|1.50 ms|2.00 ms|4.00 ms|2.0×|met|▄▆█",
		"linear|1.00 ms|10 ms|100 ms|200 ms|100.0×|NOT met|▁▁█",
	} {
		if row := strings.Join(got.rows[i], "|"); row != want {
			t.Errorf("%s, want %s", row, want)
		}
	}
	if len(got.head) != len(got.rows[0]) {
		t.Errorf("%d headings for %d columns", len(got.head), len(got.rows[0]))
	}
}

// testGrowth returns costs of which two are met and one is not.
func testGrowth() *growthRun {
	cost := func(times ...time.Duration) (out []growthCost) {
		for _, cpu := range times {
			out = append(out, growthCost{cpu: cpu, p50: 2 * cpu})
		}
		return out
	}
	return &growthRun{
		settings: &growthSettings{levels: []int{1, 10, 100}},
		results: []growthResult{{
			database: "SQLite", operations: []string{"flat", "logarithmic", "linear"},
			costs: map[string][]growthCost{
				"flat":        cost(time.Millisecond, time.Millisecond, time.Millisecond),
				"logarithmic": cost(time.Millisecond, 1500*time.Microsecond, 2*time.Millisecond),
				"linear":      cost(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond),
			},
		}},
	}
}

func TestGrowthChartHasEveryOperation(t *testing.T) {
	t.Parallel()
	chart := testGrowth().chart()
	if err := xml.Unmarshal([]byte(chart), new(struct{})); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		">flat<": 1, ">logarithmic<": 1, ">linear<": 1, "<circle": 9, `<circle class="missed"`: 3, ">100.0×<": 1,
		">1ms<": 1, ">100ms<": 1,
	} {
		if got := strings.Count(chart, want); got != times {
			t.Errorf("%s occurs %d times, want %d", want, got, times)
		}
	}
}

// Copies are numbered on, so that a row and its copy can be copied again.
func TestGrowthMultipliesRows(t *testing.T) {
	t.Parallel()
	c := &carrel{dir: t.TempDir()}
	if err := os.Mkdir(c.dataDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	g := &growthData{carrel: c, longThread: "t"}
	err := g.runSQL(t.Context(),
		`CREATE TABLE thread (id TEXT PRIMARY KEY, next_seq INTEGER)`,
		`CREATE TABLE message (id TEXT PRIMARY KEY, thread_id TEXT, seq INTEGER UNIQUE, created_at INTEGER)`,
		`CREATE TABLE audit_head (seq INTEGER)`, `CREATE TABLE audit (seq INTEGER PRIMARY KEY)`,
		`INSERT INTO thread VALUES ('t', 3)`,
		`INSERT INTO message VALUES ('a', 't', 1, 5), ('b', 't', 2, 5), ('later', 't', 3, 6)`)
	if err != nil {
		t.Fatal(err)
	}
	copies := []rowCopy{{"message", "created_at <= 5", map[string]string{
		"id": newID("id"), "seq": "seq + #n * (SELECT max(seq) + 1 FROM message)",
	}}}
	for _, factor := range []int{1, 5, 2} {
		if err := g.multiply(t.Context(), factor, copies); err != nil {
			t.Fatal(err)
		}
	}
	db, err := g.openSQLite()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows, last, next int
	if err := db.QueryRow(`SELECT count(*), max(seq), (SELECT next_seq FROM thread) FROM message`).
		Scan(&rows, &last, &next); err != nil {
		t.Fatal(err)
	}
	if rows != 2*5*2+1 || next != last+1 {
		t.Errorf("%d rows up to %d, then %d; want 21 rows", rows, last, next)
	}
}

func TestGrowthRefusesSizesThatShrink(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-levels", "10,1"},
		{"-levels", "1,1"},
		{"-levels", "2,3"},
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
