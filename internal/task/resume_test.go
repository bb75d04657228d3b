package task_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/task"
)

// shortLease lets a lost node be detected quickly.
func shortLease(o *task.Options) { o.Lease, o.Renew = 1500*time.Millisecond, 200*time.Millisecond }

func singleNode(o *task.Options) { o.SingleNode = true }

// counter counts how often each step ran.
type counter struct {
	mu   sync.Mutex
	runs map[string]int
}

func (n *counter) add(key string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runs == nil {
		n.runs = map[string]int{}
	}
	n.runs[key]++
	return n.runs[key]
}

func (n *counter) get(key string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runs[key]
}

func TestTaskOfALostNodeResumesAfterItsLastStep(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var ran counter
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			for n := 1; n <= 3; n++ {
				r.Emit("between", []byte(`{}`))
				_, err := r.Step(ctx, "s", "", func(ctx context.Context, s *task.Step) ([]byte, error) {
					r.Delta(fmt.Sprintf("text %d", n))
					if n := ran.add(s.Key()); s.N() == 2 && n == 1 {
						return nil, hang(ctx)
					}
					return []byte(s.Key()), nil
				})
				if err != nil {
					return task.Outcome{}, err
				}
			}
			return task.Outcome{}, nil
		})
		first := c.node(shortLease)
		id := c.submit(first, task.Spec{Key: "thr_1"}).ID
		c.until("the second step's text", func() bool { return len(c.events(id)) >= 7 })
		first.Die()
		second := c.node(shortLease)
		got := c.wait(second, id)
		same(t, "state", got.State, task.StateComplete)
		for n, want := range []int{1, 2, 1} {
			same(t, fmt.Sprintf("runs of step %d", n+1), ran.get(fmt.Sprintf("%s:%d", id, n+1)), want)
		}
		same(t, "attempt", got.Attempt, 2)
		same(t, "events", format(c.events(id)), []string{
			`1.1 between {}`,
			`1.2 step {"n":1,"kind":"s","label":"","state":"started"}`,
			`1.3 delta {"text":"text 1"}`,
			`1.4 step {"n":1,"kind":"s","label":"","state":"finished"}`,
			`1.5 between {}`,
			`1.6 step {"n":2,"kind":"s","label":"","state":"started"}`,
			`1.7 delta {"text":"text 2"}`,
			`1.8 restarted {"discardAfter":"1.4"}`,
			`1.9 between {}`,
			`1.10 step {"n":2,"kind":"s","label":"","state":"started"}`,
			`1.11 delta {"text":"text 2"}`,
			`1.12 step {"n":2,"kind":"s","label":"","state":"finished"}`,
			`1.13 between {}`,
			`1.14 step {"n":3,"kind":"s","label":"","state":"started"}`,
			`1.15 delta {"text":"text 3"}`,
			`1.16 step {"n":3,"kind":"s","label":"","state":"finished"}`,
			`1.17 done {"status":"complete"}`,
		})
		stats, err := second.Stats(t.Context())
		same(t, "resumed", fmt.Sprint(stats.Resumed, err), "1 <nil>")
	})
}

func TestSingleNodeResumesItsTasksImmediately(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var runs atomic.Int32
		c.work(func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			if runs.Add(1) == 1 {
				return task.Outcome{}, hang(ctx)
			}
			return task.Outcome{}, nil
		})
		first := c.node(singleNode)
		id := c.submit(first, task.Spec{}).ID
		c.until("the run", func() bool { return runs.Load() == 1 })
		first.Die()
		second := c.node(singleNode)
		got := c.wait(second, id) // the lease does not end: the clock stands still
		same(t, "state and crashes", fmt.Sprint(got.State, " ", got.Crashes), "complete 1")
	})
}

// workIgnoringItsContext registers a task whose first attempt blocks in a step until goOn, ignoring its context like a
// suspended process. The result of that step is sent to woken.
func (c *cluster) workIgnoringItsContext(goOn <-chan struct{}) (woken <-chan error) {
	step := make(chan error, 1)
	c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
		_, err := r.Step(ctx, "s", "", func(context.Context, *task.Step) ([]byte, error) {
			if r.Task().Attempt > 1 {
				return []byte("second"), nil
			}
			<-goOn
			return []byte("first"), nil
		})
		if r.Task().Attempt == 1 {
			r.Delta("too late")
			_, again := r.Step(ctx, "s", "", output("too late"))
			step <- errors.Join(err, again)
		}
		return task.Outcome{Result: fmt.Append(nil, r.Task().Attempt)}, err
	})
	return step
}

// suspendedNode returns a node in the step of workIgnoringItsContext, and the id of the task. No renewal tells the node
// that its lease expired, and no other node takes the task.
func (c *cluster) suspendedNode() (n *task.Engine, id string, goOn chan struct{}, woken <-chan error) {
	goOn = make(chan struct{})
	woken = c.workIgnoringItsContext(goOn)
	n = c.node(func(o *task.Options) { o.Renew, o.Poll = time.Hour, time.Hour })
	id = c.submit(n, task.Spec{}).ID
	c.until("the step's start", func() bool { return len(c.events(id)) == 1 })
	return n, id, goOn, woken
}

