// Package task runs durable work: what was accepted is carried to an end, on this node or another, through crashes,
// restarts and lost nodes. A task is a row; a node that runs it holds a lease, and every write of a runner is fenced,
// so that at most one runner ever counts. What a task does is journaled step by step: a finished step is never run
// again. The package knows nothing of agents; owners of a kind of work register it.
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

// State is where a task stands.
type State string

// The states. A task is queued or running until it ends in one of the other three; a running one is queued again
// when its node is lost or shuts down.
const (
	StateQueued    State = "queued"
	StateRunning   State = "running"
	StateComplete  State = "complete"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// Ended reports whether nothing will ever change again.
func (s State) Ended() bool { return s == StateComplete || s == StateFailed || s == StateCancelled }

// The reasons for which the engine itself fails a task.
const (
	CodeCrashLoop = "crash_loop"
	CodeTimeout   = "timeout"
	CodeInternal  = "internal"
)

// Task is one piece of durable work.
type Task struct {
	ID   string
	Kind string
	// Key is what runs one at a time and in order: the thread of a turn. A task without one has its own id.
	Key string
	// Number counts the tasks of a key, from 1.
	Number int64
	// UserID is whose task it is, or empty; it goes with the user.
	UserID string
	// CredentialID is what it was asked for with, or empty.
	CredentialID string
	// IdemKey names the request within a user and RequestHash says what it asked: the same again is the same task.
	IdemKey     string
	RequestHash []byte
	// Input is what the kind needs to run it.
	Input []byte

	State State
	// Owner is the node that runs it, while it is running.
	Owner string
	// Attempt counts how often it was started; a runner of an earlier attempt can write nothing.
	Attempt int
	// Crashes counts the nodes lost under it since it last finished a step.
	Crashes int
	// RunAt is the time before which it does not start.
	RunAt time.Time
	// DeadlineAt is when it fails if it has not ended.
	DeadlineAt        time.Time
	CancelRequestedAt *time.Time

	// Result is what it came to, as its kind writes it; ErrorCode and ErrorDetail say why it failed.
	Result      []byte
	ErrorCode   string
	ErrorDetail string

	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time

	// New says that this very call of the store inserted it, not an earlier one with the same id.
	New bool
}

// Fence returns what a write on behalf of this task, as it stands here, must find unchanged.
func (t Task) Fence() Fence {
	return Fence{TaskID: t.ID, Key: t.Key, UserID: t.UserID, Owner: t.Owner, Attempt: t.Attempt}
}

// Fence is the right to write to a task: as long as it is run by this owner in this attempt, or, without an owner,
// as long as it waits in the queue after this attempt.
type Fence struct {
	TaskID string
	// Key and UserID are the task's, for those who write more than the task when it ends.
	Key, UserID string
	Owner       string
	Attempt     int
}

// Outcome is how a run ended.
type Outcome struct {
	// State is complete unless set. Queued means "again, not before RunAt".
	State  State
	Result []byte
	// Code and Detail say why it failed.
	Code, Detail string
	// RunAt is when a queued task may run again.
	RunAt time.Time
	// Event is the payload of the last event; nil lets the engine write {status, error?}.
	Event []byte
	// At is the time of the end, and Entry what the run had not written yet. The engine sets them, and they are
	// stored with the end.
	At    time.Time
	Entry Entry
}

// Later is the outcome of a run that is to be tried again at a time: retries with backoff. Steps that have ended,
// well or badly, stay as they are, so a new try is a new step.
func Later(at time.Time) Outcome { return Outcome{State: StateQueued, RunAt: at} }

// Kind is a sort of work, registered by its owner.
type Kind struct {
	Name string
	// Run does the work. All that has an effect outside belongs into steps; the rest runs again after a crash.
	// What it returns beside an error (a partial result) is kept too. Its context ends, with a cause of this
	// package, when the task is cancelled, is late, is lost, or the node shuts down.
	Run func(ctx context.Context, r *Run) (Outcome, error)
	// Finish stores the outcome as it is, in one transaction with whatever else must come with it, and returns
	// ErrLost when the fence did not hold. Only the outcome's Event is its own to set. Nil means the engine's own, which ends the task and nothing more. It may be called
	// again after an error that did not say whether it was carried out.
	Finish func(ctx context.Context, f Fence, o Outcome) error
	// Deadline is how long a task may take from the time it may run, waiting included, unless the kind is limited.
	Deadline time.Duration
	// MaxRunning is how many tasks of the kind run on one node at once, and MaxPerUser how many of one user run on all
	// nodes together; 0 means without limit. The others wait in the queue, for as long as it takes: the deadline of a
	// limited kind counts from its first start.
	MaxRunning, MaxPerUser int
	// MaxCrashes is how many nodes may be lost under a task without a new step; 3 unless set.
	MaxCrashes int
}

// Defaults of a kind.
const (
	DefaultDeadline   = time.Hour
	DefaultMaxCrashes = 3
)

// limited reports whether tasks of the kind wait for others of it.
func (k Kind) limited() bool { return k.MaxRunning > 0 || k.MaxPerUser > 0 }

// Spec is what a caller says of a new task.
type Spec struct {
	// ID is the task's id.
	ID   string
	Kind string
	// Key, UserID, CredentialID, IdemKey, RequestHash and Input are as in Task.
	Key, UserID, CredentialID string
	IdemKey                   string
	RequestHash               []byte
	Input                     []byte
	// RunAt is when it may start; zero means now.
	RunAt time.Time
}

// Event is something that happened to a task and that its readers are told.
type Event struct {
	TaskID string
	// Number is the task's in its key and Seq the event's in its task; both only grow.
	Number  int64
	Seq     int64
	Attempt int
	Kind    string
	// Payload is JSON.
	Payload []byte
}

// The kinds of events that the engine writes.
const (
	EventStep      = "step"
	EventDelta     = "delta"
	EventRestarted = "restarted"
	EventDone      = "done"
)

// Position returns where in the stream of its key the event stands.
func (e Event) Position() Position { return Position{Number: e.Number, Seq: e.Seq} }

// Position is a place in the stream of a key: after this event of this task.
type Position struct{ Number, Seq int64 }

// String renders the position as the id of a server-sent event.
func (p Position) String() string {
	return strconv.FormatInt(p.Number, 10) + "." + strconv.FormatInt(p.Seq, 10)
}

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) {
	number, seq, ok := strings.Cut(s, ".")
	var p Position
	var err error
	if p.Number, err = strconv.ParseInt(number, 10, 64); err == nil && ok {
		p.Seq, err = strconv.ParseInt(seq, 10, 64)
	}
	if err != nil || !ok || p.Number < 0 || p.Seq < 0 || p.String() != s {
		return Position{}, core.InvalidField("Last-Event-ID", "Not an id of this stream.")
	}
	return p, nil
}

