package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"carrel/internal/task"
)

// chaosChecks is the number of random histories to try.
const chaosChecks = 8

// witness records what the runs really did, independent of the database.
type witness struct {
	mu       sync.Mutex
	started  map[string]int
	finished map[string]bool
	ended    map[string]int
	wrong    []string
}

func (w *witness) step(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started[key]++
	if w.finished[key] {
		w.wrong = append(w.wrong, "step "+key+" ran after it had finished")
	}
}

func (w *witness) note(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// chaos is a cluster whose nodes crash, pause and restart.
type chaos struct {
	*cluster
	witness
	nodes []*task.Engine
	ids   []string
	// open is closed at the end of the history to release the waiting steps.
	open chan struct{}
}

func TestRandomCrashesNeverLoseOrRepeatATask(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		checks, failed := 0, false
		rapid.Check(t, func(rt *rapid.T) {
			if checks++; checks > chaosChecks && !failed {
				return
			}
			defer func() { failed = failed || rt.Failed() }()
			newChaos(c).history(rt)
		})
	})
}

func newChaos(c *cluster) *chaos {
	x := &chaos{
		cluster: &cluster{t: c.t, db: c.db, clock: c.clock, options: c.options},
		witness: witness{started: map[string]int{}, finished: map[string]bool{}, ended: map[string]int{}},
		open:    make(chan struct{}),
	}
	x.kind(task.Kind{
		Name: "work", Run: x.run, Deadline: time.Minute, MaxCrashes: 3,
		Finish: func(ctx context.Context, f task.Fence, o task.Outcome) error {
			err := c.db.FinishTask(ctx, f, o)
			if err == nil && o.State.Ended() {
				x.note(func() { x.ended[f.TaskID]++ })
			}
			return err
		},
	})
	return x
}

// run is a task of three steps. The second waits for x.open if the input is "wait".
func (x *chaos) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	before := ""
	for n := 1; n <= 3; n++ {
		_, err := r.Step(ctx, "s", "", func(ctx context.Context, s *task.Step) ([]byte, error) {
			// The result of the previous step must be durable when this one runs.
			x.note(func() { x.finished[before] = before != "" })
			before = s.Key()
			x.step(before)
			r.Delta("text")
			if n == 2 && string(r.Task().Input) == "wait" {
				select {
				case <-x.open:
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			return []byte(before), nil
		})
		if err != nil {
			return task.Outcome{}, err
		}
	}
	return task.Outcome{Result: []byte("all three")}, nil
}

func (x *chaos) history(rt *rapid.T) {
	for range 2 {
		x.nodes = append(x.nodes, x.node())
	}
	pick := func(rt *rapid.T) int { return rapid.IntRange(0, len(x.nodes)-1).Draw(rt, "node") }
	rt.Repeat(map[string]func(*rapid.T){
		"submit": func(rt *rapid.T) {
			x.ids = append(x.ids, x.submit(x.nodes[pick(rt)], task.Spec{
				Key:   rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(rt, "key"),
				Input: []byte(rapid.SampledFrom([]string{"", "wait"}).Draw(rt, "input")),
			}).ID)
		},
		"crash": func(rt *rapid.T) {
			i := pick(rt)
			owner := x.nodes[i].Owner()
			x.nodes[i].Die()
			// End the lease now instead of waiting for it, so that the test does not depend on the clock.
			if _, err := x.db.RenewNode(x.t.Context(), owner, -time.Second); err != nil &&
				!errors.Is(err, task.ErrLost) {
				rt.Fatal(err)
			}
			x.nodes[i] = x.node()
		},
		"pause": func(rt *rapid.T) {
			i := pick(rt)
			owner := x.nodes[i].Owner()
			x.nodes[i].Pause()
			if _, err := x.db.RenewNode(x.t.Context(), owner, -time.Second); err != nil &&
				!errors.Is(err, task.ErrLost) {
				rt.Fatal(err)
			}
			_ = x.nodes[i].Renew(x.t.Context())
		},
		"restart": func(rt *rapid.T) {
			i := pick(rt)
			x.stop(x.nodes[i])
			x.nodes[i] = x.node()
		},
		"cancel": func(rt *rapid.T) {
			if len(x.ids) == 0 {
				rt.Skip("no tasks")
			}
			if _, err := x.nodes[pick(rt)].Cancel(x.t.Context(),
				rapid.SampledFrom(x.ids).Draw(rt, "task")); err != nil {
				rt.Fatal(err)
			}
		},
		"late": func(rt *rapid.T) {
			if rapid.IntRange(0, 9).Draw(rt, "seldom") == 0 {
				x.clock.Advance(time.Minute)
			}
		},
		"moment": func(*rapid.T) { time.Sleep(5 * time.Millisecond) },
	})
	close(x.open)
	for _, id := range x.ids {
		x.wait(x.nodes[0], id)
	}
	for _, e := range x.nodes {
		x.stop(e)
	}
	x.check(rt)
}

// check compares the final state of the database with the records of the witness.
func (x *chaos) check(rt *rapid.T) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, wrong := range x.wrong {
		rt.Error(wrong)
	}
	for _, id := range x.ids {
		t, err := x.db.Task(x.t.Context(), id)
		if err != nil || !t.State.Ended() {
			rt.Fatalf("%s: %v %v", id, t.State, err)
		}
		// The reply to the last write of a crashed node may have been lost.
		if x.ended[id] > 1 {
			rt.Errorf("%s ended %d times", id, x.ended[id])
		}
		if t.State == task.StateComplete {
			for n := range 3 {
				if x.started[fmt.Sprintf("%s:%d", id, n+1)] == 0 {
					rt.Errorf("step %d of %s never ran", n+1, id)
				}
			}
		}
		events, err := x.db.TaskEvents(x.t.Context(), id, 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		for i, e := range events {
			if e.Seq != int64(i+1) || (e.Kind == task.EventDone) != (i == len(events)-1) {
				rt.Errorf("event %d of %s is %d %s of %d", i+1, id, e.Seq, e.Kind, len(events))
			}
		}
	}
}