func TestSuspendedNodeWritesNothingAfterItsLease(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		first, id, goOn, woken := c.suspendedNode()
		first.Pause()
		close(goOn)
		if err := <-woken; !errors.Is(err, task.ErrLost) {
			t.Errorf("the paused node's steps returned %v", err)
		}
		c.until("the run's end", func() bool {
			stats, err := first.Stats(t.Context())
			return err == nil && stats.RunningHere == 0
		})
		same(t, "events", len(c.events(id)), 1)
		same(t, "state", c.read(id).State, task.StateRunning)
	})
}

func TestSuspendedNodeStartsNoStep(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		goOn, woken := make(chan struct{}), make(chan error, 1)
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			<-goOn
			_, err := r.Step(ctx, "s", "", func(context.Context, *task.Step) ([]byte, error) {
				t.Error("the step was run")
				return nil, nil
			})
			woken <- err
			return task.Outcome{}, err
		})
		e := c.node(func(o *task.Options) { o.Renew, o.Poll = time.Hour, time.Hour })
		c.submit(e, task.Spec{})
		e.Pause()
		close(goOn)
		if err := <-woken; !errors.Is(err, task.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

// slowStore blocks one journal write and then rejects it.
type slowStore struct {
	task.Store
	arrived, goOn chan struct{}
}

func (s slowStore) RecordTask(ctx context.Context, f task.Fence, e task.Entry) error {
	select {
	case s.arrived <- struct{}{}:
		<-s.goOn
		return task.ErrLost
	default:
		return s.Store.RecordTask(ctx, f, e)
	}
}

func TestStepWaitsForEarlierWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		slow := slowStore{c.db, make(chan struct{}), make(chan struct{})}
		second := make(chan error, 1)
		e := task.New(task.Deps{Store: slow, Clock: c.clock, Log: slog.New(slog.DiscardHandler)}, c.options)
		e.Register(task.Kind{Name: "work", Run: func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			if _, err := r.Step(ctx, "s", "", output("")); err != nil {
				return task.Outcome{}, err
			}
			<-slow.arrived // the end of the first step is being written
			time.AfterFunc(20*time.Millisecond, func() { close(slow.goOn) })
			_, err := r.Step(ctx, "s", "", func(context.Context, *task.Step) ([]byte, error) {
				t.Error("the second step ran before the first was durable")
				return nil, nil
			})
			second <- err
			return task.Outcome{}, err
		}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.stop(e) })
		c.submit(e, task.Spec{})
		if err := <-second; !errors.Is(err, task.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNodeThatLostItsTaskWritesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		first, id, goOn, woken := c.suspendedNode()
		// The lease ends in the database only; the node still believes it is valid.
		if _, err := c.db.RenewNode(t.Context(), first.Owner(), -time.Second); err != nil {
			t.Fatal(err)
		}
		got := c.wait(c.node(), id)
		before := c.events(id)
		close(goOn)
		if err := <-woken; !errors.Is(err, task.ErrLost) {
			t.Errorf("the overtaken node's steps returned %v", err)
		}
		c.stop(first)
		same(t, "result", string(got.Result), "2")
		same(t, "result after all", string(c.read(id).Result), "2")
		same(t, "events", format(c.events(id)), format(before))
		steps, err := c.db.TaskSteps(t.Context(), id)
		if err != nil || len(steps) != 1 {
			t.Fatal(steps, err)
		}
		same(t, "step", string(steps[0].Output), "second")
	})
}

func TestNodeThatCannotRenewStopsItsRunsAndRejoins(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var attempts atomic.Int32
		var cause atomic.Value
		c.work(func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			if attempts.Add(1) > 1 {
				return task.Outcome{}, nil
			}
			err := hang(ctx)
			cause.Store(err)
			return task.Outcome{}, err
		})
		// The first renewal is later than the lease.
		e := c.node(func(o *task.Options) { o.Lease, o.Renew = time.Second, 1500*time.Millisecond })
		id := c.submit(e, task.Spec{}).ID
		got := c.wait(e, id)
		if err, _ := cause.Load().(error); !errors.Is(err, task.ErrLost) {
			t.Errorf("the run ended with %v", err)
		}
		same(t, "state and crashes", fmt.Sprint(got.State, " ", got.Crashes), "complete 0")
	})
}

func TestShutdownRequeuesTasksWithoutCountingACrash(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		release := make(chan struct{})
		var polite, stubborn atomic.Int32
		c.kind(task.Kind{Name: "polite", Run: func(ctx context.Context, _ *task.Run) (task.Outcome, error) {
			if polite.Add(1) > 1 {
				return task.Outcome{}, nil
			}
			return task.Outcome{}, hang(ctx)
		}})
		c.kind(task.Kind{Name: "stubborn", Run: func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			if stubborn.Add(1) > 1 {
				return task.Outcome{}, nil
			}
			<-release
			_, err := r.Step(ctx, "s", "", output(""))
			return task.Outcome{}, err
		}})
		first := c.node(func(o *task.Options) { o.Grace = 100 * time.Millisecond })
		ids := []string{c.submit(first, task.Spec{Kind: "polite"}).ID, c.submit(first, task.Spec{Kind: "stubborn"}).ID}
		c.until("the runs", func() bool { return polite.Load()+stubborn.Load() == 2 })
		c.stop(first) // does not wait for the stubborn one
		for _, id := range ids {
			got := c.read(id)
			same(t, "given back", fmt.Sprintf("%s %d %s", got.State, got.Crashes, got.Owner), "queued 0 ")
		}
		same(t, "owner of a stopped node", first.Owner(), "")
		second := c.node()
		for _, id := range ids {
			same(t, "state", c.wait(second, id).State, task.StateComplete)
		}
		close(release)
	})
}

