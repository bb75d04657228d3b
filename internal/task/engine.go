package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/core"
)

// Deps are the dependencies of an Engine.
type Deps struct {
	Store Store
	Clock core.Clock
	Log   *slog.Logger
	// Tracer traces the runs and their steps; nil means no traces.
	Tracer Tracer `dep:"optional"`
}

// Options identify a node and tune its engine. Zero durations and counts take the defaults.
type Options struct {
	// ID prefixes the lease ids of this node; it may be empty. A random suffix makes each lease id unique.
	ID string
	// Version is the version of the program, stored with the lease for operators.
	Version string
	// Lease is the lifetime of a lease that is not renewed. Renew is the renewal interval.
	Lease, Renew time.Duration
	// Poll is the interval of the housekeeping loop, which finds work that no notification announced.
	Poll time.Duration
	// EventBatchDelay is how long an event waits for further events to share its row or write.
	EventBatchDelay time.Duration
	// Grace is how long a run may take to stop, at shutdown or after its task was cancelled, before it is abandoned.
	Grace time.Duration
	// Keep is how long ended tasks are kept, with their steps and events. The last task of a key is kept longer.
	Keep time.Duration
	// MaxRunning limits the tasks that run on this node at once.
	MaxRunning int
	// SingleNode means that no other process runs tasks of this database (SQLite). Joining then ends all earlier
	// leases, and the lease needs no renewal.
	SingleNode bool
}

func (o Options) withDefaults() Options {
	o.Lease = cmp.Or(o.Lease, 10*time.Second)
	o.Renew = cmp.Or(o.Renew, 2500*time.Millisecond)
	o.Poll = cmp.Or(o.Poll, time.Second)
	o.EventBatchDelay = cmp.Or(o.EventBatchDelay, 200*time.Millisecond)
	o.Grace = cmp.Or(o.Grace, 3*time.Second)
	o.Keep = cmp.Or(o.Keep, 30*24*time.Hour)
	o.MaxRunning = cmp.Or(o.MaxRunning, 10_000)
	return o
}

// Engine runs tasks on one node.
type Engine struct {
	store   Store
	clock   core.Clock
	log     *slog.Logger
	tracer  Tracer // may be nil
	options Options
	kinds   map[string]Kind
	// names lists the kinds without limits, limited the others.
	names, limited []string
	hub            *hub
	hints          *hints
	// base is the context of every write of a run. It outlives the request that submitted the task and ends with Stop.
	base       context.Context
	cancelBase context.CancelFunc
	// loopCtx is the context of the background loops.
	loopCtx   context.Context
	stopLoops context.CancelFunc
	loopGroup sync.WaitGroup
	runGroup  sync.WaitGroup
	claimNow  chan struct{}
	endDueNow chan struct{}
	// backlog is set while the queue is believed to hold tasks that are ready to run.
	backlog atomic.Bool

	mu    sync.Mutex
	runs  map[string]*Run
	lease lease
	// accepting is set between Start and Stop, while tasks may start on this node.
	accepting bool
	// reserved counts, for each limited kind, the tasks that are being inserted or claimed to start on this node.
	reserved map[string]int
	// full has the limited kinds whose tasks may be waiting for this node. New tasks of the kind queue behind them.
	full map[string]bool

	counters counters
	// The fields below are used by the housekeeping loop only.
	mismatched               map[string]bool
	lastReconcile, lastPrune time.Time
}

// New returns an engine that does not run until Start. It panics if a dependency is missing.
func New(d Deps, o Options) *Engine {
	core.RequireDeps(d)
	e := &Engine{
		store: d.Store, clock: d.Clock, log: d.Log, tracer: d.Tracer, options: o.withDefaults(),
		kinds: map[string]Kind{}, runs: map[string]*Run{}, mismatched: map[string]bool{},
		reserved: map[string]int{}, full: map[string]bool{},
		hub: newHub(), hints: newHints(), claimNow: make(chan struct{}, 1), endDueNow: make(chan struct{}, 1),
	}
	e.base, e.cancelBase = context.WithCancel(context.Background())
	e.loopCtx, e.stopLoops = context.WithCancel(e.base)
	return e
}

