package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Targets with a million documents on two processors.
const (
	targetSize   = 1_000_000
	targetP50    = 10 * time.Millisecond
	targetP99    = 50 * time.Millisecond
	targetFilter = 1.15 // with a year filter, relative to without
	targetRate   = 10_000
	targetMemory = 1 << 30
)

func (c *comparison) page() page {
	tables := append([]table{c.targetTable(), c.latencyTable(), c.indexTable(), c.memoryTable()}, c.quality.tables()...)
	tables = slices.DeleteFunc(tables, func(t table) bool { return len(t.rows) == 0 })
	return page{title: "Carrel's search beside Bleve and SQLite FTS5", tables: tables, notes: c.notes()}
}

// own returns Carrel's result with the same number of documents.
func (c *comparison) own(size int) (result, bool) {
	for _, r := range c.results {
		if r.kind.key == ours && r.size == size {
			return r, true
		}
	}
	return result{}, false
}

// ratio divides a value of a result by Carrel's.
func (c *comparison) ratio(r result, of func(result) float64) string {
	own, ok := c.own(r.size)
	if !ok || of(own) == 0 {
		return "–"
	}
	return times(of(r) / of(own))
}

// targetTable compares the results with the targets; it is empty without a run of the target size.
func (c *comparison) targetTable() table {
	t := table{title: "Carrel with " + count(targetSize) + " documents", head: []string{"", "reached", "target", ""}}
	own, ok := c.own(targetSize)
	if !ok {
		return t
	}
	plain, years := own.times("plain"), own.times("years")
	p50, p99 := percentile(plain, 50), percentile(plain, 99)
	slower := float64(percentile(years, 50)) / float64(p50)
	rate := own.built.rate(own.size)
	t.rows = [][]string{
		{"p50", milliseconds(p50), "≤ " + milliseconds(targetP50), verdict(p50 <= targetP50)},
		{"p99", milliseconds(p99), "≤ " + milliseconds(targetP99), verdict(p99 <= targetP99)},
		{
			"p50 of 2015–2020 / plain", fmt.Sprintf("%.2f", slower),
			fmt.Sprintf("≤ %.2f", targetFilter), verdict(slower <= targetFilter),
		},
		{"documents/s indexed", count(int(rate)), "≥ " + count(targetRate), verdict(rate >= targetRate)},
		{
			"resident memory", megabytes(own.served.Memory.Resident), "≤ " + megabytes(targetMemory),
			verdict(own.served.Memory.Resident <= targetMemory),
		},
	}
	return t
}

// latencyTable has a row per size, workload and engine.
func (c *comparison) latencyTable() table {
	t := table{
		title: "Latency, one question at a time",
		head:  []string{"documents", "workload", "engine", "queries", "p50", "p90", "p99", "p50 / Carrel's"},
	}
	for _, size := range c.settings.sizes {
		for _, w := range workloads {
			for _, r := range c.results {
				if r.size != size {
					continue
				}
				all := r.times(w.key)
				t.rows = append(t.rows, []string{
					count(size), w.title, r.kind.title, count(len(all)),
					milliseconds(percentile(all, 50)), milliseconds(percentile(all, 90)), milliseconds(percentile(all, 99)),
					c.ratio(r, func(r result) float64 { return float64(percentile(r.times(w.key), 50)) }),
				})
			}
		}
	}
	return t
}

// indexTable shows the cost of building an index.
func (c *comparison) indexTable() table {
	t := table{
		title: "Indexing",
		head:  []string{"documents", "engine", "documents/s", "/ Carrel's", "index size", "/ Carrel's", "most memory"},
	}
	for _, r := range c.results {
		t.rows = append(t.rows, []string{
			count(r.size), r.kind.title,
			count(int(r.built.rate(r.size))), c.ratio(r, func(r result) float64 { return r.built.rate(r.size) }),
			megabytes(r.built.Bytes), c.ratio(r, func(r result) float64 { return float64(r.built.Bytes) }),
			megabytes(r.built.Memory.Peak),
		})
	}
	return t
}

// memoryTable shows the memory of a process that opens an index and runs queries.
func (c *comparison) memoryTable() table {
	t := table{
		title: "Serving",
		head:  []string{"documents", "engine", "open", "first answer", "resident memory", "of it mapped files", "/ Carrel's"},
	}
	for _, r := range c.results {
		t.rows = append(t.rows, []string{
			count(r.size), r.kind.title, milliseconds(r.served.Open), milliseconds(r.served.First),
			megabytes(r.served.Memory.Resident), megabytes(r.served.Memory.Mapped),
			c.ratio(r, func(r result) float64 { return float64(r.served.Memory.Resident) }),
		})
	}
	return t
}

// notes lists the conditions under which this run can be compared with another.
func (c *comparison) notes() []string {
	s := c.settings
	notes := []string{
		fmt.Sprintf("%s, %s; %s, %s/%s, %d processors, %s.",
			c.when.UTC().Format("2006-01-02 15:04 UTC"), c.took.Round(time.Second), runtime.Version(), runtime.GOOS,
			runtime.GOARCH, runtime.NumCPU(), cpuModel()),
		fmt.Sprintf(
			"Documents: %s, and beyond its own number copies that lack %.0f %% of the words and are up to %d years older.",
			s.corpus, dropped*100, yearShift-1),
		fmt.Sprintf("Questions: %d drawn from the original documents: titles as questions, two or three words of a title, "+
			"sentences of abstracts. %d hits each, one question at a time, after a round to warm up.", len(c.questions),
			pageOfHits),
		fmt.Sprintf("An engine has %s for a workload; one that needs more is asked fewer questions (column asked), and "+
			"below 100 of them p99 is the slowest.", s.budget),
	}
	for _, k := range s.engines {
		notes = append(notes, fmt.Sprintf("%s%s; with counts: %s.", k.title, version(k.key), k.counts))
	}
	notes = append(notes, "Every engine builds in one process and serves from another. Files are in the system's cache, "+
		"as after a restart of the server. No index stores texts.")
	if c.busy != "" {
		notes = append(notes, "Load average before the run: "+c.busy+". Far above 0, and others had the processors too: "+
			"trust the ratios, not the rates.")
	}
	return append(notes, c.quality.notes()...)
}

// version returns the version of a linked module.
func version(key string) string {
	module, ok := map[string]string{
		"bleve":        "github.com/blevesearch/bleve/v2",
		"bleve-fields": "github.com/blevesearch/bleve/v2",
		"fts5":         "modernc.org/sqlite",
	}[key]
	info, known := debug.ReadBuildInfo()
	if !ok || !known {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return " (" + m.Path + " " + m.Version + ")"
		}
	}
	return ""
}

// loadAverage returns the load average of the last minute, or "" if unknown.
func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	average, _, _ := strings.Cut(string(raw), " ")
	return average
}

// cpuModel returns the name of the processor, if known.
func cpuModel() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
