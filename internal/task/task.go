// Package task runs durable tasks: an accepted task is carried to its end on this node or another, across crashes,
// restarts and lost nodes. A task is a database row. The node that runs it holds a lease, and every write of a run is
// fenced by owner and attempt, so that only one run can change the task. A run journals its work as steps; a finished
// step is never run again. Packages register their kinds of task; this package has no knowledge of agents.
package task

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// State is the state of a task.
type State string

// The states. A task is queued or running until it ends in one of the other three. A running task is queued again when
// its node is lost or shuts down.
const (
	StateQueued    State = "queued"
	StateRunning   State = "running"
	StateComplete  State = "complete"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == StateComplete || s == StateFailed || s == StateCancelled }

// Error codes of tasks that the engine fails.
const (
	CodeCrashLoop = "crash_loop"
	CodeTimeout   = "timeout"
	CodeInternal  = "internal"
)

// Task is a unit of durable work.
type Task struct {
	ID   string
	Kind string
	// Key groups tasks that run one at a time and in order, such as the turns of a thread. It defaults to the ID.
	Key string
	// Number counts the tasks of a key, from 1.
	Number int64
	// UserID is the owner of the task, or empty. Deleting the user deletes the task.
	UserID string
	// CredentialID identifies the credential of the request, or is empty.
	CredentialID string
	// IdemKey is the user's idempotency key and RequestHash the hash of the request. A repeated request returns the
	// same task.
	IdemKey     string
	RequestHash []byte
	// Input is the input of the kind's Run.
	Input []byte

	State State
	// Owner is the lease id of the node that runs the task, or empty.
	Owner string
	// Attempt counts the starts. Writes of an earlier attempt are rejected.
	Attempt int
	// Crashes counts the nodes lost while running the task, since its last finished step.
	Crashes int
	// RunAt is the earliest time at which the task starts.
	RunAt time.Time
	// DeadlineAt is the time at which the task fails if it has not ended.
	DeadlineAt        time.Time
	CancelRequestedAt *time.Time

	// Result is the kind's result. ErrorCode and ErrorDetail give the reason of a failure.
	Result      []byte
	ErrorCode   string
	ErrorDetail string

	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time

	// Start has the conditions under which a new task with an owner starts at once. They are not stored.
	Start Start

	// New is set if this call inserted the task, and not set if a task with the same id existed.
	New bool
}

// Start has the conditions under which a new task starts at once.
type Start struct {
	// MaxPerUser is the limit of running tasks of the user and the kind; 0 means none.
	MaxPerUser int
	// DeadlineAt replaces the deadline of the task if it starts at once; zero leaves it.
	DeadlineAt time.Time
}

// Fence returns the fence for writes on behalf of this task.
func (t Task) Fence() Fence {
	return Fence{TaskID: t.ID, Key: t.Key, UserID: t.UserID, Owner: t.Owner, Attempt: t.Attempt}
}

// Fence guards the writes of a task. It holds while the task is running under this owner in this attempt or, without an
// owner, while the task is queued after this attempt.
type Fence struct {
	TaskID string
	// Key and UserID are copied from the task for a Finish that writes other tables.
	Key, UserID string
	Owner       string
	Attempt     int
}

// Outcome is the result of a run.
type Outcome struct {
	// State defaults to complete. Queued means that the task runs again at RunAt.
	State  State
	Result []byte
	// Code and Detail give the reason of a failure.
	Code, Detail string
	// RunAt is the time at which a queued task may run again.
	RunAt time.Time
	// Event is the payload of the last event. If nil, the engine writes {status, error?}.
	Event []byte
	// At is the time of the end and Entry the part of the journal not written yet. The engine sets both, and they are
	// stored with the outcome.
	At    time.Time
	Entry Entry
}

// RetryAt is the outcome of a run to be retried at a time. Ended steps stay in the journal, failed ones too, so each
// retry must use a new step.
func RetryAt(at time.Time) Outcome { return Outcome{State: StateQueued, RunAt: at} }

