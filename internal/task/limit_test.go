package task_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/task"
)

// gauge tracks the current and highest concurrency, per user and in total.
type gauge struct {
	mu        sync.Mutex
	now, most map[string]int
}

func (g *gauge) add(n int, names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		g.now[name] += n
		g.most[name] = max(g.most[name], g.now[name])
	}
}

func TestLimitedKindKeepsItsLimitsAndRunsEveryTask(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		const perNode, perUser = 3, 2
		c.users("ada", "bert")
		g := &gauge{now: map[string]int{}, most: map[string]int{}}
		gate, full := make(chan struct{}), make(chan struct{}, 100)
		c.kind(task.Kind{
			Name: "import", MaxRunning: perNode, MaxPerUser: perUser,
			Run: func(ctx context.Context, r *task.Run) (task.Outcome, error) {
				g.add(1, "all", r.Task().UserID)
				defer g.add(-1, "all", r.Task().UserID)
				full <- struct{}{}
				select {
				case <-gate:
				case <-ctx.Done():
				}
				return task.Outcome{}, context.Cause(ctx)
			},
		})
		c.options.SingleNode = true
		e := c.node()
		var all []task.Task
		for range 6 {
			all = append(all, c.submit(e, task.Spec{Kind: "import", UserID: "ada"}),
				c.submit(e, task.Spec{Kind: "import", UserID: "bert"}))
		}
		for range perNode {
			<-full // the limit is reached before any task ends
		}
		// Waiting in the queue must not make a task fail.
		c.clock.Advance(30 * 24 * time.Hour)
		close(gate)
		ended := 0
		for _, x := range all {
			got, err := e.Wait(t.Context(), x.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got.State == task.StateComplete {
				ended++
			} else if got.ErrorCode != task.CodeTimeout {
				t.Errorf("%s ended %s (%s)", got.ID, got.State, got.ErrorCode)
			}
		}
		// Only the tasks that were running for a month pass their deadline, not the queued ones.
		if ended < len(all)-perNode {
			t.Errorf("%d of %d completed", ended, len(all))
		}
		if g.most["all"] != perNode || g.most["ada"] > perUser || g.most["bert"] > perUser {
			t.Errorf("at once: %v", g.most)
		}
	})
}

// users inserts users with these ids.
func (c *cluster) users(ids ...string) {
	c.t.Helper()
	for _, id := range ids {
		err := c.db.InsertUser(c.t.Context(), account.User{ID: id, Email: id, CreatedAt: c.clock.Now()}, "h")
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// gated is a run that waits for a value of the channel.
func gated(gate <-chan struct{}) func(ctx context.Context, r *task.Run) (task.Outcome, error) {
	return func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return task.Outcome{}, context.Cause(ctx)
	}
}

// state returns the current state of a task.
func (c *cluster) state(x task.Task) task.State {
	c.t.Helper()
	got, err := c.db.Task(c.t.Context(), x.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	return got.State
}

func TestTaskWithinTheLimitsStartsWithoutTheQueue(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.users("ada", "bert")
		gate := make(chan struct{})
		c.kind(task.Kind{Name: "turn", MaxRunning: 3, MaxPerUser: 1, Deadline: time.Hour, Run: gated(gate)})
		e := c.node()
		first := c.submit(e, task.Spec{Kind: "turn", UserID: "ada"})
		same(t, "first", first.State, task.StateRunning)
		same(t, "deadline of the first", first.DeadlineAt.Sub(first.CreatedAt), time.Hour)
		second := c.submit(e, task.Spec{Kind: "turn", UserID: "ada"})
		same(t, "above the limit per user", second.State, task.StateQueued)
		other := c.submit(e, task.Spec{Kind: "turn", UserID: "bert"})
		c.until("the other user's task", func() bool { return c.state(other) == task.StateRunning })
		if cancelled, err := e.Cancel(t.Context(), second.ID); err != nil || !cancelled {
			t.Fatal(cancelled, err)
		}
		same(t, "cancelled in the queue", c.state(second), task.StateCancelled)
		third := c.submit(e, task.Spec{Kind: "turn", UserID: "ada"})
		same(t, "still above the limit", c.state(third), task.StateQueued)
		close(gate)
		for _, x := range []task.Task{first, other, third} {
			same(t, "end", c.wait(e, x.ID).State, task.StateComplete)
		}
	})
}

