package task

import (
	"context"
	"time"
)

// Store keeps tasks. Each method is one transaction.
type Store interface {
	Queue
	Journal
	Nodes
	Watcher
	Bus
}

// Queue holds tasks and hands them out.
type Queue interface {
	// InsertTask stores a task. With an owner it is running at once if nothing of its key is queued or running;
	// otherwise it is queued. One with the same id, or the same idempotency key of the same user, is returned
	// as it is; if its request was another, the error is IdempotencyMismatch.
	InsertTask(ctx context.Context, t Task) (Task, error)
	Task(ctx context.Context, id string) (Task, error)
	// ClaimTasks makes up to n queued tasks of these kinds run under the node, in order, one for each key.
	// backlog says that tasks wait, whether or not they could be claimed.
	ClaimTasks(ctx context.Context, node string, kinds []string, n int, now time.Time) (tasks []Task, backlog bool, err error)
	// ClaimLimitedTasks makes up to n queued tasks of one kind run under the node, one for each key, so that no user has
	// more than perUser of them running. The user with the fewest running comes first. A task that starts for the first
	// time gets the deadline.
	ClaimLimitedTasks(ctx context.Context, node, kind string, n, perUser int, now, deadline time.Time) ([]Task, error)
	// FinishTask ends a task, or queues it again, if the fence holds, else it returns ErrLost. A task whose
	// cancellation was asked for does not complete: that is ErrCancelled, and nothing is written.
	FinishTask(ctx context.Context, f Fence, o Outcome) error
	// CancelTask notes that the task's end is wanted and returns it; one that has ended is left as it is.
	CancelTask(ctx context.Context, id string, now time.Time) (Task, error)
	// DueTasks returns tasks whose end is wanted, and queued ones whose time is up, up to n of each.
	DueTasks(ctx context.Context, now time.Time, n int) ([]Task, error)
	// PruneTasks deletes the deltas of up to n tasks that ended long enough ago and returns of how many.
	PruneTasks(ctx context.Context, now time.Time, n int) (int, error)
	CountTasks(ctx context.Context, now time.Time) (Counts, error)
}

// Journal holds what the runs of tasks did.
type Journal interface {
	// RecordTask writes a part of a run's journal if the fence holds, else it returns ErrLost. The same again
	// changes nothing.
	RecordTask(ctx context.Context, f Fence, e Entry) error
	// TaskSteps returns the steps of a task in order.
	TaskSteps(ctx context.Context, id string) ([]StepRecord, error)
	// TaskEvents returns up to n events after the one with this number, in order.
	TaskEvents(ctx context.Context, id string, after int64, n int) ([]Event, error)
	// LastTaskEvent returns the number of the last event, or 0.
	LastTaskEvent(ctx context.Context, id string) (int64, error)
}

// Nodes holds the leases, by the clock of the database where nodes share one.
type Nodes interface {
	// JoinNode takes a lease under a new id. A node that has the database to itself says alone: the others are
	// dead then.
	JoinNode(ctx context.Context, node, version string, lease time.Duration, alone bool) error
	// RenewNode extends the lease and returns how many other nodes live. A lease that has ended is ErrLost.
	RenewNode(ctx context.Context, node string, lease time.Duration) (peers int, err error)
	// LeaveNode gives the lease up and queues the node's tasks again, which counts as no crash.
	LeaveNode(ctx context.Context, node string) error
	// SweepNodes queues the tasks of dead nodes again, which counts as a crash, and returns how many.
	SweepNodes(ctx context.Context) (int, error)
	// NodeTasks returns the ids of the tasks that run under the node.
	NodeTasks(ctx context.Context, node string) ([]string, error)
}

// Watcher answers those who follow tasks from another node.
type Watcher interface {
	// TaskMarks returns how far each of these tasks is; those that do not exist are left out.
	TaskMarks(ctx context.Context, ids []string) (map[string]Mark, error)
	// KeyMarks returns the number of the newest task of each of these keys; those without are left out.
	KeyMarks(ctx context.Context, keys []string) (map[string]int64, error)
	// NextTask returns the first task of a key after the one with this number.
	NextTask(ctx context.Context, key string, after int64) (Task, error)
}

// Bus carries hints between nodes that share a database. Hints may be lost, and come twice.
type Bus interface {
	NotifyTasks(ctx context.Context, from string, hints []Hint) error
	// ListenTasks calls fn with the hints that come from others than self until the context or the connection ends. Without
	// other nodes to hear it returns nil at once.
	ListenTasks(ctx context.Context, self string, fn func(Hint)) error
}

// Hint says that something may have happened to a task. Without a task it says that something was queued.
type Hint struct {
	Task, Key string
	Seq       int64
}

// Mark is how far a task is.
type Mark struct {
	Ended bool
	Seq   int64
}

// StepState is where a step stands.
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
	// Output is what a finished step returned, or the error of a failed one.
	Output []byte
	// LastSeq is the task's last event when the step ended: what came after it is of something that was cut off.
	LastSeq   int64
	StartedAt time.Time
	EndedAt   *time.Time
}

// Entry is a part of a journal: steps as they are now, and new events.
type Entry struct {
	Steps  []StepRecord
	Events []Event
	// Progress says that a step has ended, which forgives the crashes before it.
	Progress bool
}

// Empty reports whether there is nothing to write.
func (e Entry) Empty() bool { return len(e.Steps) == 0 && len(e.Events) == 0 }

// Counts is the state of all tasks.
type Counts struct {
	Queued, Running int64
	// Oldest is how long the longest waiting task has been kept waiting.
	Oldest time.Duration
}
