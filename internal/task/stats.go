package task

import (
	"context"
	"maps"
	"sync"
)

// Stats is what there is to know about the tasks of an installation, and of this node since it started.
type Stats struct {
	Counts
	// Here is how many tasks run on this node.
	Here int
	// Started and Resumed count the runs that began here: all, and those that were not the first of their task.
	Started, Resumed int64
	// Complete and Cancelled count the tasks that ended so here; Failed counts the others by reason.
	Complete, Cancelled int64
	Failed              map[string]int64
}

// Stats counts.
func (e *Engine) Stats(ctx context.Context) (Stats, error) {
	counts, err := e.store.CountTasks(ctx, e.clock.Now())
	s := e.counters.read()
	s.Counts = counts
	e.mu.Lock()
	s.Here = len(e.runs)
	e.mu.Unlock()
	return s, err
}

// counters counts what happened on this node.
type counters struct {
	mu    sync.Mutex
	stats Stats
}

func (c *counters) started(t Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Started++
	if t.Attempt > 1 {
		c.stats.Resumed++
	}
}

func (c *counters) ended(o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o.State {
	case StateComplete:
		c.stats.Complete++
	case StateCancelled:
		c.stats.Cancelled++
	case StateFailed:
		if c.stats.Failed == nil {
			c.stats.Failed = map[string]int64{}
		}
		c.stats.Failed[o.Code]++
	}
}

func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Failed = maps.Clone(s.Failed)
	return s
}
