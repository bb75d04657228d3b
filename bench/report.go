package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Targets in addition to the ratios.
const (
	startTarget = 40 * time.Millisecond
	idleTarget  = 35 << 20
)

// report is the result of a run of `bench requests`.
type report struct {
	options     options
	contestants []*contestant
	results     []result
	notes       []string
	when        time.Time
	run         runFlags
}

// result is one scenario. The slices are in the order of the contestants.
type result struct {
	scenario  scenario
	rounds    [][]sample
	summaries []summary
	ratios    []float64 // one per round; empty if only one server ran
}

func newReport(run runFlags, o options, all []*contestant) *report {
	return &report{run: run, options: o, contestants: all, when: time.Now()}
}

// table is a titled grid of cells, rendered as text or Markdown.
type table struct {
	title string
	head  []string
	rows  [][]string
}

// verdict formats whether a target is met, in searchable words.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT met"
}

// ratioTable compares the throughput of both servers.
func (r *report) ratioTable() table {
	t := table{
		title: "Carrel / PocketBase, requests per second",
		head:  []string{"scenario", "ratio", "target", "", "lowest–highest round", "by server CPU/request"},
	}
	for _, res := range r.results {
		if len(res.ratios) == 0 {
			continue
		}
		middle := median(res.ratios)
		t.rows = append(t.rows, []string{
			res.scenario.title,
			fmt.Sprintf("%.1f×", middle),
			fmt.Sprintf("≥ %.0f×", res.scenario.target),
			verdict(middle >= res.scenario.target),
			spread(res.ratios),
			res.cpuRatio(),
		})
	}
	return t
}

// cpuRatio returns PocketBase's CPU time per request relative to Carrel's. It is less affected by a busy machine than
// the throughput, and has no target.
func (r result) cpuRatio() string {
	if len(r.summaries) != 2 || r.summaries[0].cpu == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f×", float64(r.summaries[1].cpu)/float64(r.summaries[0].cpu))
}

// loadTable has a row per scenario and server.
func (r *report) loadTable() table {
	t := table{
		title: fmt.Sprintf("%d keep-alive connections, %d rounds of %s", r.options.connections,
			r.options.rounds, r.options.duration),
		head: []string{
			"scenario", "server", "requests/s", "p50", "p99", "server CPU/request",
			"client CPU/request", "allocations/request", "requests",
		},
	}
	for _, res := range r.results {
		for i, c := range r.contestants {
			s := res.summaries[i]
			t.rows = append(t.rows, []string{
				res.scenario.title, c.name(),
				fmt.Sprintf("%.0f", s.perSecond), milliseconds(s.p50), milliseconds(s.p99),
				fmt.Sprintf("%d µs", s.cpu.Microseconds()), fmt.Sprintf("%d µs", s.clientCPU.Microseconds()),
				fmt.Sprintf("%.0f", s.allocations), fmt.Sprint(s.requests),
			})
		}
	}
	return t
}

// footprintTable has the start time and memory of each server.
func (r *report) footprintTable() table {
	t := table{
		title: "Start and memory",
		head: []string{
			"server", "start to first 200 (median)", "fastest–slowest", "target", "", "idle memory",
			"target", "", "memory after the load",
		},
	}
	for _, c := range r.contestants {
		start := median(c.starts)
		row := []string{
			c.name(), milliseconds(start),
			milliseconds(slices.Min(c.starts)) + "–" + milliseconds(slices.Max(c.starts)), "", "",
			megabytes(c.idle), "", "", megabytes(c.loaded),
		}
		if c.name() == "Carrel" {
			row[3], row[4] = "≤ "+milliseconds(startTarget), verdict(start <= startTarget)
			row[6], row[7] = "≤ "+megabytes(idleTarget), verdict(c.idle <= idleTarget)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// conditions lists the conditions under which this run can be compared with another.
func (r *report) conditions() []string {
	names := make([]string, len(r.contestants))
	for i, c := range r.contestants {
		names[i] = c.name()
	}
	out := []string{
		fmt.Sprintf("%d rows of %d characters a collection; every reply is checked (status 200, its rows).", r.options.rows,
			textLength),
	}
	if len(names) > 1 {
		out = append(out,
			strings.Join(names, " and ")+" take turns, one is asked at a time; the ratio is the median of the rounds' ratios.")
	}
	return r.run.conditions(r.when, append(out, r.notes...)...)
}

// machine describes the machine and the time of a run.
func machine(when time.Time) string {
	return fmt.Sprintf("%s; %s, %s/%s, %d processors, %s; the load generator runs on the same machine, over loopback.",
		when.UTC().Format("2006-01-02 15:04 UTC"), runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), cpuModel())
}

// conditions returns the circumstances of a run: the machine, the given lines and the load average before it.
func (r runFlags) conditions(when time.Time, lines ...string) []string {
	out := append([]string{machine(when)}, lines...)
	if r.loadBefore != "" {
		out = append(out, "Load average before the run: "+r.loadBefore+
			". If it is far above 0, other programs used the processors: trust the ratios, not the rates.")
	}
	return out
}

func (r *report) page() page {
	return newPage("Carrel and PocketBase", r.conditions(), r.ratioTable(), r.loadTable(), r.footprintTable())
}

// page is a report that can be printed.
type page struct {
	title      string
	tables     []table
	conditions []string
}

// newPage returns a page with the tables that have rows.
func newPage(title string, conditions []string, tables ...table) page {
	tables = slices.DeleteFunc(tables, func(t table) bool { return len(t.rows) == 0 })
	return page{title: title, tables: tables, conditions: conditions}
}

// newTargetTable returns a table of measured values and their targets.
func newTargetTable() table {
	return table{title: "Targets", head: []string{"Carrel", "measured", "target", ""}}
}

func (t *table) addTarget(what, measured, target string, met bool) {
	t.rows = append(t.rows, []string{what, measured, target, verdict(met)})
}

// carrelSettings describes the server in the conditions of a report.
const carrelSettings = "Carrel: the built binary with CARREL_RATE_LIMITS=off, no limit of concurrent turns and " +
	"CARREL_LOG_LEVEL=warn, otherwise default settings."

// spread formats the lowest and the highest ratio.
func spread(ratios []float64) string {
	return fmt.Sprintf("%.1f×–%.1f×", slices.Min(ratios), slices.Max(ratios))
}

// writeText writes the report for a terminal.
func (p page) writeText(w io.Writer) error {
	for _, t := range p.tables {
		fmt.Fprintf(w, "\n%s\n", t.title)
		tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		for _, row := range append([][]string{t.head}, t.rows...) {
			fmt.Fprintln(tw, "  "+strings.Join(row, "\t"))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, line := range p.conditions {
		fmt.Fprintln(w, "  "+line)
	}
	return nil
}

// writeMarkdown writes the report as Markdown.
func (p page) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.title)
	for _, t := range p.tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.title)
		fmt.Fprintf(&b, "| %s |\n", strings.Join(t.head, " | "))
		b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
		for _, row := range t.rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	b.WriteString("\n## Conditions\n\n")
	for _, line := range p.conditions {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms >= 10 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.2f ms", ms)
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }

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
