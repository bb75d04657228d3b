package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// backends are the databases that every test runs on.
var backends = []struct {
	name string
	open func(testing.TB) store.Options
}{
	{"sqlite", func(t testing.TB) store.Options {
		return store.Options{Path: fixture.SQLite(t)}
	}},
	{"postgres", func(t testing.TB) store.Options {
		return store.Options{URL: testkit.PostgresTemplate(t, "task", func(url string) error {
			db, err := store.Open(context.Background(), store.Options{URL: url})
			if err != nil {
				return err
			}
			return db.Close()
		})}
	}},
}

// cluster is a database with the nodes that run on it.
type cluster struct {
	t     testing.TB
	db    *store.DB
	clock *testkit.Clock
	kinds []task.Kind
	// options apply to every node. They poll more often than the defaults.
	options task.Options
}

// onBoth runs a test on an empty database of each backend.
func onBoth(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Helper()
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, newCluster(t, b.open(t)))
		})
	}
}

func newCluster(t testing.TB, o store.Options) *cluster {
	t.Helper()
	db, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &cluster{t: t, db: db, clock: testkit.NewClock(), options: task.Options{
		Poll: 20 * time.Millisecond, EventBatchDelay: 5 * time.Millisecond, Grace: 500 * time.Millisecond,
	}}
}

// kind registers a kind on all nodes started later.
func (c *cluster) kind(k task.Kind) { c.kinds = append(c.kinds, k) }

// work registers the kind "work".
func (c *cluster) work(run func(ctx context.Context, r *task.Run) (task.Outcome, error)) {
	c.kind(task.Kind{Name: "work", Run: run})
}

// node starts an engine that is stopped at the end of the test.
func (c *cluster) node(change ...func(*task.Options)) *task.Engine {
	c.t.Helper()
	o := c.options
	for _, f := range change {
		f(&o)
	}
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(c.t.Output(), nil))
	}
	e := task.New(task.Deps{Store: c.db, Clock: c.clock, Log: log}, o)
	for _, k := range c.kinds {
		e.Register(k)
	}
	if err := e.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { c.stop(e) })
	return e
}

func (c *cluster) stop(e *task.Engine) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		c.t.Errorf("stop: %v", err)
	}
}

func (c *cluster) submit(e *task.Engine, s task.Spec) task.Task {
	c.t.Helper()
	if s.ID == "" {
		s.ID = core.NewID("tsk")
	}
	if s.Kind == "" {
		s.Kind = "work"
	}
	t, err := e.Submit(c.t.Context(), s)
	if err != nil {
		c.t.Fatal(err)
	}
	return t
}

// wait returns the ended task.
func (c *cluster) wait(e *task.Engine, id string) task.Task {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 4*time.Minute)
	defer cancel()
	t, err := e.Wait(ctx, id)
	if err == nil {
		err = ctx.Err() // Wait timed out and only its final read found the end
	}
	if err != nil {
		c.t.Fatalf("wait for %s (%s): %v", id, t.State, err)
	}
	return t
}

// until polls a condition that another goroutine makes true.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s did not come about", what)
		}
	}
}

func (c *cluster) read(id string) task.Task {
	c.t.Helper()
	t, err := c.db.Task(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return t
}

func (c *cluster) is(id string, s task.State) func() bool {
	return func() bool { return c.read(id).State == s }
}

// events reads all events of a task.
func (c *cluster) events(id string) []task.Event {
	c.t.Helper()
	events, err := c.db.TaskEvents(c.t.Context(), id, 0, 10_000)
	if err != nil {
		c.t.Fatal(err)
	}
	return events
}

// format formats events for comparison.
func format(events []task.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = fmt.Sprintf("%d.%d %s %s", e.Number, e.Seq, e.Kind, e.Payload)
	}
	return out
}

// joinDeltas merges adjacent deltas and renumbers the events, because a slow machine may write each delta separately.
func joinDeltas(t testing.TB, events []task.Event) []task.Event {
	t.Helper()
	type delta struct {
		Text string `json:"text"`
	}
	read := func(e task.Event) (d delta) {
		if err := json.Unmarshal(e.Payload, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	var joined []task.Event
	for _, e := range events {
		if last := len(joined) - 1; last >= 0 && e.Kind == task.EventDelta && joined[last].Kind == task.EventDelta {
			both := read(joined[last])
			both.Text += read(e).Text
			joined[last].Payload, _ = json.Marshal(both) // strings always marshal
			continue
		}
		e.Seq = int64(len(joined) + 1)
		joined = append(joined, e)
	}
	return joined
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// output returns a step that returns a text.
func output(text string) func(context.Context, *task.Step) ([]byte, error) {
	return func(context.Context, *task.Step) ([]byte, error) { return []byte(text), nil }
}

// hang blocks until the run is cancelled.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestSubmittedTaskRunsAtOnceAndWaitReturnsItsResult(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.options.Poll = time.Hour // the task must start without polling
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			a, err := r.Step(ctx, "search", "Searching", output("found "))
			if err != nil {
				return task.Outcome{}, err
			}
			r.Delta("Hel")
			r.Delta("lo")
			r.Emit("note", []byte(`{"x":1}`))
			b, err := r.Step(ctx, "answer", "Answering",
				func(context.Context, *task.Step) ([]byte, error) { return r.Task().Input, nil })
			return task.Outcome{Result: append(a, b...)}, err
		})
		e := c.node()
		submitted := c.submit(e, task.Spec{Input: []byte("it"), Key: "thr_1"})
		same(t, "state", submitted.State, task.StateRunning)
		got := c.wait(e, submitted.ID)
		same(t, "result", string(got.Result), "found it")
		same(t, "state", got.State, task.StateComplete)
		stored := c.read(submitted.ID)
		same(t, "what was waited for", got.Fence(), stored.Fence())
		same(t, "result in the store", string(stored.Result), "found it")
		same(t, "events", format(joinDeltas(t, c.events(got.ID))), []string{
			`1.1 step {"n":1,"kind":"search","label":"Searching","state":"started"}`,
			`1.2 step {"n":1,"kind":"search","label":"Searching","state":"finished"}`,
			`1.3 delta {"text":"Hello"}`,
			`1.4 note {"x":1}`,
			`1.5 step {"n":2,"kind":"answer","label":"Answering","state":"started"}`,
			`1.6 step {"n":2,"kind":"answer","label":"Answering","state":"finished"}`,
			`1.7 done {"status":"complete"}`,
		})
	})
}

