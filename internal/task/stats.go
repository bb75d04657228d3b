package task

import (
	"context"
	"maps"
	"sync"
)

// Stats are the task counts of the installation, and the counters of this node since it started.
type Stats struct {
	Counts
	// RunningHere is the number of tasks running on this node.
	RunningHere int
	// Started counts all runs started on this node, Resumed those that were not the first attempt.
	Started, Resumed int64
	// Complete and Cancelled count the tasks that ended on this node. Failed counts failures by error code.
	Complete, Cancelled int64
	Failed              map[string]int64
}

// Stats reads the current counts.
func (e *Engine) Stats(ctx context.Context) (Stats, error) {
	counts, err := e.store.CountTasks(ctx, e.clock.Now())
	s := e.counters.read()
	s.Counts = counts
	e.mu.Lock()
	s.RunningHere = len(e.runs)
	e.mu.Unlock()
	return s, err
}

// counters holds the counters of this node.
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
