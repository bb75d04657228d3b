package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// mixedSettings are the flags of `bench mixed`.
type mixedSettings struct {
	runFlags
	corpusFlags
	users    int
	think    time.Duration
	duration time.Duration
	alone    bool
}

func parseMixed(args []string) (*mixedSettings, error) {
	s := &mixedSettings{}
	f := s.newFlags("bench mixed", "")
	s.register(f, 20_000, "to search")
	f.IntVar(&s.users, "users", 50, "number of concurrent users")
	f.DurationVar(&s.think, "think", 250*time.Millisecond, "mean time between a reply and the user's next request")
	f.DurationVar(&s.duration, "duration", 20*time.Second, "length of each phase")
	f.BoolVar(&s.alone, "alone", false, "measure Carrel only")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	switch {
	case s.users < 1 || s.users > 1000:
		return s, errors.New("--users must be 1 to 1000")
	case s.think < 0 || s.think > time.Minute:
		return s, errors.New("--think must be 0 to 1m")
	case s.duration < time.Second || s.duration > 10*time.Minute:
		return s, errors.New("--duration must be 1s to 10m")
	}
	return s, s.check()
}

const (
	// mixedRows is the number of rows that are listed and read.
	mixedRows = 300
	// importTarget is how much slower imports may make searches at the 99th percentile.
	importTarget = 2.0
)

// act is something that users do, as often as its weight.
type act struct {
	name    string
	weight  int
	request request
}

// measureMixed measures the same users on Carrel, on Carrel while it imports documents, and, with the reads only, on
// PocketBase.
func measureMixed(ctx context.Context, s *mixedSettings, dir string) (page, error) {
	when := time.Now()
	c := &carrel{binary: s.carrel, dir: dir, rows: mixedRows}
	fmt.Fprintln(s.progress, "preparing Carrel…")
	if err := c.prepare(ctx); err != nil {
		return page{}, err
	}
	lines := filepath.Join(dir, "documents.jsonl")
	questions, kept, err := writeCorpus(s.corpusFlags, 200, lines)
	if err != nil {
		return page{}, err
	}
	in, err := c.start(ctx)
	if err != nil {
		return page{}, err
	}
	defer in.stop()
	u := &uploader{server: "http://" + in.addr, carrel: c}
	source, err := u.create(ctx, "Library")
	if err != nil {
		return page{}, err
	}
	if err := errors.Join(u.send(ctx, source, lines, "documents.jsonl"), second(u.filled(ctx, source, kept))); err != nil {
		return page{}, err
	}
	acts, err := carrelActs(c, in, source, questions)
	if err != nil {
		return page{}, err
	}
	m := &mixed{settings: s, times: map[string][]time.Duration{}}
	fmt.Fprintln(s.progress, "measuring: Carrel…")
	if err := m.run(ctx, "Carrel", in.addr, acts); err != nil {
		return page{}, err
	}
	fmt.Fprintln(s.progress, "measuring: Carrel during imports…")
	imported, err := m.duringImports(ctx, u, lines, in.addr, acts)
	if err != nil {
		return page{}, err
	}
	notes := []string{fmt.Sprintf("During the second phase %d imports of the %d documents into new sources were completed.",
		imported, kept)}
	if !s.alone {
		more, err := m.pocketBase(ctx, dir)
		if err != nil {
			return page{}, err
		}
		notes = append(notes, more...)
	}
	return m.page(when, kept, notes), nil
}

func second[T any](_ T, err error) error { return err }

// carrelActs returns what users of Carrel do: mostly they read, every fourth request is a search, and every tenth a
// question.
func carrelActs(c *carrel, in *instance, source string, questions []string) ([]act, error) {
	list, err1 := c.request(in, "list")
	read, err2 := c.request(in, "read")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	post := func(paths []string, body func(n uint64) string, has string) request {
		check := countOf(has, 1)
		return request{
			append: func(dst []byte, n uint64) []byte {
				text := body(n)
				return append(append(dst, buildPostHead(in.addr, paths[n%uint64(len(paths))], c.key, len(text))...), text...)
			},
			check: check,
		}
	}
	question := func(n uint64) string { return questions[n%uint64(len(questions))] }
	search := post([]string{c.path("search")}, func(n uint64) string {
		return fmt.Sprintf(`{"query": %q, "sourceIds": [%q], "facets": true}`, question(n), source)
	}, `"results":[`)
	ask := post(c.messagePaths(), func(n uint64) string {
		return fmt.Sprintf(`{"text": %q, "sourceIds": [%q]}`, question(n), source)
	}, `"status":"complete"`)
	return []act{{"list of 50 rows", 40, list}, {"single read", 25, read}, {"search with counts", 25, search}, {"question", 10, ask}}, nil
}

// mixed is a run of `bench mixed`.
type mixed struct {
	settings *mixedSettings
	mu       sync.Mutex
	// times are the times of requests by phase and act, as in "Carrel search".
	times  map[string][]time.Duration
	phases []string
	names  []string
}

