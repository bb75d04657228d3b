package accountdata

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/task"
)

const (
	deletionKind = "account_deletion"
	// deletionDeadline is the time limit of a deletion. RunHousekeeping then starts a new one.
	deletionDeadline = 24 * time.Hour
	// deletionPause is the delay before a failed deletion is retried.
	deletionPause = time.Minute
	// deletionCrashes is high, because it is always safe to continue a deletion.
	deletionCrashes = 20
	// keepDeletions is how long ended deletion tasks are listed, without the account.
	keepDeletions = 7 * 24 * time.Hour
	// bySelf and byService are the actors of deletions in the audit log: the user, or this service when it resumes an
	// unfinished deletion.
	bySelf    = "self"
	byService = "service"
)

// DeletionStore deletes accounts. A missing user is not_found.
type DeletionStore interface {
	// CloseUser disables a user for good, cancels their tasks and stores the deletion task in one transaction. allow
	// decides, given the user and whether other accounts exist. A closed user gets another task unless one is active;
	// then the user is not_found.
	CloseUser(ctx context.Context, userID string, now time.Time, t task.Task,
		allow func(u account.User, others bool) error) (task.Task, error)
	// ClosedUsers returns the users who are closed and not yet erased.
	ClosedUsers(ctx context.Context) ([]string, error)
	// RunningTasks returns the ids of a user's running tasks.
	RunningTasks(ctx context.Context, userID string) ([]string, error)
	AgentsOf(ctx context.Context, userID string) ([]string, error)
	DeleteAgent(ctx context.Context, userID, agentID string) error
	// EraseUser deletes the remaining data of a user, redacts the audit log, appends the given entry to it, and ends
	// the task, in one transaction.
	EraseUser(ctx context.Context, userID string, f task.Fence, o task.Outcome,
		entry func(audit.Head, *audit.Redacted) audit.Entry) error
	FinishTask(ctx context.Context, f task.Fence, o task.Outcome) error
	PruneDeletions(ctx context.Context, before time.Time) error
}

// Deletions deletes accounts with all their data.
type Deletions struct {
	store DeletionStore
	tasks Tasks
	clock core.Clock
	log   *slog.Logger
	sweep func(context.Context) error
}

// DeletionDeps are the dependencies of Deletions. All but Sweep are required.
type DeletionDeps struct {
	Store DeletionStore
	Tasks Tasks
	Clock core.Clock
	Log   *slog.Logger
	// Sweep deletes the original files of deleted documents; nil means that there are none.
	Sweep func(context.Context) error `dep:"optional"`
}

// NewDeletions panics if a dependency is missing.
func NewDeletions(d DeletionDeps) *Deletions {
	core.RequireDeps(d)
	return &Deletions{store: d.Store, tasks: d.Tasks, clock: d.Clock, log: d.Log, sweep: d.Sweep}
}

// Kind returns the task kind of deletions, to be registered with the engine.
func (d *Deletions) Kind() task.Kind {
	return task.Kind{
		Name: deletionKind, Run: d.run, Finish: d.finish, Deadline: deletionDeadline,
		MaxCrashes: deletionCrashes,
	}
}

// DeleteOwn deletes the actor's own account. email is the address they typed to confirm it.
func (d *Deletions) DeleteOwn(ctx context.Context, actor core.Actor, email string) error {
	if err := actor.AllowProved(core.OpAccount, d.clock.Now()); err != nil {
		return err
	}
	if actor.Credential != core.CredentialSession {
		return sessionRequired()
	}
	_, err := d.begin(ctx, actor.UserID, bySelf, func(u account.User, others bool) error {
		if account.NormalEmail(email) != u.Email {
			return core.InvalidField("/email", "Must be the e-mail address of this account.")
		}
		return requireNotOwner(u, others)
	})
	return err
}