// Kind is a kind of task, registered by the package that implements it.
type Kind struct {
	Name string
	// Run does the work. Side effects belong in steps; all other code runs again after a crash. A result returned
	// together with an error is stored as a partial result. The context ends with a cause of this package when the task
	// is cancelled, passes its deadline or is lost, or when the node shuts down.
	Run func(ctx context.Context, r *Run) (Outcome, error)
	// Finish stores the outcome in one transaction with the kind's own rows, and returns ErrLost if the fence does not
	// hold. It may change only the outcome's Event. It may be called again after an error that leaves open whether the
	// transaction was committed. If nil, the engine's own Finish ends only the task.
	Finish func(ctx context.Context, f Fence, o Outcome) error
	// Deadline is the time limit from RunAt, including the time in the queue. For limited kinds it counts from the
	// first start.
	Deadline time.Duration
	// MaxRunning limits the tasks of the kind on one node, MaxPerUser the tasks of one user on all nodes; 0 means no
	// limit. Tasks above the limit wait in the queue without a deadline. Users with few running tasks come first.
	MaxRunning, MaxPerUser int
	// MaxCrashes is how many nodes may be lost without a finished step before the task fails.
	MaxCrashes int
}

// Defaults of a kind.
const (
	DefaultDeadline   = time.Hour
	DefaultMaxCrashes = 3
)

// limited reports whether the kind has a concurrency limit.
func (k Kind) limited() bool { return k.MaxRunning > 0 || k.MaxPerUser > 0 }

// Spec describes a new task.
type Spec struct {
	ID   string
	Kind string
	// Key, UserID, CredentialID, IdemKey, RequestHash and Input are the fields of Task.
	Key, UserID, CredentialID string
	IdemKey                   string
	RequestHash               []byte
	Input                     []byte
	// RunAt is the earliest start; zero means now.
	RunAt time.Time
}

// Event is an entry in the event stream of a task.
type Event struct {
	TaskID string
	// Number is the task's number in its key and Seq the event's number in its task. Both only increase.
	Number  int64
	Seq     int64
	Attempt int
	Kind    string
	// Payload is JSON.
	Payload []byte
}

// The kinds of events written by the engine.
const (
	EventStep      = "step"
	EventDelta     = "delta"
	EventRestarted = "restarted"
	EventDone      = "done"
	// EventQueued is the position of a waiting task, {"position": n}: the number of tasks ahead of it. It is not stored,
	// and has the position in the stream of the event before it.
	EventQueued = "queued"
)

// Position returns the position of the event in the stream of its key.
func (e Event) Position() Position { return Position{Number: e.Number, Seq: e.Seq} }

// Position is a position in the stream of a key, right after the event it identifies.
type Position struct{ Number, Seq int64 }

// String formats the position as the id of a server-sent event.
func (p Position) String() string {
	return strconv.FormatInt(p.Number, 10) + "." + strconv.FormatInt(p.Seq, 10)
}

// ParsePosition parses the format of String.
func ParsePosition(s string) (Position, error) {
	number, seq, ok := strings.Cut(s, ".")
	var p Position
	var err error
	if p.Number, err = strconv.ParseInt(number, 10, 64); err == nil && ok {
		p.Seq, err = strconv.ParseInt(seq, 10, 64)
	}
	if err != nil || !ok || p.Number < 0 || p.Seq < 0 || p.String() != s {
		return Position{}, core.InvalidField("Last-Event-ID", "Not an event id of this stream.")
	}
	return p, nil
}

// Errors of a run; the first four are also the causes with which its context ends.
var (
	// ErrLost means that the task has another owner, has ended or was deleted. Nothing was written.
	ErrLost = errors.New("task: this node no longer owns the task")
	// ErrCancelled means that cancellation was requested.
	ErrCancelled = errors.New("task: cancelled")
	// ErrDeadline means that the task passed its deadline.
	ErrDeadline = errors.New("task: deadline passed")
	// ErrShutdown means that this node is shutting down; the task continues on another or after the restart.
	ErrShutdown = errors.New("task: the node shuts down")
	// ErrJournal means that a run called other steps than an earlier attempt: the kind is not deterministic.
	ErrJournal = errors.New("task: the steps differ from those in the journal")
)

// IdempotencyMismatch is the error for an idempotency key that was used with another request.
func IdempotencyMismatch() *core.Error {
	return &core.Error{
		Kind: core.KindMismatch, Code: "idempotency_mismatch",
		Detail: "This idempotency key was used for another request. Use a new key.",
	}
}

func unknownKind(name string) error { return fmt.Errorf("task: no kind %q is registered", name) }
