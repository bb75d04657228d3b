package task_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
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
		for _, user := range []string{"ada", "bert"} {
			if err := c.db.InsertUser(t.Context(), account.User{ID: user, Email: user, CreatedAt: c.clock.Now()},
				"h"); err != nil {
				t.Fatal(err)
			}
		}
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
		for _, x := range all {
			if x.State != task.StateQueued {
				t.Errorf("a task of a limited kind is %s when it is submitted", x.State)
			}
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
