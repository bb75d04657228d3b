package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"carrel/internal/account"
	"carrel/internal/accountdata"
	"carrel/internal/app"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/task"
)

type userExport struct {
	userFlag
	Out  string `required:"" placeholder:"FILE" help:"The zip file to create. It must not exist."`
	JSON bool   `help:"Print one JSON object: {\"export\":{\"file\":…,\"bytes\":…}}."`
}

// Run exports an account to a file. It reads the database itself and needs no server.
func (c userExport) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		size, err := a.export(ctx, u.ID, c.Out)
		if err != nil {
			return err
		}
		if err := a.record(ctx, audit.AccountExported, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"export": map[string]any{"file": c.Out, "bytes": size}},
			"Wrote %s, %d bytes.", c.Out, size)
	})
}

// export writes an archive and returns its size.
func (a admin) export(ctx context.Context, userID, path string) (int64, error) {
	size, err := writeWhole(path, false, func(w io.Writer) error {
		return a.Archives.Write(ctx, userID, accountdata.Parts{Agents: true}, w, func() {})
	})
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%s already exists; choose another name", path)
	}
	return size, err
}

type userDelete struct {
	userFlag
	Yes  bool `help:"Confirm the deletion. It can't be undone."`
	JSON bool `help:"Print one JSON object: {\"deleted\":true,\"indexed\":…}."`
}

// Run deletes an account and returns when all its data is gone.
func (c userDelete) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.runForUser(ctx, env, c.User, func(a admin, u account.User) error {
		if !c.Yes {
			return errors.New("nothing was deleted; confirm with --yes that the account and all its data are to be deleted " +
				"(export first with: carrel admin user export)")
		}
		t, err := a.Deletions.DeleteUser(ctx, core.Operator(""), u.ID)
		if err != nil {
			return err
		}
		if err := a.deleted(ctx, t.ID); err != nil {
			return err
		}
		indexed, err := a.index(ctx)
		if err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"deleted": true, "indexed": indexed},
			"Deleted %s and all its data.%s", u.Email, map[bool]string{
				false: " No server is running; its documents leave the search index at the next start.",
			}[indexed])
	})
}

// deleted waits for a deletion: on the server of the data folder or, without one, in this process.
func (a admin) deleted(ctx context.Context, id string) error {
	if a.Config.Database != "" {
		return a.deleteHere(ctx, id) // the servers may claim the task first
	}
	return a.waitOrRun(ctx, func(ctx context.Context) error { return a.awaitTask(ctx, id) },
		func(ctx context.Context) error { return a.deleteHere(ctx, id) })
}

// deleteHere runs deletions, and no other tasks, in this process.
func (a admin) deleteHere(ctx context.Context, id string) error {
	log := slog.New(slog.DiscardHandler)
	engine := task.New(task.Deps{Store: a.Store, Clock: a.Clock, Log: log},
		task.Options{Version: app.Version(), SingleNode: a.Config.Database == ""})
	engine.Register(
		accountdata.NewDeletions(accountdata.DeletionDeps{
			Store: a.Store, Tasks: engine, Clock: a.Clock, Log: log, Sweep: a.Originals.Sweep,
		}).Kind(),
	)
	if err := engine.Start(ctx); err != nil {
		return err
	}
	t, err := engine.Wait(ctx, id)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Config.ShutdownTimeout)
	defer cancel()
	err = errors.Join(deletionError(t, err), engine.Stop(stopping))
	if err == nil {
		err = a.Scrub(ctx, log)
	}
	return err
}

// awaitTask polls until a server has ended a task.
func (a admin) awaitTask(ctx context.Context, id string) error {
	const pause = 50 * time.Millisecond
	for {
		t, err := a.Store.Task(ctx, id)
		if err != nil || t.State.Ended() {
			return deletionError(t, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// deletionError converts the state of an ended deletion to an error.
func deletionError(t task.Task, err error) error {
	if err != nil || t.State == task.StateComplete {
		return err
	}
	return fmt.Errorf(
		"the account is closed, but its data could not be deleted yet (%s); a server retries within the hour", t.State)
}
