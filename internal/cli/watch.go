package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

type clientSourceCommands struct {
	Watch sourceWatch `cmd:"" help:"Keep a source in step with a folder of this machine."`
}

// sourceWatch uploads a folder to a server and then every change in it.
type sourceWatch struct {
	Profile string        `placeholder:"NAME" help:"The profile of carrel login." env:"CARREL_PROFILE"`
	Server  string        `placeholder:"URL" help:"The address of the server. Default: that of the profile." env:"CARREL_SERVER"`
	Key     string        `placeholder:"KEY" help:"An API key that may manage agents, instead of a profile." env:"CARREL_KEY"`
	Agent   string        `required:"" placeholder:"ID" help:"The agent's id."`
	Source  string        `required:"" placeholder:"ID" help:"The id of a source of kind upload."`
	Every   time.Duration `default:"5s" help:"Interval between scans of the folder."`
	Once    bool          `help:"Synchronise once and exit."`
	Folder  string        `arg:"" type:"existingdir" help:"The folder. Hidden files are skipped; symbolic links and files of unsupported formats are reported."`
}

// Run scans the folder until it is stopped. Errors are printed and retried with the next scan.
func (c sourceWatch) Run(ctx context.Context, env *Env) error {
	s, err := connectFlags{Profile: c.Profile, Server: c.Server, Key: c.Key}.open(env)
	if err != nil {
		return err
	}
	defer s.Close()
	w := &watcher{command: c, env: env, api: &agentClient{s.Client, c.Agent}, sent: map[string]string{}}
	for {
		err := w.scan(ctx)
		if c.Once {
			return err
		}
		if err != nil && ctx.Err() == nil {
			_, _ = fmt.Fprintf(env.Err, "carrel: %v; retrying\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// watcher synchronises a folder with a source.
type watcher struct {
	command sourceWatch
	env     *Env
	api     *agentClient
	// sent maps file names to the size and modification time at their upload.
	sent map[string]string
}

// scan uploads new and changed files and removes deleted ones. Files that can't be read are reported once.
func (w *watcher) scan(ctx context.Context) error {
	found, err := walkFolder(w.command.Folder)
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, f := range found {
		present[f.name] = true
		if err := w.send(ctx, f); err != nil {
			return err
		}
	}
	return w.removeDeleted(ctx, present, found)
}

// send uploads a file unless it is unchanged since its last upload. The server skips identical content.
func (w *watcher) send(ctx context.Context, f foundFile) error {
	if w.sent[f.name] == f.version {
		return nil
	}
	if f.refused != "" {
		w.reject(f, f.refused)
		return nil
	}
	_, err := w.api.upload(ctx, w.command.Source, f.path, f.name, func() {}, func(int) {})
	rejected, isRejected := rejectsFile(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // deleted since the scan began
	case errors.Is(err, fs.ErrPermission):
		w.reject(f, reasonNotOpened)
		return nil
	case isRejected:
		w.reject(f, rejected.Detail)
		return nil
	case err != nil:
		return fmt.Errorf("send %s: %w", f.name, err)
	}
	w.sent[f.name] = f.version
	_, _ = fmt.Fprintf(w.env.Out, "sent %s\n", printableName(f.name))
	return nil
}

// reject reports a file that can't be sent. The other files are still sent, and this one again when it changes.
func (w *watcher) reject(f foundFile, reason string) {
	w.sent[f.name] = f.version
	_, _ = fmt.Fprintf(w.env.Err, "carrel: %s was rejected: %s\n", printableName(f.name), reason)
}

// removeDeleted removes files from the source that are no longer in the folder. Files in subfolders that can't be
// listed are kept.
func (w *watcher) removeDeleted(ctx context.Context, present map[string]bool, found []foundFile) error {
	files, err := w.api.files(ctx, w.command.Source)
	if err != nil {
		return err
	}
	for _, f := range files {
		if present[f.Name] || slices.ContainsFunc(found, func(dir foundFile) bool { return dir.hides(f.Name) }) {
			continue
		}
		if _, err := w.api.DeleteFile(ctx, w.api.agent, w.command.Source, f.ID); err != nil {
			return err
		}
		delete(w.sent, f.Name)
		_, _ = fmt.Fprintf(w.env.Out, "removed %s\n", f.Name)
	}
	return nil
}