func TestTasksOfOneKeyRunSequentiallyInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var running, most atomic.Int32
		var mu sync.Mutex
		var order []string
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			mu.Lock()
			order = append(order, r.Task().ID)
			mu.Unlock()
			_, err := r.Step(ctx, "s", "", output(""))
			return task.Outcome{}, err
		})
		nodes := []*task.Engine{c.node(), c.node()}
		tasks := make([]task.Task, 50)
		var wg sync.WaitGroup
		var atOnce atomic.Int32
		for i := range tasks {
			wg.Go(func() {
				tasks[i] = c.submit(nodes[i%2], task.Spec{Key: "thr_1"})
				if tasks[i].State == task.StateRunning {
					atOnce.Add(1)
				}
			})
		}
		wg.Wait()
		numbers := map[string]int64{}
		for i, submitted := range tasks {
			same(t, "state", c.wait(nodes[(i+1)%2], submitted.ID).State, task.StateComplete)
			numbers[submitted.ID] = submitted.Number
		}
		same(t, "most at once", most.Load(), 1)
		if atOnce.Load() == 0 {
			t.Error("the first did not start at once")
		}
		same(t, "runs", len(order), 50)
		for i, id := range order {
			same(t, "number of the next to run", numbers[id], i+1)
		}
	})
}

func TestTaskFailureHidesInternalErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		for name, run := range map[string]func() (task.Outcome, error){
			"public": func() (task.Outcome, error) {
				return task.Outcome{Result: []byte("half")}, core.NotFound("model")
			},
			"private": func() (task.Outcome, error) { return task.Outcome{}, errors.New("password") },
			"panic":   func() (task.Outcome, error) { panic("password") },
		} {
			c.kind(task.Kind{Name: name, Run: func(context.Context, *task.Run) (task.Outcome, error) { return run() }})
		}
		e := c.node()
		for name, want := range map[string]string{
			"public":  "failed not_found There is no such model. half",
			"private": "failed internal Something went wrong on our side. ",
			"panic":   "failed internal Something went wrong on our side. ",
		} {
			got := c.wait(e, c.submit(e, task.Spec{Kind: name}).ID)
			same(t, name, fmt.Sprintf("%s %s %s %s", got.State, got.ErrorCode, got.ErrorDetail, got.Result), want)
		}
		stats, err := e.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "failures", stats.Failed, map[string]int64{"internal": 2, "not_found": 1})
		same(t, "counts", stats.Counts, task.Counts{})
	})
}

func TestRepeatedSubmitReturnsTheSameTask(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var runs atomic.Int32
		c.work(func(context.Context, *task.Run) (task.Outcome, error) {
			runs.Add(1)
			return task.Outcome{}, nil
		})
		e := c.node()
		spec := task.Spec{ID: core.NewID("tsk"), RequestHash: []byte("a")}
		first := c.submit(e, spec)
		again := c.submit(e, spec)
		c.wait(e, first.ID)
		same(t, "id", again.ID, first.ID)
		same(t, "new", []bool{first.New, again.New}, []bool{true, false})
		same(t, "runs", runs.Load(), 1)
		spec.RequestHash = []byte("b")
		spec.Kind = "work"
		if _, err := e.Submit(t.Context(), spec); !core.IsKind(err, core.KindMismatch) {
			t.Errorf("another request with the same id: %v", err)
		}
	})
}

func TestTaskDoesNotStartBeforeRunAt(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		var tries atomic.Int32
		c.work(func(ctx context.Context, r *task.Run) (task.Outcome, error) {
			// Each retry is a new step.
			for {
				ran := false
				_, err := r.Step(ctx, "deliver", "", func(context.Context, *task.Step) ([]byte, error) {
					if ran = true; tries.Add(1) < 3 {
						return nil, errors.New("refused")
					}
					return nil, nil
				})
				if err == nil {
					return task.Outcome{}, nil
				}
				if ran {
					return task.RetryAt(c.clock.Now().Add(time.Minute)), nil
				}
			}
		})
		e := c.node()
		id := c.submit(e, task.Spec{RunAt: c.clock.Now().Add(time.Minute)}).ID
		for n := range 3 {
			if n > 0 {
				c.until("the try", func() bool { return tries.Load() == int32(n) })
				c.until("the queue", c.is(id, task.StateQueued))
			}
			time.Sleep(2 * c.options.Poll) // gives a premature start the time to happen
			same(t, "tries before its time", tries.Load(), n)
			c.clock.Advance(time.Minute)
		}
		got := c.wait(e, id)
		same(t, "state", got.State, task.StateComplete)
		same(t, "tries", tries.Load(), 3)
		same(t, "attempt, crashes", []int{c.read(id).Attempt, c.read(id).Crashes}, []int{3, 0})
	})
}
