package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/accountdata"
	"carrel/internal/task"
)

type userExport struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	Out  string `required:"" placeholder:"FILE" help:"The zip file to write, which must not be there yet."`
	JSON bool   `help:"Print one JSON object: {\"export\":{\"file\":…,\"bytes\":…}}."`
}

// Run writes all that is a user's into a file. It reads the database itself, so that it needs no server.
func (c userExport) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		size, err := a.export(ctx, u.ID, c.Out)
		if err != nil {
			return err
		}
		if err := a.note(ctx, audit.AccountExported, u); err != nil {
			return err
		}
		return a.print(c.JSON, map[string]any{"export": map[string]any{"file": c.Out, "bytes": size}}, "Wrote %s, %d bytes.", c.Out, size)
	})
}

// export writes an archive and returns its size.
func (a admin) export(ctx context.Context, userID, path string) (int64, error) {
	size, err := writeWhole(path, false, func(w io.Writer) error {
		return a.archives.Write(ctx, userID, accountdata.Parts{Agents: true}, w, func() {})
	})
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%s is there already; choose another name", path)
	}
	return size, err
}

type userDelete struct {
	User string `required:"" aliases:"email" placeholder:"EMAIL" help:"The account."`
	Yes  bool   `help:"Say that it is meant: nothing of it can be had back."`
	JSON bool   `help:"Print one JSON object: {\"deleted\":true,\"indexed\":…}."`
}

// Run deletes an account and returns when nothing of it is left.
func (c userDelete) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		u, err := a.user(ctx, c.User)
		if err != nil {
			return err
		}
		if !c.Yes {
			return errors.New("nothing was deleted; say --yes if the account and all that it holds is to go (export it first with: carrel admin user export)")
		}
		t, err := a.deletions.DeleteUser(ctx, core.Operator(""), u.ID)
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
		return a.print(c.JSON, map[string]any{"deleted": true, "indexed": indexed}, "Deleted %s, with all that it held.%s", u.Email, map[bool]string{
			false: " No server runs: its words leave the search index when one has started.",
		}[indexed])
	})
}

// deleted returns when a deletion has ended: on a server, or here where the folder has none.
func (a admin) deleted(ctx context.Context, id string) error {
	if a.config.Database != "" {
		return a.deleteHere(ctx, id) // together with the servers: whoever comes first does it
	}
	return a.thereOrHere(ctx, func(ctx context.Context) error { return a.awaitTask(ctx, id) }, func(ctx context.Context) error { return a.deleteHere(ctx, id) })
}

// deleteHere carries deletions out in this process, and no other work.
func (a admin) deleteHere(ctx context.Context, id string) error {
	log := slog.New(slog.DiscardHandler)
	engine := task.New(task.Deps{Store: a.store, Clock: a.clock, Log: log}, task.Options{Version: Version(), SingleNode: a.config.Database == ""})
	engine.Register(accountdata.NewDeletions(accountdata.DeletionDeps{Store: a.store, Tasks: engine, Clock: a.clock, Log: log}).Kind())
	if err := engine.Start(ctx); err != nil {
		return err
	}
	t, err := engine.Wait(ctx, id)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.config.ShutdownTimeout)
	defer cancel()
	err = errors.Join(deletionError(t, err), engine.Stop(stopping))
	if err == nil {
		err = a.scrub(ctx, log)
	}
	return err
}

// awaitTask looks now and then whether a server has ended a task.
func (a admin) awaitTask(ctx context.Context, id string) error {
	const pause = 50 * time.Millisecond
	for {
		t, err := a.store.Task(ctx, id)
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

// deletionError is the error of a deletion that is over.
func deletionError(t task.Task, err error) error {
	if err != nil || t.State == task.StateComplete {
		return err
	}
	return fmt.Errorf("the account is closed, and could not be removed yet (%s); a server tries it again within the hour", t.State)
}
