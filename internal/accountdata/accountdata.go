// Package accountdata lets people take all that is theirs with them, and go: it writes accounts into archives and deletes them.
// Both are durable tasks: what was asked for is carried to its end, through crashes and restarts, on any node.
package accountdata

import (
	"context"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Tasks is what is asked of the engine of tasks.
type Tasks interface {
	Prepare(s task.Spec) (task.Task, error)
	Adopt(t task.Task)
	Cancel(ctx context.Context, id string) (bool, error)
	Wait(ctx context.Context, id string) (task.Task, error)
}

// Status is where an export stands.
type Status string

// The states of an export.
const (
	StatusWorking  Status = "working"
	StatusComplete Status = "complete"
	StatusFailed   Status = "failed"
)

// Export is the archive of an account: one that is being made, can be fetched, or could not be made.
type Export struct {
	// ID is that of its task, too.
	ID     string
	UserID string
	Status Status
	// Attempt is the one of its task whose parts count.
	Attempt int
	// Done and Total count what is written of what there was in the beginning; Total is 0 while that is not known.
	Done, Total int64
	Bytes       int64
	// ErrorCode and ErrorDetail say why it failed.
	ErrorCode, ErrorDetail string
	// Parts are what it holds, which a caller needs the scopes for.
	Parts                 Parts
	CreatedAt             time.Time
	FinishedAt, ExpiresAt *time.Time
}

// Parts are the parts of an account that an archive holds. The account itself (profile, keys, usage and the like)
// always is.
type Parts struct {
	// Agents are the agents with all that is in them: sources, documents, threads, memories and favourites.
	Agents bool
}

// partsFor returns what a credential may read, and so may export.
func partsFor(actor core.Actor) Parts {
	for _, op := range []core.Operation{
		core.OpListAgents, core.OpGetDocument, core.OpListThreads, core.OpListMemories, core.OpListFavourites,
	} {
		if actor.Allow(op) != nil {
			return Parts{}
		}
	}
	return Parts{Agents: true}
}

// ExportStore keeps exports, one for each account, with their bytes in parts. A missing one is not_found.
type ExportStore interface {
	// BeginExport stores an export with its task, in place of one that has ended. One that is being made is returned as it
	// is, with no task.
	BeginExport(ctx context.Context, e Export, t task.Task) (Export, task.Task, error)
	Export(ctx context.Context, userID string) (Export, error)
	// CountOwned returns how many documents, threads, memories and favourites are a user's.
	CountOwned(ctx context.Context, userID string) (int64, error)
	// RestartExport makes the present attempt of a task the one whose parts count, and drops those of the ones before. It is
	// task.ErrLost when the fence does not hold.
	RestartExport(ctx context.Context, f task.Fence, total int64) error
	// AppendExport adds a part and says how much is done. It is task.ErrLost when another attempt counts, or none.
	AppendExport(ctx context.Context, f task.Fence, n int64, data []byte, done int64) error
	// FinishExport ends the task with its export.
	FinishExport(ctx context.Context, f task.Fence, o task.Outcome, expires time.Time) error
	ExportPart(ctx context.Context, e Export, n int64) ([]byte, error)
	// DeleteExport removes the export of a user with its task, which stops by that if it runs.
	DeleteExport(ctx context.Context, userID string) error
	// PruneExports removes those that have expired.
	PruneExports(ctx context.Context, now time.Time) error
}

// exportPrefix begins the ids of exports, and deletionPrefix those of deletions.
const (
	exportPrefix   = "exp"
	deletionPrefix = "del"
)

// notAllowed is the answer to those who come with a key where only a person may act.
func notAllowed() error {
	return core.Forbidden("session_required", "An account is deleted in its owner's browser alone, not with a key. Sign in there.")
}
