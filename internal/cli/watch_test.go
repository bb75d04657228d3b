package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/client"
)

// watchFixture is a server, a source on it and a folder.
type watchFixture struct {
	t       *testing.T
	folder  string
	out     *buffer
	errs    *buffer
	watcher *watcher
}

func newWatch(t *testing.T) *watchFixture {
	t.Helper()
	in := newInstallation(t)
	agent := in.agent("Library")
	key := strings.TrimSpace(in.admin("key", "create", "--user", owner, "--name", "watch"))
	base := in.serve()
	f := &watchFixture{t: t, folder: t.TempDir(), out: &buffer{}, errs: &buffer{}}
	command := sourceWatch{Server: base, Key: key, Agent: agent, Folder: f.folder, Every: time.Millisecond}
	command.Source = in.json("source", "status", "--agent", agent)["sources"].([]any)[0].(map[string]any)["id"].(string)
	f.watcher = &watcher{
		command: command, env: &Env{Out: f.out, Err: f.errs}, sent: map[string]string{},
		api: &agentClient{client.New(base, client.APIKey(key), client.Options{}), agent},
	}
	t.Cleanup(f.watcher.api.Close)
	return f
}

func (f *watchFixture) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.folder, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *watchFixture) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.folder, filepath.FromSlash(name))); err != nil {
		f.t.Fatal(err)
	}
}

// scan runs one scan and returns its output.
func (f *watchFixture) scan() string {
	f.t.Helper()
	before := len(f.out.String())
	if err := f.watcher.scan(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	return f.out.String()[before:]
}

// awaitImport waits until the source lists a file. Files are imported after their upload has been answered.
func (f *watchFixture) awaitImport(name string) {
	f.t.Helper()
	for {
		files, err := f.watcher.api.files(f.t.Context(), f.watcher.command.Source)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, file := range files {
			if file.Name == name {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestWatchUploadsNewAndChangedFilesAndRemovesDeletedOnes(t *testing.T) {
	t.Parallel()
	f := newWatch(t)
	f.write("a.txt", "The first note.")
	f.write("sub/b.md", "# Second\n\nThe second note.")
	f.write(".hidden.txt", "Hidden.")
	f.write(".git/c.txt", "In a hidden folder.")
	f.write("photo.raw", "Of a format that is not supported.")
	if err := os.Symlink("a.txt", filepath.Join(f.folder, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if got := f.scan(); got != "sent a.txt\nsent sub/b.md\n" {
		t.Errorf("the first scan prints %q", got)
	}
	reported := f.errs.String()
	mustContain(t, reported, "carrel: photo.raw was rejected: This file format is not supported.\n",
		"carrel: link.txt was rejected: Symbolic links are not followed.\n")
	if got := f.scan(); got != "" {
		t.Errorf("a scan without changes prints %q", got)
	}
	if f.errs.String() != reported {
		t.Errorf("a scan without changes reports again: %q", f.errs.String())
	}
	f.write("a.txt", "The first note, with more words.")
	if got := f.scan(); got != "sent a.txt\n" {
		t.Errorf("a scan after a change prints %q", got)
	}
	f.awaitImport("sub/b.md")
	f.remove("sub/b.md")
	if got := f.scan(); got != "removed sub/b.md\n" {
		t.Errorf("a scan after a deletion prints %q", got)
	}
	f.write("sub/b.md", "# Second\n\nThe second note.")
	if got := f.scan(); got != "sent sub/b.md\n" {
		t.Errorf("a scan after a file came back prints %q", got)
	}
}

func TestWatchGoesOnAfterARejectedFile(t *testing.T) {
	t.Parallel()
	f := newWatch(t)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	spoiling := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			r.ContentLength = -1
			r.Header.Set("Content-Type", "text/plain") // the server refuses an upload that is not a form
		}
		return transport.RoundTrip(r)
	})
	f.watcher.api.Client = client.New(f.watcher.command.Server, client.APIKey(f.watcher.command.Key),
		client.Options{HTTP: &http.Client{Transport: spoiling}})
	f.write("a.txt", "A note.")
	if got := f.scan(); got != "" {
		t.Errorf("the scan prints %q", got)
	}
	mustContain(t, f.errs.String(), "a.txt was rejected: ")
	before := f.errs.String()
	f.scan()
	if f.errs.String() != before {
		t.Error("an unchanged rejected file is sent again")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWatchFailsOnceAndRetriesOtherwise(t *testing.T) {
	t.Parallel()
	replies := make(chan string, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replies <- r.Method
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"detail":"The server is starting."}`))
	}))
	t.Cleanup(srv.Close)
	command := sourceWatch{
		Server: srv.URL + "/",
		Key:    "crl_key",
		Agent:  "agt",
		Source: "src",
		Folder: t.TempDir(),
		Every:  time.Millisecond,
		Once:   true,
	}
	env := &Env{Out: &buffer{}, Err: &buffer{}}
	if err := command.Run(t.Context(), env); err == nil || err.Error() != "The server is starting." {
		t.Errorf("with --once it ends with %v", err)
	}
	command.Once = false
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- command.Run(ctx, env) }()
	for range 2*4 + 1 { // the client sends a request four times, and then the next scan begins
		<-replies
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("after a signal it ends with %v", err)
	}
	mustContain(t, env.Err.(*buffer).String(), "carrel: The server is starting.; retrying\n")
}
