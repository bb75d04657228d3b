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
	// deletionDeadline is how long a deletion is tried; after it housekeeping begins another.
	deletionDeadline = 24 * time.Hour
	// deletionPause is how long a deletion that met with an error waits before it goes on.
	deletionPause = time.Minute
	// deletionCrashes is how many nodes may be lost under it: it is never wrong to go on.
	deletionCrashes = 20
	// keepDeletions is how long it can be seen among the tasks that there was a deletion; not whose.
	keepDeletions = 7 * 24 * time.Hour
	// bySelf and byService are who deletes accounts, in the log, where it is nobody with a credential of their own: people
	// themselves, and this service, which goes on where a deletion did not come to its end.
	bySelf    = "self"
	byService = "service"
)

// DeletionStore removes accounts. A missing user is not_found.
type DeletionStore interface {
	// CloseUser shuts a user out for good, asks for the end of all their tasks and stores the task that deletes them, in one
	// transaction. allow says whether that may be, knowing whether others have accounts. A user who is closed already
	// gets another task if none of them is on its way, and else is not_found.
	CloseUser(ctx context.Context, userID string, now time.Time, t task.Task, allow func(u account.User, others bool) error) (task.Task, error)
	// ClosedUsers returns those who are closed and still there.
	ClosedUsers(ctx context.Context) ([]string, error)
	// RunningTasks returns the ids of the tasks of a user that run.
	RunningTasks(ctx context.Context, userID string) ([]string, error)
	AgentsOf(ctx context.Context, userID string) ([]string, error)
	DeleteAgent(ctx context.Context, userID, agentID string) error
	// EraseUser removes what is left of a user and all that names them, enters the deletion that entry makes in the audit
	// log, and ends the task, in one transaction.
	EraseUser(ctx context.Context, userID string, f task.Fence, o task.Outcome, entry func(audit.Head, *audit.Redacted) audit.Entry) error
	FinishTask(ctx context.Context, f task.Fence, o task.Outcome) error
	PruneDeletions(ctx context.Context, before time.Time) error
}

// Deletions removes accounts with all that is theirs.
type Deletions struct {
	store DeletionStore
	tasks Tasks
	clock core.Clock
	log   *slog.Logger
}

// NewDeletions returns deletions on this store.
func NewDeletions(store DeletionStore, tasks Tasks, clock core.Clock, log *slog.Logger) *Deletions {
	return &Deletions{store: store, tasks: tasks, clock: clock, log: log}
}

// Kind is the kind of task that deletions are, to be registered with the engine.
func (d *Deletions) Kind() task.Kind {
	return task.Kind{Name: deletionKind, Run: d.run, Finish: d.finish, Deadline: deletionDeadline, MaxCrashes: deletionCrashes}
}

// Own deletes the actor's own account. The e-mail address is what they typed to confirm it.
func (d *Deletions) Own(ctx context.Context, actor core.Actor, email string) error {
	if err := actor.AllowProved(core.OpAccount, d.clock.Now()); err != nil {
		return err
	}
	if actor.Credential != core.CredentialSession {
		return notAllowed()
	}
	_, err := d.begin(ctx, actor.UserID, bySelf, func(u account.User, others bool) error {
		if account.NormalEmail(email) != u.Email {
			return core.InvalidField("/email", "Must be the e-mail address of this account.")
		}
		return keepOwner(u, others)
	})
	return err
}

// Of deletes an account for those who administer the installation, and returns the task that does it. Nobody deletes the
// owner or themselves so, and only the owner deletes admins: otherwise one admin could take the installation from the
// others.
func (d *Deletions) Of(ctx context.Context, actor core.Actor, userID string) (task.Task, error) {
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
			return keepOwner(u, others)
		case u.ID == actor.UserID:
			return core.Conflict("conflict", "Nobody deletes themselves here. Delete your own account with DELETE /api/account.")
		case u.Role == core.RoleOwner:
			return core.Conflict("conflict", "The owner of the installation stays as they are.")
		case u.Role == core.RoleAdmin && actor.Role != core.RoleOwner:
			return core.Forbidden("forbidden", "Only the owner deletes admins.")
		}
		return nil
	})
}

// keepOwner refuses to leave an installation that others use without an owner.
func keepOwner(u account.User, others bool) error {
	if u.Role == core.RoleOwner && others {
		return core.Conflict("conflict", "This account owns the installation, and others have accounts on it. Delete those first.")
	}
	return nil
}

// begin closes the account and has it deleted.
func (d *Deletions) begin(ctx context.Context, userID, by string, allow func(account.User, bool) error) (task.Task, error) {
	// The key is the user, so that there is one at a time, and the task is nobody's: it must outlive the account.
	t, err := d.tasks.Prepare(task.Spec{ID: core.NewID(deletionPrefix), Kind: deletionKind, Key: userID, Input: []byte(by)})
	if err != nil {
		return task.Task{}, err
	}
	t, err = d.store.CloseUser(ctx, userID, d.clock.Now(), t, allow)
	if err != nil {
		return task.Task{}, err
	}
	d.tasks.Adopt(t)
	return t, nil
}

// Tend has accounts deleted that are closed and whose deletion did not come to its end, and forgets old deletions.
func (d *Deletions) Tend(ctx context.Context) error {
	closed, err := d.store.ClosedUsers(ctx)
	errs := []error{err, d.store.PruneDeletions(ctx, d.clock.Now().Add(-keepDeletions))}
	for _, userID := range closed {
		_, err := d.begin(ctx, userID, byService, func(account.User, bool) error { return nil })
		if !core.IsKind(err, core.KindNotFound) { // one that is on its way, or has just ended
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// run removes all that is large, piece by piece; what it has removed stays so when it is cut off. The rest goes with the
// end of the task.
func (d *Deletions) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	err := d.empty(ctx, r.Task().Key)
	if err == nil || ctx.Err() != nil {
		return task.Outcome{Result: r.Task().Input}, err
	}
	d.log.WarnContext(ctx, "a deletion met with an error; it goes on in a minute", slog.String("task", r.Task().ID), slog.Any("error", err))
	return task.RetryAt(d.clock.Now().Add(deletionPause)), nil
}

// empty waits until nothing runs for the user, so that all they have spent is settled and nobody writes any more, and
// deletes their agents one by one.
func (d *Deletions) empty(ctx context.Context, userID string) error {
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
	return nil
}

// finish erases the account with the end of its task.
func (d *Deletions) finish(ctx context.Context, f task.Fence, o task.Outcome) error {
	if o.State != task.StateComplete {
		return d.store.FinishTask(ctx, f, o) // housekeeping begins another
	}
	by := string(o.Result)
	o.Result = nil // the log says it
	return d.store.EraseUser(ctx, f.Key, f, o, func(head audit.Head, r *audit.Redacted) audit.Entry {
		return audit.Deletion(head, o.At, by, r)
	})
}