func TestTaskFailsAfterThreeCrashesWithoutProgress(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var ran counter
		started, crashesRead := make(chan struct{}, 10), make(chan struct{}, 10)
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			// A step finishes in the third attempt, and none after that.
			if r.Task().Attempt >= 3 {
				<-crashesRead // the step resets the counter
				if _, err := r.Step(ctx, "s", "", func(_ context.Context, s *task.Step) ([]byte, error) {
					ran.add(s.Key())
					return nil, nil
				}); err != nil {
					return task.Outcome{}, err
				}
			}
			started <- struct{}{}
			return task.Outcome{}, hang(ctx)
		})
		e := c.node(singleNode)
		id := c.submit(e, task.Spec{}).ID
		journaled := func() bool {
			steps, err := c.db.TaskSteps(t.Context(), id)
			return err == nil && (len(steps) == 1 || c.read(id).Attempt < 3)
		}
		crashes := []int{}
		for range 5 {
			<-started
			c.until("the journal", journaled)
			e.Die()
			e = c.node(singleNode)
			crashes = append(crashes, c.read(id).Crashes)
			if len(crashes) >= 2 {
				crashesRead <- struct{}{}
			}
		}
		got := c.wait(e, id)
		same(t, "crashes", crashes, []int{1, 2, 1, 2, 3})
		same(t, "end", fmt.Sprint(got.State, " ", got.ErrorCode), "failed crash_loop")
		same(t, "runs of the step", ran.get(id+":1"), 1)
		same(t, "last event", string(c.events(id)[len(c.events(id))-1].Payload),
			`{"status":"failed","error":{"code":"crash_loop",`+
				`"detail":"The service was interrupted too often while working on it."}}`)
	})
}

func TestStepIsDurableBeforeTheNextStepRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.options.EventBatchDelay = time.Hour // no timer writes the journal
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			for n := range 3 {
				if _, err := r.Step(ctx, "s", "", func(ctx context.Context, _ *task.Step) ([]byte, error) {
					steps, err := c.db.TaskSteps(ctx, r.Task().ID)
					ended := 0
					for _, s := range steps {
						if s.State == task.StepFinished {
							ended++
						}
					}
					if ended != n {
						t.Errorf("%d of %d steps are durable", ended, n)
					}
					return nil, err
				}); err != nil {
					return task.Outcome{}, err
				}
			}
			return task.Outcome{}, nil
		})
		e := c.node()
		id := c.submit(e, task.Spec{}).ID
		same(t, "state", c.wait(e, id).State, task.StateComplete)
		steps, err := c.db.TaskSteps(t.Context(), id)
		same(t, "steps after all", fmt.Sprint(len(steps), err), "3 <nil>")
	})
}

func TestStepErrorIsJournaled(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var ran counter
		var seen sync.Map
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			_, err := r.Step(ctx, "model", "", func(context.Context, *task.Step) ([]byte, error) {
				ran.add("model")
				return nil, task.IdempotencyMismatch()
			})
			seen.Store(r.Task().Attempt, err.Error())
			_, err = r.Step(ctx, "other", "", func(ctx context.Context, _ *task.Step) ([]byte, error) {
				if ran.add("other") == 1 {
					return nil, hang(ctx)
				}
				return nil, nil
			})
			return task.Outcome{}, err
		})
		e := c.node(singleNode)
		id := c.submit(e, task.Spec{}).ID
		c.until("the second step", func() bool { return ran.get("other") == 1 })
		e.Die()
		e = c.node(singleNode)
		same(t, "state", c.wait(e, id).State, task.StateComplete)
		same(t, "runs", ran.get("model"), 1)
		first, _ := seen.Load(1)
		second, _ := seen.Load(2)
		same(t, "error", second, first)
	})
}

func TestStepsThatDifferFromTheJournalFailTheTask(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var runs atomic.Int32
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			kind := fmt.Sprint("kind ", runs.Add(1))
			if _, err := r.Step(ctx, kind, "", output("")); err != nil {
				return task.Outcome{}, err
			}
			return task.Outcome{}, hang(ctx)
		})
		e := c.node(singleNode)
		id := c.submit(e, task.Spec{}).ID
		c.until("the step", func() bool { return len(c.events(id)) == 2 })
		e.Die()
		e = c.node(singleNode)
		got := c.wait(e, id)
		same(t, "end", fmt.Sprint(got.State, " ", got.ErrorCode), "failed internal")
	})
}
