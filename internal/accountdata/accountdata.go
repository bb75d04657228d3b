// Package accountdata exports and deletes accounts. Both are durable tasks, which continue after crashes and restarts
// on any node.
package accountdata

import (
	"context"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Tasks is the part of the task engine used here.
type Tasks interface {
	SubmitWith(
		ctx context.Context, s task.Spec, insert func(ctx context.Context, t task.Task) (task.Task, error),
	) (task.Task, error)
	Cancel(ctx context.Context, id string) (bool, error)
	Wait(ctx context.Context, id string) (task.Task, error)
}

// Status is the state of an export.
type Status string

// The states of an export.
const (
	StatusWorking  Status = "working"
	StatusComplete Status = "complete"
	StatusFailed   Status = "failed"
)

// Export is the archive of an account, in progress, complete or failed.
type Export struct {
	// ID is also the id of its task.
	ID     string
	UserID string
	Status Status
	// Attempt is the task's attempt whose parts are valid.
	Attempt int
	// Done and Total count the items written and the items at the start. Total is 0 while unknown.
	Done, Total int64
	Bytes       int64
	// ErrorCode and ErrorDetail give the reason of a failure.
	ErrorCode, ErrorDetail string
	// Parts are the contents. Downloading needs the scopes for all of them.
	Parts                 Parts
	CreatedAt             time.Time
	FinishedAt, ExpiresAt *time.Time
}

// Parts selects the contents of an archive. The account itself (profile, keys, usage) is always included.
type Parts struct {
	// Agents includes the agents with their sources, documents, threads, memories and favourites.
	Agents bool
}

// partsFor returns the parts that a credential may read and therefore export.
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

// ExportStore persists exports, one per account, with their bytes in parts. A missing export is not_found.
type ExportStore interface {
	// BeginExport stores an export with its task, replacing an ended one. An export in progress is returned
	// unchanged, without a task.
	BeginExport(ctx context.Context, e Export, t task.Task) (Export, task.Task, error)
	Export(ctx context.Context, userID string) (Export, error)
	// CountOwned returns the number of a user's documents, threads, memories and favourites.
	CountOwned(ctx context.Context, userID string) (int64, error)
	// RestartExport makes the current attempt the valid one and deletes the parts of earlier attempts. It returns
	// task.ErrLost if the fence does not hold.
	RestartExport(ctx context.Context, f task.Fence, total int64) error
	// AppendExport adds a part and records the progress. It returns task.ErrLost if the attempt is no longer valid.
	AppendExport(ctx context.Context, f task.Fence, n int64, data []byte, done int64) error
	// FinishExport ends the task and its export.
	FinishExport(ctx context.Context, f task.Fence, o task.Outcome, expires time.Time) error
	ExportPart(ctx context.Context, e Export, n int64) ([]byte, error)
	// DeleteExport deletes a user's export and its task, which stops a running one.
	DeleteExport(ctx context.Context, userID string) error
	// PruneExports deletes expired exports.
	PruneExports(ctx context.Context, now time.Time) error
}

// The id prefixes of exports and deletions.
const (
	exportPrefix   = "exp"
	deletionPrefix = "del"
)

// sessionRequired is the error for a deletion requested with an API key.
func sessionRequired() error {
	return core.Forbidden("session_required",
		"An account can be deleted only in a browser session, not with an API key. Sign in first.")
}
