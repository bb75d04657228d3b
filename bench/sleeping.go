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
	// sleepText asks the scripted server for a turn that sleeps until told.
	sleepText = "sleep until told"
	// sleepTimeout bounds each of the steps below.
	sleepTimeout = 2 * time.Minute
)

// sleepers is what was measured of sleeping turns.
type sleepers struct {
	turns         int   // that fell asleep between before and after
	before, after int64 // resident bytes
	// first and all are from the first 200 after a crash to the first turn
	// asleep in its step again, and to the last.
	first, all time.Duration
}

// perTurn is the memory of one sleeping turn.
func (s sleepers) perTurn() float64 { return float64(s.after-s.before) / float64(s.turns) }

// perGB is how many sleep in 1 GiB of memory, beside the server itself.
func (s sleepers) perGB() int {
	if s.perTurn() <= 0 {
		return 0
	}
	return int(float64(1<<30-s.before) / s.perTurn())
}

// measureSleeping measures a Carrel whose turns sleep.
func (r *turnReport) measureSleeping(ctx context.Context, s turnSettings, dir string) error {
	if s.sleeping == 0 {
		return nil
	}
	fmt.Fprintf(s.progress, "measuring: %d sleeping turns on SQLite…\n", s.sleeping)
	sub := filepath.Join(dir, "sleeping")
	if err := os.Mkdir(sub, 0o700); err != nil {
		return err
	}
	c := &carrelTurns{carrel: carrel{binary: s.slow, dir: sub}, count: s.sleeping}
	if err := c.prepare(ctx); err != nil {
		return fmt.Errorf("sleeping turns: %w", err)
	}
	var err error
	if r.sleepers, err = c.sleep(ctx); err != nil {
		return fmt.Errorf("sleeping turns: %w", err)
	}
	return nil
}

// sleep puts a turn to sleep in every thread, reads the memory, kills the server
// and watches a new one resume them.
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
	// The first turn makes the server talk to the model; what that takes is not
	// of a turn.
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

// startWithModel starts the server with a model of its own, so that nothing that
// a killed server said last is taken for the next one's.
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

// asleep starts turns in the threads from one to another, without waiting for
// replies, and returns the memory that the server holds when all of them sleep
// and it has given back what it does not need.
func (c *carrelTurns) asleep(ctx context.Context, in *instance, m *sleepModel, from, to int) (int64, error) {
	body := fmt.Appendf(nil, `{"text":%q}`, sleepText)
	var heads [][]byte
	for _, path := range c.messagePaths()[from:to] {
		heads = append(heads, buildPostHead(in.addr, path, c.key, len(body), "Prefer: respond-async"))
	}
	l := load{addr: in.addr, connections: 16, duration: sleepTimeout, maxRequests: uint64(len(heads)), counter: new(atomic.Uint64)}
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