func TestQueueIsFairAndReportsPositions(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.users("ada", "bert")
		gate, started := make(chan struct{}), make(chan string, 10)
		run := gated(gate)
		c.kind(task.Kind{
			Name: "turn", MaxRunning: 1, MaxPerUser: 4,
			Run: func(ctx context.Context, r *task.Run) (task.Outcome, error) {
				started <- r.Task().Key
				return run(ctx, r)
			},
		})
		e := c.node()
		for _, key := range []string{"a1", "a2", "a3", "a4"} {
			c.submit(e, task.Spec{Kind: "turn", UserID: "ada", Key: key})
			c.clock.Advance(time.Millisecond)
		}
		c.submit(e, task.Spec{Kind: "turn", UserID: "bert", Key: "b1"})
		same(t, "running", <-started, "a1")
		// Readers of the queue receive the position at once and whenever it changes.
		positions := make(chan string, 10)
		go func() {
			defer close(positions)
			for ev, err := range e.Stream(streamContext(t), "a4", task.Position{}) {
				if err != nil || ev.Kind == task.EventDone {
					return
				}
				if ev.Kind == task.EventQueued {
					positions <- string(ev.Payload)
				}
			}
		}()
		same(t, "position", <-positions, `{"position":3}`)
		for i, next := range []string{"b1", "a2", "a3"} {
			gate <- struct{}{}
			same(t, "next", <-started, next)
			same(t, "position after "+next, <-positions, fmt.Sprintf(`{"position":%d}`, 2-i))
		}
		gate <- struct{}{}
		same(t, "last", <-started, "a4")
		gate <- struct{}{}
		if more, open := <-positions; open {
			t.Errorf("a running task has the position %s", more)
		}
	})
}

func TestLimitsHoldOnSeveralNodesAndAfterACrash(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		const perNode, perUser, each = 2, 1, 6
		users := []string{"ada", "bert", "cleo", "dora", "emil"}
		c.users(users...)
		g := &gauge{now: map[string]int{}, most: map[string]int{}}
		gate := make(chan struct{})
		run := gated(gate)
		c.kind(task.Kind{
			Name: "turn", MaxRunning: perNode, MaxPerUser: perUser,
			Run: func(ctx context.Context, r *task.Run) (task.Outcome, error) {
				g.add(1, r.Task().Owner, r.Task().UserID)
				defer g.add(-1, r.Task().Owner, r.Task().UserID)
				return run(ctx, r)
			},
		})
		nodes := []*task.Engine{c.node(), c.node()}
		var mu sync.Mutex
		var all []task.Task
		var group sync.WaitGroup
		for i := range each {
			for _, user := range users {
				group.Go(func() {
					x, err := nodes[i%2].Submit(t.Context(), task.Spec{ID: core.NewID("tsk"), Kind: "turn", UserID: user})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, x)
				})
			}
		}
		group.Wait()
		for range 2 * len(users) {
			gate <- struct{}{}
		}
		lost := nodes[0].Owner()
		nodes[0].Die()
		if _, err := c.db.RenewNode(t.Context(), lost, -time.Second); err != nil { // its lease expires
			t.Fatal(err)
		}
		close(gate)
		for _, x := range all {
			same(t, "end", c.wait(nodes[1], x.ID).State, task.StateComplete)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		for name, most := range g.most {
			if limit := map[bool]int{true: perUser, false: perNode}[slices.Contains(users, name)]; most > limit {
				t.Errorf("%s had %d running, want at most %d", name, most, limit)
			}
		}
	})
}
