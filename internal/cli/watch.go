package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"carrel/internal/format"
)

type clientSourceCommands struct {
	Watch sourceWatch `cmd:"" help:"Keep a source in step with a folder of this machine."`
}

// sourceWatch uploads a folder to a server and then every change in it.
type sourceWatch struct {
	Server string        `required:"" placeholder:"URL" help:"The address of the server." env:"CARREL_SERVER"`
	Key    string        `placeholder:"KEY" help:"An API key that may manage agents." env:"CARREL_KEY"`
	Agent  string        `required:"" placeholder:"ID" help:"The agent's id."`
	Source string        `required:"" placeholder:"ID" help:"The id of a source of kind upload."`
	Every  time.Duration `default:"5s" help:"Interval between scans of the folder."`
	Once   bool          `help:"Synchronise once and exit."`
	Folder string        `arg:"" type:"existingdir" help:"The folder. Hidden files, symbolic links and files of unsupported formats are skipped."`
}

// Run scans the folder until it is stopped. Errors are printed and retried with the next scan.
func (c sourceWatch) Run(ctx context.Context, env *Env) error {
	w := &watcher{command: c, env: env, client: &http.Client{}, sent: map[string]string{}}
	for {
		err := w.scan(ctx)
		if c.Once || ctx.Err() != nil {
			return err
		}
		if err != nil {
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
	client  *http.Client
	// sent maps file names to the size and modification time at their upload.
	sent map[string]string
}

// scan uploads new and changed files and removes deleted ones.
func (w *watcher) scan(ctx context.Context) error {
	present := map[string]bool{}
	err := filepath.WalkDir(w.command.Folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != w.command.Folder && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || !format.Reads(entry.Name()):
			return nil
		}
		name, err := filepath.Rel(w.command.Folder, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		present[name] = true
		return w.send(ctx, entry, path, name)
	})
	if err != nil {
		return err
	}
	return w.removeDeleted(ctx, present)
}

// send uploads a file unless it is unchanged since its last upload. The server skips identical content.
func (w *watcher) send(ctx context.Context, entry fs.DirEntry, path, name string) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since the scan began
	}
	if err != nil {
		return err
	}
	version := fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	if w.sent[name] == version {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	// A pipe streams the body, because a file may be larger than the memory.
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, f)
		}
		_ = pipe.CloseWithError(errors.Join(err, form.Close())) // always nil
	}()
	err = w.call(ctx, http.MethodPost, "/files", form.FormDataContentType(), body, nil)
	_ = body.Close() // ends the goroutine even if the body was not read
	if rejected, ok := errors.AsType[*responseError](err); ok && rejected.rejectsFile() {
		// The other files are still sent, and this one again when it changes.
		w.sent[name] = version
		_, _ = fmt.Fprintf(w.env.Err, "carrel: %s was rejected: %v\n", name, rejected)
		return nil
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	w.sent[name] = version
	_, _ = fmt.Fprintf(w.env.Out, "sent %s\n", name)
	return nil
}

// removeDeleted removes files from the source that are no longer in the folder.
func (w *watcher) removeDeleted(ctx context.Context, present map[string]bool) error {
	for cursor := ""; ; {
		var list struct {
			Files      []struct{ ID, Name string }
			NextCursor string
		}
		if err := w.call(ctx, http.MethodGet,
			"/files?limit=200&cursor="+url.QueryEscape(cursor), "", nil, &list); err != nil {
			return err
		}
		for _, f := range list.Files {
			if present[f.Name] {
				continue
			}
			if err := w.call(ctx, http.MethodDelete, "/files/"+f.ID, "", nil, nil); err != nil {
				return err
			}
			delete(w.sent, f.Name)
			_, _ = fmt.Fprintf(w.env.Out, "removed %s\n", f.Name)
		}
		if cursor = list.NextCursor; cursor == "" {
			return nil
		}
	}
}

// responseError is an error response of the server.
type responseError struct {
	status int
	detail string
}

// Error returns the detail of the problem.
func (r *responseError) Error() string { return r.detail }

// rejectsFile reports whether the server rejected the file itself, so that a retry would fail again.
func (r *responseError) rejectsFile() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge ||
		r.status == http.StatusUnsupportedMediaType
}

// maxResponse limits the size of a response.
const maxResponse = 1 << 20

// call sends a request about the source and decodes the reply into out unless it is nil.
func (w *watcher) call(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	c := w.command
	address := strings.TrimSuffix(c.Server, "/") + "/api/agents/" + url.PathEscape(c.Agent) +
		"/sources/" + url.PathEscape(c.Source) + path
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		var problem struct{ Detail string }
		if json.Unmarshal(bytes.TrimSpace(answer), &problem) != nil || problem.Detail == "" {
			problem.Detail = "the server replied with status " + res.Status
		}
		return &responseError{status: res.StatusCode, detail: problem.Detail}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
