package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	// sleepText makes the scripted server sleep until it gets a signal.
	sleepText = "sleep until told"
	// sleepTimeout limits each of the steps below.
	sleepTimeout = 2 * time.Minute
)

// sleepers is the measurement of sleeping turns.
type sleepers struct {
	turns         int   // that fell asleep between before and after
	before, after int64 // resident bytes
	// first and all are the times from the first 200 after a crash until the first, and the last, turn sleeps in its
	// step again.
	first, all time.Duration
}

func (s sleepers) perTurn() float64 { return float64(s.after-s.before) / float64(s.turns) }

// perGB returns the number of sleeping turns in 1 GiB, in addition to the server itself.
func (s sleepers) perGB() int {
	if s.perTurn() <= 0 {
		return 0
	}
	return int(float64(1<<30-s.before) / s.perTurn())
}

// measureSleeping measures a server with sleeping turns.
func (r *turnReport) measureSleeping(ctx context.Context, s turnSettings, dir string) error {
	if s.sleeping == 0 {
		return nil
	}
	fmt.Fprintf(s.progress, "measuring: %d sleeping turns on SQLite…\n", s.sleeping)
	sub := filepath.Join(dir, "sleeping")
	if err := os.Mkdir(sub, 0o700); err != nil {
		return err
	}
	c := &carrelTurns{carrel: carrel{binary: s.scripted, dir: sub}, count: s.sleeping}
	if err := c.prepare(ctx); err != nil {
		return fmt.Errorf("sleeping turns: %w", err)
	}
	var err error
	if r.sleepers, err = c.sleep(ctx); err != nil {
		return fmt.Errorf("sleeping turns: %w", err)
	}
	return nil
}

// sleep starts a sleeping turn in every thread, reads the memory, kills the server, and measures how a new one
// resumes the turns.
func (c *carrelTurns) sleep(ctx context.Context) (*sleepers, error) {
	out := &sleepers{turns: c.count - 1}
	in, m, err := c.startWithModel(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		in.kill()
		m.close()
	}()
	// The first turn opens the connection to the model, which is not part of a turn.
	if out.before, err = c.asleep(ctx, in, m, 0, 1); err != nil {
		return nil, err
	}
	if out.after, err = c.asleep(ctx, in, m, 1, c.count); err != nil {
		return nil, err
	}
	in.kill()
	m.close()
	nextIn, nextM, err := c.startWithModel(ctx)
	if err != nil {
		return nil, err
	}
	in, m = nextIn, nextM
	ready := time.Now()
	if err := m.awaitAsleep(ctx, 1); err != nil {
		return nil, err
	}
	out.first = time.Since(ready)
	err = m.awaitAsleep(ctx, c.count)
	out.all = time.Since(ready)
	return out, err
}

// startWithModel starts the server with its own model, so that late reports of a killed server are not mistaken for
// the new one's.
func (c *carrelTurns) startWithModel(ctx context.Context) (*instance, *sleepModel, error) {
	m, err := newSleepModel()
	if err != nil {
		return nil, nil, err
	}
	c.more = []string{"CARREL_TEST_MODEL_URL=" + m.url}
	in, err := c.start(ctx)
	if err != nil {
		m.close()
		return nil, nil, err
	}
	return in, m, nil
}

// asleep starts turns in a range of threads without waiting for replies, and returns the memory after all of them
// sleep and the server has released unused memory.
func (c *carrelTurns) asleep(ctx context.Context, in *instance, m *sleepModel, from, to int) (int64, error) {
	body := fmt.Appendf(nil, `{"text":%q}`, sleepText)
	var heads [][]byte
	for _, path := range c.messagePaths()[from:to] {
		heads = append(heads, buildPostHead(in.addr, path, c.key, len(body), "Prefer: respond-async"))
	}
	l := load{
		addr:        in.addr,
		connections: 16,
		duration:    sleepTimeout,
		maxRequests: uint64(len(heads)),
		counter:     new(atomic.Uint64),
	}
	l.request = request{
		status: 202,
		append: func(dst []byte, n uint64) []byte { return append(append(dst, heads[n-1]...), body...) },
		check:  countOf(`"status":"working"`, 1),
	}
	taken, err := l.run(ctx)
	if err != nil {
		return 0, err
	}
	if len(taken.latencies) != len(heads) {
		return 0, fmt.Errorf("%d of %d turns were accepted in time", len(taken.latencies), len(heads))
	}
	if err := m.awaitAsleep(ctx, to); err != nil {
		return 0, err
	}
	if err := m.tidyUp(ctx); err != nil {
		return 0, err
	}
	return in.residentBytes()
}
