package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

// Options say who this node is and how it works.
type Options struct {
	// ID names the node in the database; each lease adds something of its own. It may be empty.
	ID string
	// Version is of the program, for those who look at the nodes.
	Version string
	// Lease is how long a node that says nothing counts as alive, and Renew how often it says so.
	Lease, Renew time.Duration
	// Poll is how often the node looks for what nobody told it.
	Poll time.Duration
	// Gather is how long events wait for others to share a row or a write.
	Gather time.Duration
	// Grace is how long a run may take to stop: when the node shuts down, and when its task is to end.
	Grace time.Duration
	// Room is how many tasks run here at once.
	Room int
	// Alone says that no other process runs tasks of this database (SQLite): nodes before this one are dead, and
	// the lease needs no renewal.
	Alone bool
}

func (o Options) withDefaults() Options {
	defaults := Options{
		Lease: 10 * time.Second, Renew: 2500 * time.Millisecond, Poll: time.Second,
		Gather: 200 * time.Millisecond, Grace: 3 * time.Second, Room: 10_000,
	}
	for _, d := range []struct{ have, want *time.Duration }{
		{&o.Lease, &defaults.Lease},
		{&o.Renew, &defaults.Renew},
		{&o.Poll, &defaults.Poll},
		{&o.Gather, &defaults.Gather},
		{&o.Grace, &defaults.Grace},
	} {
		if *d.have == 0 {
			*d.have = *d.want
		}
	}
	if o.Room == 0 {
		o.Room = defaults.Room
	}
	return o
}

// Engine runs tasks on one node.
type Engine struct {
	store Store
	clock core.Clock
	log   *slog.Logger
	o     Options
	kinds map[string]Kind
	// names are those of the kinds without limits, and limited of the others.
	names, limited []string
	hub            *hub
	bus            *hints

	// base is the context of every write of a run: it outlives whoever asked for the task, and ends with Stop.
	base context.Context
	end  context.CancelFunc
	// loops is the context of what goes on beside the runs.
	loops     context.Context
	stopLoops context.CancelFunc
	looping   sync.WaitGroup
	running   sync.WaitGroup
	wake      chan struct{}
	wakeDue   chan struct{}
	// backlog says that something waits in the queue, as far as is known.
	backlog atomic.Bool

	mu    sync.Mutex
	runs  map[string]*Run
	lease lease
	// open says that tasks may start here.
	open bool

	counters counters
	// What follows belongs to the loop that ticks.
	strays              map[string]bool
	lastOwned, lastTidy time.Time
}

// New returns an engine that does nothing yet.
func New(store Store, clock core.Clock, log *slog.Logger, o Options) *Engine {
	e := &Engine{
		store: store, clock: clock, log: log, o: o.withDefaults(), kinds: map[string]Kind{}, hub: newHub(),
		bus: newHints(), wake: make(chan struct{}, 1), wakeDue: make(chan struct{}, 1), runs: map[string]*Run{}, strays: map[string]bool{},
	}
	e.base, e.end = context.WithCancel(context.Background())
	e.loops, e.stopLoops = context.WithCancel(e.base)
	return e
}

// Register adds a kind of work, before Start. A kind without a name or a Run, or a second one of the same name, is a
// mistake in the program and panics.
func (e *Engine) Register(k Kind) {
	if _, twice := e.kinds[k.Name]; k.Name == "" || k.Run == nil || twice {
		panic("task: kind " + k.Name + " is incomplete or registered twice")
	}
	if k.Deadline == 0 {
		k.Deadline = DefaultDeadline
	}
	if k.MaxCrashes == 0 {
		k.MaxCrashes = DefaultMaxCrashes
	}
	if k.Finish == nil {
		k.Finish = e.store.FinishTask
	} else {
		k.Finish = guarded(k.Finish)
	}
	e.kinds[k.Name] = k
	if k.limited() {
		e.limited = append(e.limited, k.Name)
		return
	}
	e.names = append(e.names, k.Name)
	slices.Sort(e.names)
}

// guarded makes an error of a panic: the code of a kind does not take the node along.
func guarded(finish func(context.Context, Fence, Outcome) error) func(context.Context, Fence, Outcome) error {
	return func(ctx context.Context, f Fence, o Outcome) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return finish(ctx, f, o)
	}
}

// Start joins the nodes, goes on with what was left behind, and returns. The context is for joining alone.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.join(ctx); err != nil {
		return err
	}
	if err := e.sweep(ctx); err != nil {
		e.drop()
		return err
	}
	e.mu.Lock()
	e.open = true
	e.mu.Unlock()
	e.nudge()
	e.looping.Go(e.work)
	if !e.o.Alone {
		e.looping.Go(e.keepLease)
		e.looping.Go(e.listen)
		e.looping.Go(e.sendHints)
	}
	return nil
}

// Stop ends the engine within seconds: nothing is claimed any more, runs are told to stop, and what has not ended
// goes back to the queue, which counts as no crash. Runs that do not stop in time can write nothing from then on.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	e.open = false
	for _, r := range e.runs {
		r.cancel(ErrShutdown)
	}
	e.mu.Unlock()
	e.stopLoops()
	e.looping.Wait()

	stopped := make(chan struct{})
	go func() {
		e.running.Wait()
		close(stopped)
	}()
	patience := time.NewTimer(e.o.Grace)
	defer patience.Stop()
	select {
	case <-stopped:
	case <-patience.C:
	case <-ctx.Done():
	}
	owner := e.drop()
	var err error
	if owner != "" {
		err = e.store.LeaveNode(ctx, owner)
		if err == nil && e.peers() > 0 {
			err = e.store.NotifyTasks(ctx, e.bus.self, append(e.bus.take(), Hint{}))
		}
	}
	e.end()
	return err
}

