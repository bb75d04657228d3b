package testkit

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// Time limits for the first reply on /healthz, and for the exit after SIGTERM (the server drains for up to 10 s).
const (
	serverStart = Patience
	serverStop  = Patience
)

// ServerOptions configure a server.
type ServerOptions struct {
	// Data is the data folder. Empty means a temporary one, whose SQLite database is already migrated: a test of the first
	// start needs an empty folder instead.
	Data string
	// Database is the URL of a PostgreSQL database; empty means SQLite in the data folder.
	Database string
	// Args are appended to the arguments of carrel serve.
	Args []string
	// Env are settings in the form NAME=value. CARREL_ variables of the current environment are not passed on.
	Env []string
	// Binary is the program to run; empty means the result of Binary.
	Binary string
}

// Server is the real program, serving on a free loopback port until the end of the test.
type Server struct {
	// URL is the base URL without a trailing slash. It does not change with a restart.
	URL string
	// Data is the data folder.
	Data string

	t    testing.TB
	opts ServerOptions
	addr string
	log  *Log
	proc *process // nil while stopped
}

// StartServer starts carrel serve and returns once it is healthy. At the end of the test it is stopped with SIGTERM.
// The test fails if that goes wrong or if the log contains a secret; a failed test prints an excerpt of the log.
func StartServer(t testing.TB, opts ServerOptions) *Server {
	t.Helper()
	if opts.Data == "" {
		opts.Data = newData(t, opts)
	}
	if opts.Binary == "" {
		opts.Binary = Binary(t)
	}
	s := &Server{Data: opts.Data, t: t, opts: opts, addr: ReserveAddr(t), log: &Log{}}
	s.URL = "http://" + s.addr
	t.Cleanup(func() {
		s.Stop()
		// Checked here for every test with a server.
		if leak := leakIn(s.Log()); leak != "" {
			t.Errorf("a secret is in the log: %s", leak)
		}
		if t.Failed() {
			t.Logf("carrel's log:\n%s", s.log.Excerpt())
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// newData returns a data folder. Unless the server uses PostgreSQL or another version is tested, the folder has a
// migrated database, because migrations take several times the processor time of the rest of a start.
func newData(t testing.TB, opts ServerOptions) string {
	t.Helper()
	if opts.Database != "" || os.Getenv(EnvBinary) != "" {
		return t.TempDir()
	}
	migrate := Build(t, "carrel/internal/testkit/migrate")
	return filepath.Dir(SQLiteTemplate(t, "server", func(path string) error {
		out, err := exec.CommandContext(t.Context(), migrate, path).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}))
}

// start runs the program and waits until it is healthy.
func (s *Server) start() error {
	args := []string{"serve", "--addr", s.addr, "--data", s.Data}
	if s.opts.Database != "" {
		args = append(args, "--database", s.opts.Database)
	}
	cmd := carrelCommand(s.opts.Binary, s.opts.Env, append(args, s.opts.Args...)...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	p, err := startProcess(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	s.proc = p
	if err := s.await("/healthz"); err != nil {
		s.Kill()
		return fmt.Errorf("carrel serve: %w", err)
	}
	return nil
}

// await waits until a path returns 200, the program exits, or the timeout passes.
func (s *Server) await(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), serverStart)
	defer cancel()
	// Without keep-alive, so that a restarted server does not get a connection to its predecessor.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if succeeds(ctx, client, s.URL+path) {
			return nil
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("it exited before it answered on %s (%v)", path, s.proc.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("no 200 from %s in time", path)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// succeeds reports whether a GET request returns 200.
func succeeds(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// PID returns the process id, or 0 if the server is stopped.
func (s *Server) PID() int {
	if s.proc == nil {
		return 0
	}
	return s.proc.cmd.Process.Pid
}

// Log returns the output of the server since the first start.
func (s *Server) Log() string { return s.log.String() }

var printedCode = regexp.MustCompile(`and enter  (\S+)`)

// SetupCode returns the set-up code that a server without accounts prints.
func (s *Server) SetupCode() string {
	s.t.Helper()
	// The server may reply before its output has been read.
	for deadline := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		if code := printedCode.FindStringSubmatch(s.Log()); code != nil {
			return code[1]
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no code is printed: %s", s.Log())
		}
	}
}

// Stop stops the server with SIGTERM. The test fails unless it exits with code 0 within 15 seconds. It does nothing if
// the server is stopped.
func (s *Server) Stop() {
	s.t.Helper()
	if s.proc == nil {
		return
	}
	p := s.proc
	s.proc = nil
	if err := p.end(syscall.SIGTERM, serverStop); err != nil {
		s.t.Error(err)
	} else if p.err != nil {
		s.t.Errorf("carrel serve ended with %v, want exit code 0", p.err)
	}
}

// Kill ends the server with SIGKILL, like a crash.
func (s *Server) Kill() {
	if s.proc == nil {
		return
	}
	_ = s.proc.end(syscall.SIGKILL, serverStop) // SIGKILL cannot be ignored
	s.proc = nil
}

// Start restarts a stopped or killed server with the same address and data. It does nothing if the server is running.
func (s *Server) Start() {
	s.t.Helper()
	if s.proc != nil {
		return
	}
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Restart stops the server cleanly and starts it again.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Admin runs carrel admin on the server's data. The server may be running or stopped.
func (s *Server) Admin(args ...string) Result {
	s.t.Helper()
	where := []string{"admin", "--data", s.Data}
	if s.opts.Database != "" {
		where = []string{"admin", "--database", s.opts.Database}
	}
	return runCommand(s.t, s.opts.Binary, s.opts.Env, append(where, args...)...)
}

// MustAdmin runs an admin command that must succeed and returns its output.
func (s *Server) MustAdmin(args ...string) string {
	s.t.Helper()
	r := s.Admin(args...)
	if r.Code != 0 {
		s.t.Fatalf("carrel admin %v: %d %s", args, r.Code, r.Stderr)
	}
	return r.Stdout
}
