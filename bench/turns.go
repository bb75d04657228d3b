package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Databases.
const (
	onSQLite   = "SQLite"
	onPostgres = "PostgreSQL"
)

// wakeUp is the time that a resumed server has to catch up.
const wakeUp = 30 * time.Millisecond

// maxTurnRound limits how long a server is paused. A Carrel node gives up its lease 5.5 s after a missed renewal at
// the earliest, and four servers alternate.
const maxTurnRound = 1500 * time.Millisecond

// turnSettings are the flags of `bench turns`.
type turnSettings struct {
	runFlags
	loadFlags
	// peers and scripted are package folders, or the built programs.
	peers, scripted string
	databases       []string
	threads         int
	sleeping        int
	alone           bool
}

func parseTurns(args []string) (*turnSettings, error) {
	s := &turnSettings{}
	var databases string
	f := s.newFlags("bench turns", "; a durable turn measures its disk")
	s.register(f, loadFlags{64, 10, time.Second}, "keep-alive connections for the throughput")
	f.StringVar(&s.peers, "peers", "peers", "River and DBOS: the `folder` to build them from, or the built file")
	f.StringVar(&s.scripted, "scripted", "../e2e/chaos/server",
		"Carrel with scripted turns: the `folder` to build it from, or the built file")
	f.StringVar(&databases, "databases", "sqlite,postgres",
		"the `databases` to run on; postgres is skipped if it is not installed")
	f.IntVar(&s.threads, "threads", 4000, "number of threads for the turns")
	f.IntVar(&s.sleeping, "sleeping", 10_000, "sleeping turns while memory is measured; 0 skips this")
	f.BoolVar(&s.alone, "alone", false, "measure Carrel only")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	known := map[string]string{"sqlite": onSQLite, "postgres": onPostgres}
	for name := range strings.SplitSeq(databases, ",") {
		if known[name] == "" || slices.Contains(s.databases, known[name]) {
			return s, errors.New("--databases takes sqlite and postgres, separated by a comma")
		}
		s.databases = append(s.databases, known[name])
	}
	switch {
	case s.threads < 10*s.connections || s.threads > 100_000:
		return s, errors.New("--threads must be at least 10 times --connections, because a thread runs one turn at a time, " +
			"and at most 100000")
	case s.sleeping == 1 || s.sleeping < 0 || s.sleeping > 10_000:
		return s, errors.New("--sleeping must be 0, or 2 to 10000, the number of turns that a node runs at once")
	}
	return s, s.check(200, maxTurnRound)
}

// turnLoad is a number of concurrent turns.
type turnLoad struct {
	key         string
	title       string
	connections int
}

func (s turnSettings) loads() []turnLoad {
	return []turnLoad{
		{key: "one", title: "one at a time", connections: 1},
		{key: "many", title: fmt.Sprintf("%d at a time", s.connections), connections: s.connections},
	}
}

// measureTurns compares durable turns with River and DBOS.
func measureTurns(ctx context.Context, s *turnSettings, dir string) (page, error) {
	rep, err := runTurns(ctx, *s, dir)
	if err != nil {
		return page{}, err
	}
	return rep.page(), nil
}