// DeleteUser deletes an account on behalf of an administrator and returns the deletion task. Administrators cannot
// delete the owner or themselves, and only the owner deletes administrators; otherwise one administrator could take
// over the installation.
func (d *Deletions) DeleteUser(ctx context.Context, actor core.Actor, userID string) (task.Task, error) {
	if err := actor.AllowProved(core.OpAdmin, d.clock.Now()); err != nil {
		return task.Task{}, err
	}
	operator := actor.Credential == core.CredentialOperator
	by := actor.CredentialID
	if operator {
		by = string(core.CredentialOperator)
	}
	return d.begin(ctx, userID, by, func(u account.User, others bool) error {
		switch {
		case operator:
			return requireNotOwner(u, others)
		case u.ID == actor.UserID:
			return core.Conflict("conflict", "You cannot delete your own account here. Use DELETE /api/account.")
		case u.Role == core.RoleOwner:
			return core.Conflict("conflict", "The owner of the installation cannot be deleted.")
		case u.Role == core.RoleAdmin && actor.Role != core.RoleOwner:
			return core.Forbidden("forbidden", "Only the owner can delete administrators.")
		}
		return nil
	})
}

// requireNotOwner returns a conflict if the installation has other accounts and would be left without an owner.
func requireNotOwner(u account.User, others bool) error {
	if u.Role == core.RoleOwner && others {
		return core.Conflict("conflict",
			"This account owns the installation and other accounts exist. Delete those first.")
	}
	return nil
}

// begin closes the account and starts its deletion.
func (d *Deletions) begin(
	ctx context.Context, userID, by string, allow func(account.User, bool) error,
) (task.Task, error) {
	// The key is the user, so that deletions of one account run one at a time. The task has no user, because it must
	// outlive the account.
	return d.tasks.SubmitWith(ctx, task.Spec{
		ID: core.NewID(deletionPrefix), Kind: deletionKind, Key: userID,
		Input: []byte(by),
	}, func(ctx context.Context, t task.Task) (task.Task, error) {
		return d.store.CloseUser(ctx, userID, d.clock.Now(), t, allow)
	})
}

// RunHousekeeping restarts unfinished deletions of closed accounts and prunes old deletion tasks.
func (d *Deletions) RunHousekeeping(ctx context.Context) error {
	closed, err := d.store.ClosedUsers(ctx)
	errs := []error{err, d.store.PruneDeletions(ctx, d.clock.Now().Add(-keepDeletions))}
	for _, userID := range closed {
		_, err := d.begin(ctx, userID, byService, func(account.User, bool) error { return nil })
		if !core.IsKind(err, core.KindNotFound) { // active, or just ended
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// run deletes the large data piece by piece, so that an interrupted run makes progress. finish deletes the rest.
func (d *Deletions) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	err := d.deleteAgents(ctx, r.Task().Key)
	if err == nil || ctx.Err() != nil {
		return task.Outcome{Result: r.Task().Input}, err
	}
	d.log.WarnContext(ctx, "account deletion failed; it is retried in a minute", slog.String("task", r.Task().ID),
		slog.Any("error", err))
	return task.RetryAt(d.clock.Now().Add(deletionPause)), nil
}

// deleteAgents waits until none of the user's tasks is running, so that all spending is settled and nothing writes any
// more, and deletes their agents one by one.
func (d *Deletions) deleteAgents(ctx context.Context, userID string) error {
	running, err := d.store.RunningTasks(ctx, userID)
	if err != nil {
		return err
	}
	for _, id := range running {
		if _, err := d.tasks.Cancel(ctx, id); err != nil && !core.IsKind(err, core.KindNotFound) {
			return err
		}
		if _, err := d.tasks.Wait(ctx, id); err != nil && !core.IsKind(err, core.KindNotFound) {
			return err
		}
	}
	agents, err := d.store.AgentsOf(ctx, userID)
	if err != nil {
		return err
	}
	for _, id := range agents {
		if err := d.store.DeleteAgent(ctx, userID, id); err != nil && !core.IsKind(err, core.KindNotFound) {
			return err
		}
	}
	if d.sweep == nil {
		return nil
	}
	return d.sweep(ctx)
}

// finish erases the account together with the end of its task.
func (d *Deletions) finish(ctx context.Context, f task.Fence, o task.Outcome) error {
	if o.State != task.StateComplete {
		return d.store.FinishTask(ctx, f, o) // RunHousekeeping starts another
	}
	by := string(o.Result)
	o.Result = nil // the audit log has it
	return d.store.EraseUser(ctx, f.Key, f, o, func(head audit.Head, r *audit.Redacted) audit.Entry {
		return audit.Deletion(head, o.At, by, r)
	})
}
