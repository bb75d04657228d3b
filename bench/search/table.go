package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// table is a titled grid of cells, rendered as text or Markdown.
type table struct {
	title string
	head  []string
	rows  [][]string
}

// page is a report that can be printed.
type page struct {
	title  string
	tables []table
	notes  []string
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
	for _, line := range p.notes {
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
	for _, line := range p.notes {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict formats whether a target is met, in searchable words.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT met"
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.2f ms", ms)
	}
}

// megabytes formats bytes, or a dash if unknown.
func megabytes(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f MB", float64(n)/(1<<20))
}

// count formats a number with thousands separators.
func count(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// times formats a ratio.
func times(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.1f×", ratio)
}