// Owner returns the id under which a new task may start at once, or nothing when there is no room for one.
func (e *Engine) Owner() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open || len(e.runs) >= e.o.Room {
		return ""
	}
	return e.lease.owner
}

// Prepare makes a task of a spec, to be inserted into the store and then adopted. It asks to run here at once if
// there is room.
func (e *Engine) Prepare(s Spec) (Task, error) {
	k, ok := e.kinds[s.Kind]
	if !ok {
		return Task{}, unknownKind(s.Kind)
	}
	now := e.clock.Now()
	t := Task{
		ID: s.ID, Kind: s.Kind, Key: s.Key, UserID: s.UserID, CredentialID: s.CredentialID, IdemKey: s.IdemKey, RequestHash: s.RequestHash,
		Input: s.Input, State: StateQueued, RunAt: now, CreatedAt: now,
	}
	switch {
	case s.RunAt.After(now):
		t.RunAt = s.RunAt
	case !k.limited(): // whether a limited one may start is for the queue to say
		t.Owner = e.Owner()
	}
	t.DeadlineAt = t.RunAt.Add(k.Deadline)
	if k.limited() {
		t.DeadlineAt = t.RunAt.Add(maxQueued)
	}
	return t, nil
}

// maxQueued is how long a task of a limited kind may wait for its first start: longer than any queue is.
const maxQueued = 365 * 24 * time.Hour

// Submit stores a task and starts it as soon as it may. What it returns is durable.
func (e *Engine) Submit(ctx context.Context, s Spec) (Task, error) {
	t, err := e.Prepare(s)
	if err != nil {
		return Task{}, err
	}
	if t, err = e.store.InsertTask(ctx, t); err != nil {
		return Task{}, err
	}
	e.Adopt(t)
	return t, nil
}

// Adopt takes charge of a task that was just inserted: one that is running under this node runs, independently of
// whoever asked for it; for a queued one somebody is found. A task that was there before is left alone.
func (e *Engine) Adopt(t Task) {
	if !t.New {
		return
	}
	if t.State == StateRunning {
		e.start(t, true)
	} else {
		e.backlog.Store(true)
		e.nudge()
		e.bus.add(e.peers(), Hint{})
	}
	e.hub.wake(t.ID, t.Key, nil)
	e.bus.add(e.peers(), Hint{Task: t.ID, Key: t.Key})
}

// start runs a task that this node owns. A fresh one has no journal to read. It does nothing when the task runs here
// already or is not ours; the sweep sees to those.
func (e *Engine) start(t Task, fresh bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open || t.Owner != e.lease.owner {
		return
	}
	if r := e.runs[t.ID]; r != nil && !r.isLost() {
		return
	}
	r := newRun(e, t, fresh)
	e.runs[t.ID] = r
	e.counters.started(t)
	e.running.Go(r.run)
}

// leave takes a run off the books and tells those who follow its task. ended is the task if it has ended.
func (e *Engine) leave(r *Run, ended *Task) {
	e.mu.Lock()
	if e.runs[r.task.ID] == r {
		delete(e.runs, r.task.ID)
	}
	e.mu.Unlock()
	e.tell(r.task, ended)
}

// tell wakes those who follow a task, and whoever could go on with the next of its key.
func (e *Engine) tell(t Task, ended *Task) {
	e.hub.wake(t.ID, t.Key, ended)
	peers := e.peers()
	e.bus.add(peers, Hint{Task: t.ID, Key: t.Key})
	if e.backlog.Load() {
		e.nudge()
		e.bus.add(peers, Hint{})
	}
}

// runsHere reports whether the task has a run on this node that will tell of its end.
func (e *Engine) runsHere(id string) bool {
	return e.run(id) != nil
}

func (e *Engine) run(id string) *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// Cancel asks for the end of a task, wherever it runs, and reports whether there was something to end. What is
// queued has ended when it returns; what runs is told at once here, and within a second elsewhere. Once it has
// returned true the task will not complete, whatever happens to the nodes.
func (e *Engine) Cancel(ctx context.Context, id string) (bool, error) {
	t, err := e.store.CancelTask(ctx, id, e.clock.Now())
	if err != nil || t.State.Ended() {
		return false, err
	}
	if r := e.run(id); r != nil {
		r.stop(ErrCancelled)
		return true, nil
	}
	if _, known := e.kinds[t.Kind]; known && t.State == StateQueued {
		err := e.endQueued(ctx, t)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, ErrLost) { // the wish is stored all the same
			e.log.WarnContext(ctx, "a cancelled task has not ended yet", "task", id, "error", err)
		}
	}
	// It runs, or has just begun to, or is for others to end.
	e.bus.add(e.peers(), Hint{Task: t.ID, Key: t.Key})
	e.nudge()
	return true, nil
}

// nudge makes the working loop look at the queue now.
func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