// runTurns measures one database after the other.
func runTurns(ctx context.Context, s turnSettings, dir string) (*turnReport, error) {
	rep := &turnReport{settings: s, when: time.Now()}
	if err := rep.build(ctx, &s, dir); err != nil {
		return nil, err
	}
	for _, database := range s.databases {
		err := rep.measureOn(ctx, s, database, dir)
		if errors.Is(err, errNoPostgres) {
			rep.notes = append(rep.notes, fmt.Sprintf("Nothing was measured on PostgreSQL: %v.", err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("on %s: %w", database, err)
		}
	}
	return rep, rep.measureSleeping(ctx, s, dir)
}

// build builds the missing programs before anything is measured.
func (r *turnReport) build(ctx context.Context, s *turnSettings, dir string) (err error) {
	if !s.alone {
		fmt.Fprintln(s.progress, "building River and DBOS…")
		if s.peers, err = buildGo(ctx, s.peers, filepath.Join(dir, "peers.exe")); err != nil {
			return err
		}
		if r.versions, err = peerVersions(ctx, s.peers); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.progress, "building Carrel with scripted turns…")
	s.scripted, err = buildGo(ctx, s.scripted, filepath.Join(dir, "scripted.exe"))
	return err
}

// measureOn compares all servers on one database.
func (r *turnReport) measureOn(ctx context.Context, s turnSettings, database, dir string) error {
	servers, pg, err := s.turnServers(ctx, database, dir, r)
	if pg != nil {
		defer pg.stop()
	}
	if err != nil {
		return err
	}
	all, err := startTurns(ctx, s, servers, pg)
	defer func() {
		for _, c := range all {
			c.in.stop()
		}
	}()
	if err != nil {
		return err
	}
	for _, l := range s.loads() {
		fmt.Fprintf(s.progress, "measuring: turns on %s, %s…\n", database, l.title)
		res, err := measureTurnLoad(ctx, s, l, all)
		if err != nil {
			return fmt.Errorf("%s: %w", l.title, err)
		}
		res.database = database
		r.results = append(r.results, res)
	}
	return nil
}

// turnServers returns the servers to compare on a database, Carrel first, and the database server, which the caller
// stops; it is nil on SQLite.
func (s turnSettings) turnServers(
	ctx context.Context, database, dir string, r *turnReport,
) (servers []turnServer, running *process, err error) {
	address := func(string) (string, error) { return "", nil }
	if database == onPostgres {
		pg, err := startPostgres(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		r.postgres, running = pg.version, pg.process
		address = func(name string) (string, error) { return pg.create(ctx, name) }
	}
	sub := filepath.Join(dir, strings.ToLower(database))
	if err := os.Mkdir(sub, 0o700); err != nil {
		return nil, running, err
	}
	url, err := address("carrel")
	if err != nil {
		return nil, running, err
	}
	own := carrel{binary: s.scripted, dir: sub, database: url}
	servers = append(servers, &carrelTurns{carrel: own, count: s.threads})
	if s.alone {
		return servers, running, nil
	}
	for _, p := range []peerTurns{
		{engine: "river", title: "River"},
		{engine: "river-tx", title: "River, JobCompleteTx"},
		{engine: "dbos", title: "DBOS"},
	} {
		p.binary, p.dir = s.peers, sub
		if p.database, err = address(strings.ReplaceAll(p.engine, "-", "_")); err != nil {
			return nil, running, err
		}
		servers = append(servers, &p)
	}
	return servers, running, nil
}

// turnRunner is a server in the run.
type turnRunner struct {
	turnServer
	in      *instance
	request request
	counter atomic.Uint64
}

// startTurns starts every server, checks one reply of each, and leaves them paused. On an error it also returns the
// running servers.
func startTurns(
	ctx context.Context, s turnSettings, servers []turnServer, database *process,
) ([]*turnRunner, error) {
	var all []*turnRunner
	for _, srv := range servers {
		fmt.Fprintf(s.progress, "preparing %s…\n", srv.name())
		if err := srv.prepare(ctx); err != nil {
			return all, fmt.Errorf("%s: %w", srv.name(), err)
		}
		in, err := srv.start(ctx)
		if err != nil {
			return all, err
		}
		in.database = database
		c := &turnRunner{turnServer: srv, in: in}
		all = append(all, c)
		if c.request, err = c.turn(in); err != nil {
			return all, err
		}
		body, err := verify(ctx, in.addr, c.request, c.counter.Load())
		if err == nil {
			err = checkEcho(body, c.counter.Add(1))
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", c.name(), err)
		}
		in.pause()
	}
	return all, nil
}

// measureTurnLoad measures the servers in alternating rounds; the first one changes every round. The others are
// paused, because some of them poll constantly.
func measureTurnLoad(ctx context.Context, s turnSettings, l turnLoad, all []*turnRunner) (turnResult, error) {
	res := turnResult{load: l, rounds: make([][]sample, len(all))}
	used := make([]spent, len(all))
	for _, c := range all {
		if _, _, err := c.round(ctx, l, min(warmUp, s.duration)); err != nil {
			return res, fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	for round := range s.rounds {
		for turn := range all {
			i := (round + turn) % len(all)
			taken, cpu, err := all[i].round(ctx, l, s.duration)
			if err != nil {
				return res, fmt.Errorf("%s: %w", all[i].name(), err)
			}
			res.rounds[i] = append(res.rounds[i], taken)
			used[i].add(cpu)
		}
	}
	for i, c := range all {
		res.servers = append(res.servers, c.name())
		res.summaries = append(res.summaries, summarise(res.rounds[i], used[i]))
	}
	return res, nil
}

// round resumes the server, runs one round, and pauses it again.
func (c *turnRunner) round(ctx context.Context, l turnLoad, d time.Duration) (sample, spent, error) {
	c.in.resume()
	defer c.in.pause()
	if err := wait(ctx, wakeUp); err != nil {
		return sample{}, spent{}, err
	}
	return c.in.round(ctx, load{
		addr: c.in.addr, connections: l.connections, duration: d, maxRequests: maxRoundRequests,
		request: c.request, counter: &c.counter,
	})
}

// wait sleeps for a duration, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
