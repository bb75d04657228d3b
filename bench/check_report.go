package main

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// checkTarget is the target for the check of a text.
const checkTarget = 3 * time.Second

// checkReport is the result of a run of `bench check`.
type checkReport struct {
	settings  checkSettings
	documents int
	sentences int
	checks    summary
	searches  summary
	// counts are the states of each kind of sentence.
	counts   [sentenceKinds]map[string]int
	resident int64
	when     time.Time
}

func (r *checkReport) page() page {
	return newPage("Checking a text", r.conditions(), r.targetTable(), r.timeTable(), r.stateTable())
}

func (r *checkReport) targetTable() table {
	t := newTargetTable()
	t.addTarget(fmt.Sprintf("%d code points over %d documents, p50", r.settings.length, r.documents),
		milliseconds(r.checks.p50), "≤ "+milliseconds(checkTarget), r.checks.p50 <= checkTarget)
	return t
}

// timeTable compares a check with the searches for its sentences.
func (r *checkReport) timeTable() table {
	t := table{
		title: "Without a model, one at a time",
		head:  []string{"", "p50", "p99", "server CPU", "allocations", "asked", "a sentence", "/ search's"},
	}
	each := float64(r.sentences) / float64(max(1, r.checks.requests))
	for _, row := range []struct {
		what      string
		sentences float64
		summary
	}{{"search for a sentence, 20 results", 1, r.searches}, {"check of a text", each, r.checks}} {
		one := time.Duration(float64(row.p50) / max(1, row.sentences))
		ratio := "–"
		if r.searches.p50 > 0 {
			ratio = fmt.Sprintf("%.2f×", float64(one)/float64(r.searches.p50))
		}
		t.rows = append(t.rows, []string{
			row.what, milliseconds(row.p50), milliseconds(row.p99), fmt.Sprintf("%.1f ms", float64(row.cpu.Microseconds())/1000),
			fmt.Sprintf("%.0f", row.allocations), fmt.Sprint(row.requests), milliseconds(one), ratio,
		})
	}
	return t
}

// stateTable shows the states of each kind of sentence.
func (r *checkReport) stateTable() table {
	t := table{title: "States of the sentences", head: []string{""}}
	states := make(map[string]bool)
	for _, counts := range r.counts {
		for state := range counts {
			states[state] = true
		}
	}
	columns := slices.Sorted(maps.Keys(states))
	t.head = append(t.head, columns...)
	for i, what := range []string{"verbatim", "without every fourth word", "halves of two sentences"} {
		row := []string{what}
		for _, state := range columns {
			row = append(row, fmt.Sprint(r.counts[i][state]))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (r *checkReport) conditions() []string {
	return []string{
		fmt.Sprintf("%d documents %s, one source, SQLite; the server used %s after the run. "+
			"A text has %.0f sentences on average.",
			r.documents, r.settings.origin(), megabytes(r.resident), float64(r.sentences)/float64(max(1, r.checks.requests))),
		carrelSettings,
	}
}