// run lets all users act for the length of a phase.
func (m *mixed) run(ctx context.Context, phase, addr string, acts []act) error {
	m.phases = append(m.phases, phase)
	for _, a := range acts {
		if !slices.Contains(m.names, a.name) {
			m.names = append(m.names, a.name)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(m.settings.duration)
	var users sync.WaitGroup
	for i := range m.settings.users {
		users.Go(func() {
			if err := m.use(ctx, phase, addr, acts, end, uint64(i)); err != nil {
				cancel(err)
			}
		})
	}
	users.Wait()
	return context.Cause(ctx)
}

// use is one user: a request, its reply, and a pause, until the end of the phase.
func (m *mixed) use(ctx context.Context, phase, addr string, acts []act, end time.Time, user uint64) error {
	random := rand.New(rand.NewPCG(user, corpusSeed))
	conn, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(end.Add(grace))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	weights := 0
	for _, a := range acts {
		weights += a.weight
	}
	var raw []byte
	// A thread runs one turn at a time, so users ask in different threads.
	for n := user; ; n += uint64(m.settings.users) {
		pause := time.Duration(random.Int64N(int64(2*m.settings.think) + 1))
		if time.Now().Add(pause).After(end) {
			return nil
		}
		time.Sleep(pause)
		pick, a := random.IntN(weights), acts[0]
		for _, a = range acts {
			if pick -= a.weight; pick < 0 {
				break
			}
		}
		raw = a.request.append(raw[:0], n)
		began := time.Now()
		status, body, err := conn.do(raw)
		taken := time.Since(began)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %s: %w", phase, a.name, err)
		case status != http.StatusOK:
			return fmt.Errorf("%s: %s: status %d: %.300s", phase, a.name, status, body)
		}
		if err := a.request.check(body); err != nil {
			return fmt.Errorf("%s: %s: %w", phase, a.name, err)
		}
		m.mu.Lock()
		m.times[phase+" "+a.name] = append(m.times[phase+" "+a.name], taken)
		m.mu.Unlock()
	}
}

// duringImports runs the users while documents are imported into one source after the other, and returns how many
// imports were completed.
func (m *mixed) duringImports(
	ctx context.Context, u *uploader, lines, addr string, acts []act,
) (imported int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- func() error {
			for {
				source, err := u.create(ctx, fmt.Sprintf("Import %d", imported))
				if err != nil {
					return err
				}
				if err := u.send(ctx, source, lines, "documents.jsonl"); err != nil {
					return err
				}
				if _, err := u.filled(ctx, source, 1); err != nil {
					return err
				}
				imported++
			}
		}()
	}()
	err = m.run(ctx, "during imports", addr, acts)
	stop()
	if failed := <-ended; err == nil && !errors.Is(failed, context.Canceled) {
		err = failed
	}
	return imported, err
}

// pocketBase runs the users with the reads on PocketBase.
func (m *mixed) pocketBase(ctx context.Context, dir string) ([]string, error) {
	fmt.Fprintln(m.settings.progress, "measuring: PocketBase…")
	p := &pocketBase{dir: dir, rows: mixedRows}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	in, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	defer in.stop()
	list, err1 := p.request(in, "list")
	read, err2 := p.request(in, "read")
	notes, err3 := p.notes(ctx, in)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return notes, m.run(ctx, p.name(), in.addr, []act{{"list of 50 rows", 40, list}, {"single read", 25, read}})
}

// page returns the report.
func (m *mixed) page(when time.Time, documents int, notes []string) page {
	t := table{title: fmt.Sprintf("%d concurrent users", m.settings.users), head: []string{"", "requests"}}
	for _, phase := range m.phases {
		t.head = append(t.head, phase+" p50", "p99")
	}
	t.head = append(t.head, "p99 during imports / without")
	targets := newTargetTable()
	for _, name := range m.names {
		row := []string{name, fmt.Sprint(len(m.times[m.phases[0]+" "+name]))}
		var tail []time.Duration
		for _, phase := range m.phases {
			times := m.times[phase+" "+name]
			slices.Sort(times)
			tail = append(tail, percentile(times, 99))
			if len(times) == 0 {
				row = append(row, "–", "–")
				continue
			}
			row = append(row, milliseconds(percentile(times, 50)), milliseconds(percentile(times, 99)))
		}
		ratio := float64(tail[1]) / float64(max(tail[0], 1))
		t.rows = append(t.rows, append(row, fmt.Sprintf("%.1f×", ratio)))
		if name == "search with counts" {
			targets.addTarget("p99 of searches during imports, by the p99 without", fmt.Sprintf("%.1f×", ratio),
				fmt.Sprintf("≤ %.0f×", importTarget), ratio <= importTarget)
		}
	}
	lines := append([]string{
		fmt.Sprintf("%d users with one connection each, who wait %s on average between a reply and the next request; phases "+
			"of %s.", m.settings.users, m.settings.think, m.settings.duration),
		fmt.Sprintf("%d documents, %s; questions are answered without a model.", documents, m.settings.origin()),
		"PocketBase serves the lists and reads only, from the same users with the same pauses.", carrelSettings,
	}, notes...)
	return newPage("Many users at once", m.settings.conditions(when, lines...), targets, t, m.plots())
}

// plots draws the distribution of each phase: the number of requests by time, in steps that double.
func (m *mixed) plots() table {
	const first, steps = 250 * time.Microsecond, 14
	t := table{title: fmt.Sprintf("Requests by time, from %s in steps that double to %s", milliseconds(first),
		milliseconds(first<<(steps-1)))}
	t.head = append([]string{""}, m.phases...)
	for _, name := range m.names {
		row := []string{name}
		for _, phase := range m.phases {
			counts := make([]int64, steps)
			for _, taken := range m.times[phase+" "+name] {
				step := 0
				for step < steps-1 && taken > first<<step {
					step++
				}
				counts[step]++
			}
			row = append(row, plot(counts, steps))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
