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

type librarianCommands struct {
	Watch sourceWatch `cmd:"" help:"Keep a source of a server the same as a folder of this machine."`
}

// sourceWatch sends a folder to a server, which may be elsewhere, and then what changes in it.
type sourceWatch struct {
	Server string        `required:"" placeholder:"URL" help:"The server's address." env:"CARREL_SERVER"`
	Key    string        `placeholder:"KEY" help:"An API key that may manage agents." env:"CARREL_KEY"`
	Agent  string        `required:"" placeholder:"ID" help:"The agent's id."`
	Source string        `required:"" placeholder:"ID" help:"The id of a source of kind upload."`
	Every  time.Duration `default:"5s" help:"How often the folder is looked at."`
	Once   bool          `help:"Send what there is and end."`
	Folder string        `arg:"" type:"existingdir" help:"The folder. Files that can't be read, hidden ones and links are left out."`
}

// Run watches until it is stopped. What fails is told and tried again at the next look.
func (c sourceWatch) Run(ctx context.Context, env *Env) error {
	w := &watcher{command: c, env: env, client: &http.Client{}, sent: map[string]string{}}
	for {
		err := w.look(ctx)
		if c.Once || ctx.Err() != nil {
			return err
		}
		if err != nil {
			_, _ = fmt.Fprintf(env.Err, "carrel: %v; it is tried again\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// watcher knows what was sent.
type watcher struct {
	command sourceWatch
	env     *Env
	client  *http.Client
	// sent is the size and time of each file as it was sent.
	sent map[string]string
}

// look compares the folder with what was sent, sends what is new and removes what is gone.
func (w *watcher) look(ctx context.Context) error {
	there := map[string]bool{}
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
		there[name] = true
		return w.send(ctx, entry, path, name)
	})
	if err != nil {
		return err
	}
	return w.removeGone(ctx, there)
}

// send uploads a file, unless it is as it was sent. The server passes over one that it has.
func (w *watcher) send(ctx context.Context, entry fs.DirEntry, path, name string) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went meanwhile
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
	defer func() { _ = f.Close() }() // nothing was written
	// The body is made as it is sent: a file may be larger than the memory.
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, f)
		}
		_ = pipe.CloseWithError(errors.Join(err, form.Close())) // it always returns nil
	}()
	err = w.call(ctx, http.MethodPost, "/files", form.FormDataContentType(), body, nil)
	_ = body.Close() // ends the goroutine, whatever was read
	if refused, is := errors.AsType[*refusal](err); is && refused.ofBody() {
		// The others are sent all the same, and this one when it has changed.
		w.sent[name] = version
		_, _ = fmt.Fprintf(w.env.Err, "carrel: %s is not taken: %v\n", name, refused)
		return nil
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	w.sent[name] = version
	_, _ = fmt.Fprintf(w.env.Out, "sent %s\n", name)
	return nil
}

// removeGone removes the files from the source that the folder no longer has.
func (w *watcher) removeGone(ctx context.Context, there map[string]bool) error {
	for cursor := ""; ; {
		var list struct {
			Files      []struct{ ID, Name string }
			NextCursor string
		}
		if err := w.call(ctx, http.MethodGet, "/files?limit=200&cursor="+url.QueryEscape(cursor), "", nil, &list); err != nil {
			return err
		}
		for _, f := range list.Files {
			if there[f.Name] {
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

// refusal is an answer that something can't be done.
type refusal struct {
	status int
	detail string
}

// Error is what the server says of it.
func (r *refusal) Error() string { return r.detail }

// ofBody reports whether what was sent is refused, and not who sent it or when.
func (r *refusal) ofBody() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge || r.status == http.StatusUnsupportedMediaType
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// call makes a request about the source, and reads its reply into out unless that is nil.
func (w *watcher) call(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	c := w.command
	address := strings.TrimSuffix(c.Server, "/") + "/api/agents/" + url.PathEscape(c.Agent) + "/sources/" + url.PathEscape(c.Source) + path
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
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		var problem struct{ Detail string }
		if json.Unmarshal(bytes.TrimSpace(answer), &problem) != nil || problem.Detail == "" {
			problem.Detail = "the server answered with status " + res.Status
		}
		return &refusal{status: res.StatusCode, detail: problem.Detail}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
