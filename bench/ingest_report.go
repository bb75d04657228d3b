package main

import (
	"fmt"
	"slices"
	"time"
)

// Targets for imports.
const (
	linesTarget  = 12000 // documents per second on two cores
	textsTarget  = 50    // megabytes per minute
	pdfTarget    = 300 * time.Millisecond
	memoryTarget = 300 << 20
	// cores is the number of cores that the targets assume.
	cores = 2
)

// ingestReport is the result of a run of `bench ingest`.
type ingestReport struct {
	settings ingestSettings
	lines    filling // of JSON Lines
	texts    filling // of Markdown and HTML
	pdfs     []time.Duration
	peer     filling // FTS5 with the same lines
	when     time.Time
}

func (f filling) perSecond() float64 { return float64(f.documents) / f.wall.Seconds() }

// perCores returns the rate on two dedicated cores with perfectly parallel work. CPU time is less affected by other
// programs than wall time.
func (f filling) perCores() float64 { return cores * float64(f.documents) / f.cpu.Seconds() }

// minute converts a rate in documents per second to megabytes per minute.
func (f filling) minute(rate float64) float64 {
	return rate * 60 * float64(f.bytes) / (1 << 20) / float64(f.documents)
}

func (r *ingestReport) page() page {
	return newPage("Imports", r.conditions(), r.targetTable(), r.linesTable(), r.diskTable(), r.textsTable())
}

// targetTable compares the results with the targets, by wall time and by CPU time.
func (r *ingestReport) targetTable() table {
	t := table{title: "Targets", head: []string{"Carrel", "on the clock", "", "by CPU, two cores", "", "target"}}
	add := func(what, clock string, met bool, cpu, byCPU, target string) {
		t.rows = append(t.rows, []string{what, clock, verdict(met), cpu, byCPU, target})
	}
	add("JSON Lines, documents/s", fmt.Sprintf("%.0f", r.lines.perSecond()), r.lines.perSecond() >= linesTarget,
		fmt.Sprintf("%.0f", r.lines.perCores()), verdict(r.lines.perCores() >= linesTarget), fmt.Sprintf("≥ %d", linesTarget))
	if r.texts.documents > 0 {
		clock, cpu := r.texts.minute(r.texts.perSecond()), r.texts.minute(r.texts.perCores())
		add("Markdown and HTML, MB/min", fmt.Sprintf("%.0f", clock), clock >= textsTarget, fmt.Sprintf("%.0f", cpu),
			verdict(cpu >= textsTarget), fmt.Sprintf("≥ %d", textsTarget))
	}
	if len(r.pdfs) > 0 {
		add("a PDF of 14 pages, median of the import", milliseconds(median(r.pdfs)), median(r.pdfs) <= pdfTarget,
			"–", "", "≤ "+milliseconds(pdfTarget))
	}
	add(fmt.Sprintf("most memory while importing %d documents", r.lines.documents), megabytes(r.lines.peak),
		r.lines.peak < memoryTarget, "–", "", "< "+megabytes(memoryTarget))
	return t
}

// linesTable compares Carrel with FTS5.
func (r *ingestReport) linesTable() table {
	t := table{
		title: "JSON Lines",
		head:  []string{"", "documents", "wall", "documents/s", "CPU", "documents/CPU-s × 2", "CPU / Carrel's"},
	}
	for _, row := range []struct {
		what string
		filling
	}{{"Carrel", r.lines}, {"SQLite FTS5", r.peer}} {
		if row.documents == 0 {
			continue
		}
		t.rows = append(t.rows, []string{
			row.what, fmt.Sprint(row.documents), row.wall.Round(10 * time.Millisecond).String(),
			fmt.Sprintf("%.0f", row.perSecond()),
			row.cpu.String(), fmt.Sprintf("%.0f", row.perCores()), fmt.Sprintf("%.2f×", row.cpu.Seconds()/r.lines.cpu.Seconds()),
		})
	}
	return t
}

// diskTable shows the disk space of the JSON Lines.
func (r *ingestReport) diskTable() table {
	t := table{title: "Disk space of the JSON Lines", head: []string{"", "size", "bytes/document"}}
	for _, row := range []struct {
		what string
		size int64
	}{{"database with its write-ahead log", r.lines.database}, {"index", r.lines.index}, {"originals", r.lines.originals}} {
		t.rows = append(t.rows, []string{
			row.what, megabytes(row.size), fmt.Sprintf("%.0f", float64(row.size)/float64(max(1, r.lines.documents))),
		})
	}
	return t
}

func (r *ingestReport) textsTable() table {
	t := table{title: "Files", head: []string{"", "files", "size", "wall", "CPU"}}
	if f := r.texts; f.documents > 0 {
		t.rows = append(t.rows, []string{
			"Markdown and HTML, half each", fmt.Sprint(f.documents), megabytes(f.bytes),
			f.wall.Round(10 * time.Millisecond).String(), f.cpu.String(),
		})
	}
	if len(r.pdfs) > 0 {
		t.rows = append(t.rows, []string{
			"PDF", fmt.Sprint(len(r.pdfs)), "",
			milliseconds(slices.Min(r.pdfs)) + "–" + milliseconds(slices.Max(r.pdfs)) + " each", "–",
		})
	}
	return t
}

func (r *ingestReport) conditions() []string {
	out := []string{
		fmt.Sprintf("Documents %s; SQLite. JSON Lines and PDF files are uploaded over the API, Markdown and HTML are read "+
			"from a folder. An import ends when its last document is searchable, that of a PDF when it is stored.",
			r.settings.origin()),
		carrelSettings + " Memory is the peak resident size (VmHWM), including mapped pages of its own files.",
	}
	if r.peer.documents > 0 {
		out = append(out,
			"SQLite FTS5 parses the same lines with encoding/json, stores and indexes them with synchronous = FULL, "+
				"500 per transaction, with the Porter stemmer, in one process and one connection. "+
				"It has no upload and no change log.")
	}
	return r.settings.conditions(r.when, out...)
}
