package main

import (
	"fmt"
	"time"
)

// Targets for turns.
const (
	turnTargetSQLite   = 3 * time.Millisecond
	turnTargetPostgres = 6 * time.Millisecond
	turnsTarget        = 1000   // a second, on SQLite
	sleepersTarget     = 30_000 // in 1 GB
	resumeTarget       = time.Second
)

// turnReport is the result of a run of `bench turns`.
type turnReport struct {
	settings turnSettings
	versions map[string]string // of the peers
	postgres string            // its version
	results  []turnResult
	sleepers *sleepers // nil when they were not measured
	notes    []string
	when     time.Time
}

// turnResult is one load on one database. The slices are in the order of the servers; Carrel is the first.
type turnResult struct {
	database  string
	load      turnLoad
	servers   []string
	rounds    [][]sample
	summaries []summary
}

func (r *turnReport) page() page {
	return newPage("Durable turns: Carrel, River and DBOS", r.conditions(),
		r.targetTable(), r.ratioTable(), r.loadTable(), r.sleepTable())
}

// targetTable compares the results with the targets.
func (r *turnReport) targetTable() table {
	t := newTargetTable()
	for _, res := range r.results {
		carrel := res.summaries[0]
		limit := turnTargetSQLite
		if res.database == onPostgres {
			limit = turnTargetPostgres
		}
		switch {
		case res.load.key == "one":
			t.addTarget("no-op turn over HTTP on "+res.database+", p50", milliseconds(carrel.p50),
				"≤ "+milliseconds(limit), carrel.p50 <= limit)
		case res.database == onSQLite:
			t.addTarget("turns/s on SQLite, "+res.load.title, fmt.Sprintf("%.0f", carrel.perSecond),
				fmt.Sprintf("≥ %d", turnsTarget), carrel.perSecond >= turnsTarget)
		}
	}
	if s := r.sleepers; s != nil {
		t.addTarget("sleeping turns in 1 GB", fmt.Sprint(s.perGB()),
			fmt.Sprintf("≥ %d", sleepersTarget), s.perGB() >= sleepersTarget)
		t.addTarget("kill -9 on SQLite: first step resumed after the new /healthz", milliseconds(s.first),
			"≤ "+milliseconds(resumeTarget), s.first <= resumeTarget)
	}
	return t
}

// ratioTable divides the rates of Carrel by the rates of the other servers.
func (r *turnReport) ratioTable() table {
	t := table{
		title: "Carrel / other, turns per second",
		head:  []string{"database", "load", "other", "ratio", "lowest–highest round", "other's p50 / Carrel's"},
	}
	for _, res := range r.results {
		for i := 1; i < len(res.servers); i++ {
			all := ratios(res.rounds[0], res.rounds[i])
			if len(all) == 0 {
				continue
			}
			p50 := "–"
			if ours := res.summaries[0].p50; ours > 0 {
				p50 = fmt.Sprintf("%.1f×", float64(res.summaries[i].p50)/float64(ours))
			}
			t.rows = append(t.rows, []string{
				res.database, res.load.title, res.servers[i],
				fmt.Sprintf("%.1f×", median(all)),
				spread(all),
				p50,
			})
		}
	}
	return t
}

// loadTable has a row per load and server.
func (r *turnReport) loadTable() table {
	t := table{
		title: fmt.Sprintf("Turns of one step, %d rounds of %s", r.settings.rounds, r.settings.duration),
		head: []string{
			"database", "load", "server", "turns/s", "p50", "p99", "server CPU/turn", "PostgreSQL CPU/turn",
			"client CPU/turn", "turns",
		},
	}
	for _, res := range r.results {
		for i, name := range res.servers {
			s := res.summaries[i]
			t.rows = append(t.rows, []string{
				res.database, res.load.title, name,
				fmt.Sprintf("%.0f", s.perSecond), milliseconds(s.p50), milliseconds(s.p99),
				fmt.Sprintf("%d µs", s.cpu.Microseconds()), fmt.Sprintf("%d µs", s.databaseCPU.Microseconds()),
				fmt.Sprintf("%d µs", s.clientCPU.Microseconds()), fmt.Sprint(s.requests),
			})
		}
	}
	return t
}

// sleepTable shows the memory of sleeping turns and how fast they resume.
func (r *turnReport) sleepTable() table {
	t := table{
		title: "Sleeping turns, Carrel on SQLite",
		head: []string{
			"turns", "memory before", "memory asleep", "a turn", "in 1 GB", "kill -9: first resumed", "all resumed",
		},
	}
	if s := r.sleepers; s != nil {
		t.rows = [][]string{{
			fmt.Sprint(s.turns), megabytes(s.before), megabytes(s.after),
			fmt.Sprintf("%.1f kB", s.perTurn()/1024), fmt.Sprint(s.perGB()),
			milliseconds(s.first), milliseconds(s.all),
		}}
	}
	return t
}

// conditions lists the conditions of the measurement.
func (r *turnReport) conditions() []string {
	out := []string{
		fmt.Sprintf("A turn is one POST of a text of %d characters that is answered when the end of its one step is "+
			"stored. Every reply is checked (status 200, complete, the text echoed).", textLength),
		carrelSettings + " It is built with the scripted turns of its chaos tests (e2e/chaos/server), whose step repeats " +
			"the text. A turn also authenticates an API key, checks the agent and the thread, and stores question, " +
			"answer and events.",
		fmt.Sprintf("Carrel's turns go round %d threads. The percentiles are over all turns of all rounds; where a server "+
			"made few turns its p99 is its slowest.", r.settings.threads),
		"SQLite: WAL with synchronous = FULL for every server.",
	}
	if len(r.versions) > 0 {
		out = append(out,
			"The servers take turns, one is asked at a time and the others are paused (SIGSTOP); the ratio is the median of "+
				"the rounds' ratios.",
			fmt.Sprintf("River %s: FetchCooldown 1 ms (its minimum; the default is 100 ms), on SQLite FetchPollInterval 2 ms "+
				"(the default is 1 s), 200 workers. \"River\" waits with Subscribe, which tells of jobs that River completes "+
				"every 250 ms or when 100 wait; that is not a setting. \"River, JobCompleteTx\" completes each job in a "+
				"transaction of its own and tells the waiter in the same process.", r.versions["river"]),
			fmt.Sprintf("DBOS Transact %s: RunWorkflow, one RunAsStep, GetResult of its handle. On SQLite its pool is opened "+
				"by us with synchronous = FULL; its own would be NORMAL.", r.versions["dbos"]),
			"River and DBOS stand behind a handler without authentication, threads or messages: in their favour.",
		)
	}
	if r.postgres != "" {
		out = append(out, fmt.Sprintf("PostgreSQL %s as it comes (fsync and synchronous_commit on), over a Unix socket, a "+
			"database for each server.", r.postgres))
	}
	if r.sleepers != nil {
		out = append(out, "Sleeping turns: "+
			"VmRSS with one turn asleep and with all of them, each after a collection. A turn is resumed when it sleeps in "+
			"its step again, which the server reports every 10 ms.")
	}
	return r.settings.conditions(r.when, append(out, r.notes...)...)
}
