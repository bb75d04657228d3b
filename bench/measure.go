package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

const (
	warmUp = 500 * time.Millisecond
	// settle is the wait before memory is read, until background work of the start is done.
	settle = 2 * time.Second
	// maxRoundRequests limits the writes of one round.
	maxRoundRequests = 1_000_000
)

// options are the sizes of a run.
type options struct {
	loadFlags
	starts    int
	rows      int
	counted   uint64 // requests over which allocations are averaged
	scenarios []scenario
}

// contestant is a server of the run with its measurements.
type contestant struct {
	server
	in       *instance
	starts   []time.Duration
	idle     int64 // resident bytes before the first request
	loaded   int64 // resident bytes after the last
	counters map[string]*atomic.Uint64
	requests map[string]request
}

// measure runs all scenarios. All servers stay up during the rounds; only one gets
// requests at a time.
func measure(ctx context.Context, run runFlags, o options, servers []server) (*report, error) {
	var all []*contestant
	defer func() {
		for _, c := range all {
			if c.in != nil {
				c.in.stop()
			}
		}
	}()
	for _, s := range servers {
		fmt.Fprintf(run.progress, "preparing %s…\n", s.name())
		if err := s.prepare(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name(), err)
		}
		all = append(all, &contestant{server: s, counters: map[string]*atomic.Uint64{}, requests: map[string]request{}})
	}
	if err := measureStarts(ctx, run, o, all); err != nil {
		return nil, err
	}

	rep := newReport(run, o, all)
	for _, c := range all {
		notes, err := c.notes(ctx, c.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name(), err)
		}
		rep.notes = append(rep.notes, notes...)
		if err := c.verifyAll(ctx, o.scenarios); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	for _, s := range o.scenarios {
		fmt.Fprintf(run.progress, "measuring: %s…\n", s.title)
		result, err := measureScenario(ctx, o, s, all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.title, err)
		}
		rep.results = append(rep.results, result)
	}
	for _, c := range all {
		var err error
		if c.loaded, err = c.in.residentBytes(); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// measureStarts starts every server repeatedly on its existing folder, alternating, and leaves the last one running.
func measureStarts(ctx context.Context, run runFlags, o options, all []*contestant) error {
	fmt.Fprintf(run.progress, "measuring: start, %d times…\n", o.starts)
	for range o.starts {
		for _, c := range all {
			if c.in != nil {
				c.in.stop()
				c.in = nil
			}
			in, err := c.start(ctx)
			if err != nil {
				return err
			}
			c.in = in
			c.starts = append(c.starts, in.ready)
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
	}
	for _, c := range all {
		var err error
		if c.idle, err = c.in.residentBytes(); err != nil {
			return err
		}
	}
	return nil
}

// verifyAll decodes and checks one reply of each scenario, and stores the requests.
func (c *contestant) verifyAll(ctx context.Context, scenarios []scenario) error {
	for _, s := range scenarios {
		r, err := c.request(c.in, s.key)
		if err != nil {
			return err
		}
		counter := new(atomic.Uint64)
		counter.Store(1 << 20) // beyond the existing rows
		c.requests[s.key], c.counters[s.key] = r, counter
		body, err := verify(ctx, c.in.addr, r, counter.Load())
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		counter.Add(1)
		if s.key != "list" {
			continue
		}
		texts, err := decodeRows(body, c.listField())
		if err == nil {
			err = checkRows(texts)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
	}
	return nil
}

// load returns the load of a scenario on this server.
func (c *contestant) load(o options, key string, d time.Duration, limit uint64) load {
	return load{
		addr: c.in.addr, connections: o.connections, duration: d, maxRequests: limit,
		request: c.requests[key], counter: c.counters[key],
	}
}

// measureScenario measures the servers in alternating rounds. The first server changes every round, so that drift of
// the machine favours neither.
func measureScenario(ctx context.Context, o options, s scenario, all []*contestant) (result, error) {
	res := result{scenario: s, rounds: make([][]sample, len(all)), summaries: make([]summary, len(all))}
	cpu := make([]spent, len(all))
	for _, c := range all {
		if _, err := c.load(o, s.key, warmUp, maxRoundRequests).run(ctx); err != nil {
			return res, err
		}
	}
	for round := range o.rounds {
		for turn := range all {
			i := (round + turn) % len(all)
			taken, used, err := all[i].in.round(ctx, all[i].load(o, s.key, o.duration, maxRoundRequests))
			if err != nil {
				return res, err
			}
			res.rounds[i] = append(res.rounds[i], taken)
			cpu[i].add(used)
		}
	}
	for i, c := range all {
		res.summaries[i] = summarise(res.rounds[i], cpu[i])
		var err error
		if res.summaries[i].allocations, err = c.allocations(ctx, o, s.key); err != nil {
			return res, err
		}
	}
	if len(all) == 2 {
		res.ratios = ratios(res.rounds[0], res.rounds[1])
	}
	return res, nil
}

// spent is the CPU time of server, client and database server, if there is one.
type spent struct{ server, client, database time.Duration }

func (s *spent) add(more spent) {
	s.server += more.server
	s.client += more.client
	s.database += more.database
}

func (in *instance) spentSoFar() (spent, error) {
	server, err1 := in.cpuTime()
	client, err2 := cpuTimeOf(os.Getpid())
	sum := spent{server: server, client: client}
	var err3 error
	if in.database != nil {
		sum.database, err3 = familyCPUTime(in.database.cmd.Process.Pid)
	}
	return sum, errors.Join(err1, err2, err3)
}

// round runs one round and returns its CPU time.
func (in *instance) round(ctx context.Context, l load) (sample, spent, error) {
	before, err := in.spentSoFar()
	if err != nil {
		return sample{}, spent{}, err
	}
	taken, err := l.run(ctx)
	if err != nil {
		return sample{}, spent{}, err
	}
	after, err := in.spentSoFar()
	after.add(spent{-before.server, -before.client, -before.database})
	return taken, after, err
}

// allocations counts heap objects per request. Reading the counter allocates as well; two consecutive readings
// measure that, and it is subtracted.
func (c *contestant) allocations(ctx context.Context, o options, key string) (float64, error) {
	var seen [3]float64
	requests := 1
	for i := range seen {
		if i == 2 {
			taken, err := c.load(o, key, 10*time.Second, o.counted).run(ctx)
			if err != nil {
				return 0, err
			}
			requests = max(1, len(taken.latencies))
		}
		var err error
		if seen[i], err = scrape(ctx, c.in.metricsAddr, metricMallocs); err != nil {
			return 0, err
		}
	}
	reading := seen[1] - seen[0]
	return (seen[2] - seen[1] - reading) / float64(requests), nil
}
