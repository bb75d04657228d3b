package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// growthSettings are the flags of `bench growth`.
type growthSettings struct {
	runFlags
	rows      int
	users     int
	levels    []int
	requests  int
	databases []string
	svg       string
}

// growthTimeout is the longest run on a busy machine. On two quiet cores a run takes a few minutes.
const growthTimeout = 30 * time.Minute

func parseGrowth(args []string) (*growthSettings, error) {
	s := &growthSettings{}
	var levels, databases string
	f := s.newFlags("bench growth", "")
	f.IntVar(&s.rows, "rows", 100, "rows of each kind at 1×")
	f.IntVar(&s.users, "users", pageSize, "other users at 1×")
	f.StringVar(&levels, "levels", "1,10,100", "the `sizes` to measure, as multiples of --rows and --users")
	f.IntVar(&s.requests, "requests", 200, "requests per operation and size")
	f.StringVar(&databases, "databases", "sqlite,postgres", "the `databases` to measure")
	f.StringVar(&s.svg, "svg", "", "also draw the costs as a chart in this SVG `file`")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	last := 1
	for level := range strings.SplitSeq(levels, ",") {
		n, err := strconv.Atoi(level)
		if err != nil || n < 1 || n%last != 0 || len(s.levels) > 0 && n == last {
			return s, errors.New("--levels takes ascending numbers, each a multiple of the one before, separated by commas")
		}
		s.levels, last = append(s.levels, n), n
	}
	s.databases = strings.Split(databases, ",")
	s.timeout = growthTimeout
	switch {
	case slices.ContainsFunc(s.databases, func(d string) bool { return d != "sqlite" && d != "postgres" }):
		return s, errors.New("--databases takes sqlite, postgres")
	case s.rows < pageSize || s.rows*last > 100_000:
		return s, fmt.Errorf("--rows must be at least %d, and at most 100,000 at the largest size", pageSize)
	case s.users < 1 || s.users*last > 10_000:
		return s, errors.New("--users must be at least 1, and at most 10,000 at the largest size")
	case s.requests < 1 || s.requests > 10_000:
		return s, errors.New("--requests must be 1 to 10000")
	}
	return s, nil
}

// growthLimit is the growth of an operation's cost over the sizes up to which it is called at most logarithmic: the
// depth of a B-tree of 100 times as many rows is at most twice as large. The rest is the inaccuracy of the measurement.
const growthLimit = 2.5

// growthRun measures operations while the data grows.
type growthRun struct {
	settings *growthSettings
	began    time.Time
	results  []growthResult
	notes    []string
}

// growthResult has the costs of the operations on one database.
type growthResult struct {
	database   string
	operations []string
	costs      map[string][]growthCost // by operation; one for each size
}

// growthCost is the measured cost of an operation at one size: the processor time of server and database, and the p50
// of the time until the reply.
type growthCost struct{ cpu, p50 time.Duration }

// measureGrowth measures the cost of operations at several sizes of the data, on each database.
func measureGrowth(ctx context.Context, s *growthSettings, dir string) (page, error) {
	r := &growthRun{settings: s, began: time.Now()}
	for _, database := range s.databases {
		if err := r.measureOn(ctx, database, dir); err != nil {
			return page{}, fmt.Errorf("%s: %w", database, err)
		}
	}
	if s.svg != "" {
		if err := r.draw(s.svg); err != nil {
			return page{}, err
		}
	}
	var tables []table
	for _, result := range r.results {
		tables = append(tables, r.table(result))
	}
	return newPage("Cost by the size of the data", s.conditions(r.began, r.lines()...), tables...), nil
}

// lines describe the measurement.
func (r *growthRun) lines() []string {
	s := r.settings
	return append([]string{
		fmt.Sprintf("1× is %d agents that one user shares with everybody, as many keys and connections of this user, and as "+
			"many documents, threads, messages of one thread, memories and favourites with another agent, and their audit events "+
			"and turns.", s.rows),
		fmt.Sprintf("1× also has %d other users with a grant of that agent, an agent of their own, and %d threads, memories, "+
			"favourites and keys.", s.users, rowsOfOther),
		fmt.Sprintf("Each operation is sent %d times over one connection. Cost is the processor time of server and database "+
			"per request, from the scheduler's statistics.", s.requests),
		fmt.Sprintf("Growth is the cost at the largest size by the cost at the smallest. Up to %.1f× it is called at most "+
			"logarithmic.", growthLimit), carrelSettings,
		fmt.Sprintf("The run took %s.", time.Since(r.began).Round(time.Second)),
	}, r.notes...)
}

func (r *growthRun) measureOn(ctx context.Context, database, dir string) error {
	c := &carrel{binary: r.settings.carrel, dir: filepath.Join(dir, database)}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	if database == "sqlite" {
		return r.measure(ctx, c, nil)
	}
	server, err := startPostgres(ctx, dir)
	if errors.Is(err, errNoPostgres) {
		r.notes = append(r.notes, "PostgreSQL is not installed, so only SQLite was measured.")
		return nil
	}
	if err != nil {
		return err
	}
	defer server.stop()
	if c.database, err = server.create(ctx, growthDatabase); err != nil {
		return err
	}
	return r.measure(ctx, c, server)
}

func (r *growthRun) measure(ctx context.Context, c *carrel, server *postgres) error {
	g := &growthData{carrel: c, postgres: server, progress: r.progress}
	if err := g.signUp(ctx); err != nil {
		return err
	}
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	g.in = in
	result := growthResult{database: "SQLite", costs: map[string][]growthCost{}}
	if server != nil {
		in.database, result.database = server.process, "PostgreSQL "+server.version
	}
	for _, level := range r.settings.levels {
		r.progress("%s: %d×", result.database, level)
		if err := g.grow(ctx, level*r.settings.rows, level*r.settings.users); err != nil {
			return fmt.Errorf("grow to %d×: %w", level, err)
		}
		result.operations = result.operations[:0]
		for _, op := range g.operations() {
			cost, err := g.cost(ctx, op, r.settings.requests)
			if err != nil {
				return fmt.Errorf("%s at %d×: %w", op.name, level, err)
			}
			result.costs[op.name] = append(result.costs[op.name], cost)
			result.operations = append(result.operations, op.name)
		}
		r.progress("%d operations measured", len(result.operations))
	}
	r.results = append(r.results, result)
	return nil
}

// progress prints a line with the time since the start of the run.
func (r *growthRun) progress(format string, args ...any) {
	fmt.Fprintf(r.settings.progress, "%4.0f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// growth returns the cost at the largest size by the cost at the smallest.
func growth(costs []growthCost) float64 {
	return float64(costs[len(costs)-1].cpu) / float64(max(costs[0].cpu, time.Microsecond))
}

// table has a row per operation.
func (r *growthRun) table(result growthResult) table {
	t := table{title: "Cost of a request on " + result.database, head: []string{"operation"}}
	for _, level := range r.settings.levels {
		t.head = append(t.head, strconv.Itoa(level)+"×")
	}
	t.head = append(t.head, "p50 at the largest", "growth", fmt.Sprintf("≤ %.1f×", growthLimit), "plot")
	for _, name := range result.operations {
		costs := result.costs[name]
		row := []string{name}
		var values []int64
		for _, cost := range costs {
			row = append(row, milliseconds(cost.cpu))
			values = append(values, cost.cpu.Microseconds())
		}
		grown := growth(costs)
		row = append(row, milliseconds(costs[len(costs)-1].p50), fmt.Sprintf("%.1f×", grown), verdict(grown <= growthLimit),
			plot(values, len(values)))
		t.rows = append(t.rows, row)
	}
	return t
}
