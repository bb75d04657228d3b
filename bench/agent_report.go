package main

import (
	"fmt"
	"slices"
	"time"
)

// Targets for answers.
const (
	quoteTarget = 350 * time.Millisecond
	addedTarget = 0.05
)

// modelTurn is a turn with a model and the model's part of it.
type modelTurn struct {
	turn, model time.Duration
	calls       int
}

// added returns Carrel's share of the turn.
func (t modelTurn) added() float64 { return float64(t.turn-t.model) / float64(t.turn) }

// agentReport is the result of a run of `bench agent`.
type agentReport struct {
	settings  agentSettings
	documents int
	turns     summary
	searches  summary
	answered  answers
	resident  int64
	models    []modelTurn
	when      time.Time
}

func (r *agentReport) page() page {
	return newPage("Answers of an agent", r.conditions(), r.targetTable(), r.turnTable(), r.modelTable())
}

// targetTable compares the results with the targets.
func (r *agentReport) targetTable() table {
	t := newTargetTable()
	t.addTarget(fmt.Sprintf("a turn without a model over %d documents, p50", r.documents),
		milliseconds(r.turns.p50), "≤ "+milliseconds(quoteTarget), r.turns.p50 <= quoteTarget)
	if len(r.models) > 0 {
		share := median(r.shares())
		t.addTarget("Carrel's share of a turn with a model, median",
			percent(share), "≤ "+percent(addedTarget), share <= addedTarget)
	}
	return t
}

// turnTable compares a turn with a search for the same question.
func (r *agentReport) turnTable() table {
	t := table{
		title: "Without a model, one at a time",
		head:  []string{"", "p50", "p99", "server CPU", "allocations", "asked", "p50 / search's"},
	}
	for _, row := range []struct {
		what string
		summary
	}{{"search for the question, 20 results", r.searches}, {"turn", r.turns}} {
		ratio := "–"
		if r.searches.p50 > 0 {
			ratio = fmt.Sprintf("%.1f×", float64(row.p50)/float64(r.searches.p50))
		}
		t.rows = append(t.rows, []string{
			row.what, milliseconds(row.p50), milliseconds(row.p99), fmt.Sprintf("%.1f ms", float64(row.cpu.Microseconds())/1000),
			fmt.Sprintf("%.0f", row.allocations), fmt.Sprint(row.requests), ratio,
		})
	}
	return t
}

// modelTable splits the time of turns with a model into the model's and Carrel's.
func (r *agentReport) modelTable() table {
	t := table{
		title: fmt.Sprintf("With a model: %s to the first token, %s for each more",
			milliseconds(r.settings.first), milliseconds(r.settings.token)),
		head: []string{"turns", "calls a turn", "turn", "of it the model's", "Carrel's own", "share", "lowest–highest"},
	}
	if len(r.models) == 0 {
		return t
	}
	var turns, own []time.Duration
	calls := 0
	for _, m := range r.models {
		turns, own, calls = append(turns, m.turn), append(own, m.turn-m.model), calls+m.calls
	}
	shares := r.shares()
	t.rows = [][]string{{
		fmt.Sprint(len(turns)), fmt.Sprintf("%.1f", float64(calls)/float64(len(turns))), milliseconds(median(turns)),
		milliseconds(median(turns) - median(own)), milliseconds(median(own)), percent(median(shares)),
		percent(slices.Min(shares)) + "–" + percent(slices.Max(shares)),
	}}
	return t
}

func (r *agentReport) shares() []float64 {
	out := make([]float64, len(r.models))
	for i, m := range r.models {
		out[i] = m.added()
	}
	return out
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func (r *agentReport) conditions() []string {
	out := []string{
		fmt.Sprintf("%d documents %s, one source, SQLite; the server used %s after the run. "+
			"Each question has its own thread, over one connection, and its reply is the complete answer.",
			r.documents, r.settings.origin(), megabytes(r.resident)),
		fmt.Sprintf("Of %d questions without a model, %d were answered with quotes. "+
			"A third are titles phrased as questions, a third two or three words of a title, a third sentences of a text.",
			r.answered.all, r.answered.quoted),
		carrelSettings,
	}
	if len(r.models) > 0 {
		out = append(out, "Carrel's time is the turn over HTTP minus the time from each request's arrival at the model "+
			"to its last byte: network, parsing, searching, reading, checking and storing.")
	}
	return r.settings.conditions(r.when, out...)
}