// What happened to a run, as an error or as the cause with which its context ends.
var (
	// ErrLost means that the task is somebody else's now, has ended, or was deleted: nothing was written.
	ErrLost = errors.New("task: no longer ours")
	// ErrCancelled means that somebody asked for the task's end.
	ErrCancelled = errors.New("task: cancelled")
	// ErrDeadline means that the task's time is up.
	ErrDeadline = errors.New("task: deadline passed")
	// ErrShutdown means that this node stops and another will go on.
	ErrShutdown = errors.New("task: the node shuts down")
	// ErrOutcomeUnknown is what a step that must not be repeated returns when a crash left it open.
	ErrOutcomeUnknown = errors.New("task: the step was interrupted and its outcome is unknown")
	// ErrJournal means that a run asked for other steps than the one before it: its kind is not deterministic.
	ErrJournal = errors.New("task: the steps differ from those in the journal")
)

// IdempotencyMismatch is the answer to an idempotency key that stands for another request.
func IdempotencyMismatch() *core.Error {
	return &core.Error{
		Kind: core.KindMismatch, Code: "idempotency_mismatch",
		Detail: "This idempotency key was used for another request. Use a new key.",
	}
}

// unknownKind is a mistake of the caller's.
func unknownKind(name string) error { return fmt.Errorf("task: no kind %q is registered", name) }
