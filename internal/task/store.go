package task

import (
	"context"
	"time"
)

// Store persists tasks. Each method is one transaction.
type Store interface {
	Queue
	Journal
	Nodes
	Watcher
	Bus
}

// Queue stores tasks and assigns them to nodes.
type Queue interface {
	// InsertTask stores a task. A task with an owner is running at once if no task of its key is queued or running and,
	// with a limit per user, the user has fewer running tasks of the kind and none that waits; otherwise it is queued.
	// If a task with the same id, or with the same user and idempotency key, exists, that task is returned unchanged;
	// if it was submitted with another request, the error is IdempotencyMismatch.
	InsertTask(ctx context.Context, t Task) (Task, error)
	Task(ctx context.Context, id string) (Task, error)
	// ClaimTasks assigns up to n queued tasks of these kinds to the node, oldest first, at most one per key. A
	// node whose lease was swept gets none. backlog reports whether tasks are waiting, even if none could be claimed.
	ClaimTasks(
		ctx context.Context, node string, kinds []string, n int, now time.Time,
	) (tasks []Task, backlog bool, err error)
	// ClaimLimitedTasks assigns up to n queued tasks of one kind to the node, at most one per key, so that no user has
	// more than perUser of them running. Interrupted tasks come first, then tasks of the users with the fewest running
	// tasks, then tasks of the users who were served the longest ago. A task that starts for the first time gets the
	// deadline. As in ClaimTasks, a node whose lease was swept gets none.
	ClaimLimitedTasks(ctx context.Context, node, kind string, n, perUser int, now, deadline time.Time) ([]Task, error)
	// FinishTask ends a task, or queues it again. It returns ErrLost if the fence does not hold, and ErrCancelled,
	// without writing, if the outcome is complete but cancellation was requested.
	FinishTask(ctx context.Context, f Fence, o Outcome) error
	// CancelTask stores a cancellation request and returns the task. An ended task is returned unchanged.
	CancelTask(ctx context.Context, id string, now time.Time) (Task, error)
	// DueTasks returns tasks with a cancellation request and queued tasks past their deadline, up to n of each.
	DueTasks(ctx context.Context, now time.Time, n int) ([]Task, error)
	// PruneTasks deletes the deltas of up to n tasks that ended a day ago. It deletes tasks that ended longer ago than
	// keep, except the last one of each key, of which it keeps the last event. It returns the number of tasks.
	PruneTasks(ctx context.Context, now time.Time, keep time.Duration, n int) (int, error)
	CountTasks(ctx context.Context, now time.Time) (Counts, error)
	// QueuePositions returns how many tasks are ahead of each of these tasks in the queue of its kind. Tasks that are
	// not waiting, and those of other kinds, are left out.
	QueuePositions(ctx context.Context, kinds, ids []string, now time.Time) (map[string]int, error)
}

// Journal stores the steps and events of runs.
type Journal interface {
	// RecordTask writes an entry of a run's journal. It returns ErrLost if the fence does not hold, and is idempotent.
	RecordTask(ctx context.Context, f Fence, e Entry) error
	// TaskSteps returns the steps of a task in order.
	TaskSteps(ctx context.Context, id string) ([]StepRecord, error)
	// TaskEvents returns up to n events with a sequence number above after, in order.
	TaskEvents(ctx context.Context, id string, after int64, n int) ([]Event, error)
	// LastTaskEvent returns the sequence number of the last event, or 0.
	LastTaskEvent(ctx context.Context, id string) (int64, error)
}

// Nodes stores the leases. Where nodes share a database, leases are timed by the clock of the database.
type Nodes interface {
	// JoinNode takes a lease under a new id. With singleNode, it ends all other leases.
	JoinNode(ctx context.Context, node, version string, lease time.Duration, singleNode bool) error
	// RenewNode extends the lease and returns the number of other live nodes. It returns ErrLost if the lease has
	// ended.
	RenewNode(ctx context.Context, node string, lease time.Duration) (peers int, err error)
	// LeaveNode ends the lease and queues the node's tasks again, without counting a crash.
	LeaveNode(ctx context.Context, node string) error
	// SweepNodes queues the tasks of dead nodes again, counting a crash for each, and returns their number.
	SweepNodes(ctx context.Context) (int, error)
	// NodeTasks returns the ids of the tasks that the node owns.
	NodeTasks(ctx context.Context, node string) ([]string, error)
}

// Watcher is polled for tasks that are followed on this node and run on another.
type Watcher interface {
	// TaskProgress returns the progress of each task. Ids without a task are left out.
	TaskProgress(ctx context.Context, ids []string) (map[string]Progress, error)
	// LatestTaskNumbers returns the number of the newest task of each key. Keys without tasks are left out.
	LatestTaskNumbers(ctx context.Context, keys []string) (map[string]int64, error)
	// NextTask returns the first task of a key with a number above after.
	NextTask(ctx context.Context, key string, after int64) (Task, error)
}

// Bus carries hints between nodes that share a database. A hint may be lost or delivered twice.
type Bus interface {
	NotifyTasks(ctx context.Context, from string, hints []Hint) error
	// ListenTasks calls fn with every hint not sent by self until the context or the connection ends. A database that
	// cannot have other nodes (SQLite) returns nil at once.
	ListenTasks(ctx context.Context, self string, fn func(Hint)) error
}

// Hint announces that a task may have changed. A hint without a task announces that a task was queued.
type Hint struct {
	Task, Key string
	Seq       int64
}

// Progress is the last event of a task and whether the task has ended.
type Progress struct {
	Ended bool
	Seq   int64
	// Queued is set while the task is queued. Ahead is its position then, if its kind has limits.
	Queued bool
	Ahead  int
}

// StepState is the state of a step.
type StepState string

// The states of a step.
const (
	StepStarted  StepState = "started"
	StepFinished StepState = "finished"
	StepFailed   StepState = "failed"
)

// StepRecord is a step in the journal.
type StepRecord struct {
	N     int
	Kind  string
	Label string
	State StepState
	// Output is the result of a finished step, or the encoded error of a failed one.
	Output []byte
	// LastSeq is the task's last event when the step ended. Later events belong to an interrupted step.
	LastSeq   int64
	StartedAt time.Time
	EndedAt   *time.Time
}

// Entry is a write to a journal: the current state of some steps, and new events.
type Entry struct {
	Steps  []StepRecord
	Events []Event
	// Progress is set if a step has ended, which resets the crash counter.
	Progress bool
}

// Empty reports whether there is nothing to write.
func (e Entry) Empty() bool { return len(e.Steps) == 0 && len(e.Events) == 0 }

// Counts are the totals over all nodes.
type Counts struct {
	Queued, Running int64
	// Oldest is the age of the task that has been ready to run for the longest time.
	Oldest time.Duration
	// Kinds are the counts by kind. A kind without queued and running tasks is left out.
	Kinds map[string]KindCounts
}

// KindCounts are the counts of one kind of task.
type KindCounts struct {
	Queued, Running int64
	// OldestQueued is how long the first task has been ready to run, and OldestRunning the time since the first start of
	// the longest running task.
	OldestQueued, OldestRunning time.Duration
}