// Register adds a kind of work. It must be called before Start, and panics if the kind has no name or no Run, or if the
// name is taken.
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
		k.Finish = recoverPanics(k.Finish)
	}
	e.kinds[k.Name] = k
	if k.limited() {
		e.limited = append(e.limited, k.Name)
		return
	}
	e.names = append(e.names, k.Name)
	slices.Sort(e.names)
}

// Kinds returns the names of the registered kinds, sorted.
func (e *Engine) Kinds() []string { return slices.Sorted(maps.Keys(e.kinds)) }

// recoverPanics turns a panic in a kind's Finish into an error, so that it does not crash the node.
func recoverPanics(finish func(context.Context, Fence, Outcome) error) func(context.Context, Fence, Outcome) error {
	return func(ctx context.Context, f Fence, o Outcome) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return finish(ctx, f, o)
	}
}

// Start takes a lease, queues the tasks of dead nodes again, starts the background loops and returns. The context
// covers only the calls made before Start returns.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.join(ctx); err != nil {
		return err
	}
	if err := e.sweep(ctx); err != nil {
		e.releaseLease()
		return err
	}
	e.mu.Lock()
	e.accepting = true
	e.mu.Unlock()
	e.wakeClaim()
	e.loopGroup.Go(e.runLoop)
	if !e.options.SingleNode {
		e.loopGroup.Go(e.keepLease)
		e.loopGroup.Go(e.listen)
		e.loopGroup.Go(e.sendHints)
	}
	return nil
}

// Stop shuts the engine down within seconds. It stops claiming, cancels the runs and waits up to Options.Grace for
// them; unfinished tasks go back to the queue without counting as a crash. The fence rejects the writes of a run that
// has not stopped by then.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	e.accepting = false
	for _, r := range e.runs {
		r.cancel(ErrShutdown)
	}
	e.mu.Unlock()
	e.stopLoops()
	e.loopGroup.Wait()

	stopped := make(chan struct{})
	go func() {
		e.runGroup.Wait()
		close(stopped)
	}()
	patience := time.NewTimer(e.options.Grace)
	defer patience.Stop()
	select {
	case <-stopped:
	case <-patience.C:
	case <-ctx.Done():
	}
	owner := e.releaseLease()
	var err error
	if owner != "" {
		err = e.store.LeaveNode(ctx, owner)
		if err == nil && e.peers() > 0 {
			err = e.store.NotifyTasks(ctx, e.hints.self, append(e.hints.take(), Hint{}))
		}
	}
	e.cancelBase()
	return err
}

// Owner returns the lease id under which a new task may start at once, or "" if the node is full or shutting down.
func (e *Engine) Owner() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.accepting || len(e.runs) >= e.options.MaxRunning {
		return ""
	}
	return e.lease.owner
}

// newTask builds the task described by a spec.
func (e *Engine) newTask(k Kind, s Spec) Task {
	now := e.clock.Now()
	t := Task{
		ID: s.ID, Kind: s.Kind, Key: s.Key, UserID: s.UserID, CredentialID: s.CredentialID,
		IdemKey: s.IdemKey, RequestHash: s.RequestHash, Input: s.Input,
		State: StateQueued, RunAt: now, CreatedAt: now,
	}
	if s.RunAt.After(now) {
		t.RunAt = s.RunAt
	}
	t.DeadlineAt = t.RunAt.Add(k.Deadline)
	t.Start = Start{MaxPerUser: k.MaxPerUser, DeadlineAt: t.DeadlineAt}
	if k.limited() {
		t.DeadlineAt = t.RunAt.Add(maxQueued)
	}
	return t
}

// maxQueued is the deadline of a task of a limited kind until its first start. It is longer than any real queue.
const maxQueued = 365 * 24 * time.Hour

// Submit stores a task and starts it as soon as possible. The returned task is durable.
func (e *Engine) Submit(ctx context.Context, s Spec) (Task, error) {
	return e.SubmitWith(ctx, s, e.store.InsertTask)
}

// SubmitWith is Submit with another insert, for tasks that are stored together with other rows. If the node has
// capacity, the task names it as owner and so starts at once.
func (e *Engine) SubmitWith(
	ctx context.Context, s Spec, insert func(ctx context.Context, t Task) (Task, error),
) (Task, error) {
	k, ok := e.kinds[s.Kind]
	if !ok {
		return Task{}, unknownKind(s.Kind)
	}
	t := e.newTask(k, s)
	if !t.RunAt.After(t.CreatedAt) {
		if t.Owner = e.reserveNew(k); t.Owner != "" {
			defer e.release(k, 1)
		}
	}
	t, err := insert(ctx, t)
	if err != nil {
		return Task{}, err
	}
	e.adopt(ctx, t)
	return t, nil
}

// adopt takes over a task that was just inserted. A task that is running under this node starts here, independent of
// the request that submitted it; a queued task is announced to all nodes. Tasks that existed before are left alone. The
// context is that of the request, for traces.
func (e *Engine) adopt(ctx context.Context, t Task) {
	if !t.New {
		return
	}
	if e.tracer != nil {
		e.tracer.Submitted(ctx, t)
	}
	if t.State == StateRunning {
		e.start(t, true)
	} else {
		e.backlog.Store(true)
		e.wakeClaim()
		e.hints.add(e.peers(), Hint{})
	}
	e.hub.wake(t.ID, t.Key, nil)
	e.hints.add(e.peers(), Hint{Task: t.ID, Key: t.Key})
}

// start runs a task that this node owns. A fresh task has no journal to read. start does nothing if the task already
// runs here or belongs to another lease; sweep and reconcile handle those.
func (e *Engine) start(t Task, fresh bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.accepting || t.Owner != e.lease.owner {
		return
	}
	if r := e.runs[t.ID]; r != nil && !r.isLost() {
		return
	}
	r := newRun(e, t, fresh)
	e.runs[t.ID] = r
	e.counters.started(t)
	e.runGroup.Go(r.run)
}

// removeRun forgets a run and notifies the watchers of its task. ended is the task if it has ended, else nil.
func (e *Engine) removeRun(r *Run, ended *Task) {
	e.mu.Lock()
	if e.runs[r.task.ID] == r {
		delete(e.runs, r.task.ID)
	}
	e.mu.Unlock()
	e.notify(r.task, ended)
}

// notify wakes the watchers of a task, and the nodes that could claim the next task of its key.
func (e *Engine) notify(t Task, ended *Task) {
	e.hub.wake(t.ID, t.Key, ended)
	peers := e.peers()
	e.hints.add(peers, Hint{Task: t.ID, Key: t.Key})
	if e.isFull(t.Kind) {
		e.wakeClaim()
	}
	if e.backlog.Load() {
		e.wakeClaim()
		e.hints.add(peers, Hint{})
	}
}

// runsHere reports whether the task has a run on this node, which will notify its watchers when it ends.
func (e *Engine) runsHere(id string) bool {
	return e.run(id) != nil
}

func (e *Engine) run(id string) *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// Cancel requests the end of a task on any node and reports whether the task had not ended yet. A queued task has ended
// when Cancel returns. A running one is cancelled at once if it runs here, and within Options.Poll on another node.
// Once Cancel has returned true, the task cannot complete, even if nodes crash.
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
		if !errors.Is(err, ErrLost) { // the request is stored, so the next endDue tries again
			e.log.WarnContext(ctx, "a cancelled task has not ended yet", "task", id, "error", err)
		}
	}
	// The task is running, was just claimed, or is of a kind that only other nodes know.
	e.hints.add(e.peers(), Hint{Task: t.ID, Key: t.Key})
	e.wakeClaim()
	return true, nil
}

// wakeClaim makes the housekeeping loop claim tasks now.
func (e *Engine) wakeClaim() {
	select {
	case e.claimNow <- struct{}{}:
	default:
	}
}
