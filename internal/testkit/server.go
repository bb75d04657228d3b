package testkit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// How long a server may take to answer on /healthz, and to end after SIGTERM (it drains for up to 10 s).
const (
	serverStart = 30 * time.Second
	serverStop  = 15 * time.Second
)

// ServerOptions says how a test wants its server.
type ServerOptions struct {
	// Data is the data folder; empty means a new one that is removed with the test.
	Data string
	// Database is the URL of a PostgreSQL database; empty means SQLite in the data folder.
	Database string
	// Args follow those that the helper gives to carrel serve.
	Args []string
	// Env are settings as NAME=value. Nothing that starts with CARREL_ is taken from our own environment.
	Env []string
	// Binary is the program to run; empty means the one of this source.
	Binary string
}

// Server is the real program, serving on a free port of the loopback address. It ends with the test.
type Server struct {
	// URL is the base address, without a slash at the end. It stays the same over a restart.
	URL string
	// Data is the data folder.
	Data string

	t    testing.TB
	opts ServerOptions
	addr string
	log  *logBuffer
	proc *process // nil while stopped
}

// StartServer starts carrel serve and returns when it answers. At the test's end it is stopped as an operator would
// stop it, and the test fails if that goes wrong or a secret stands in the log; a failed test shows the log.
func StartServer(t testing.TB, opts ServerOptions) *Server {
	t.Helper()
	if opts.Data == "" {
		opts.Data = t.TempDir()
	}
	if opts.Binary == "" {
		opts.Binary = Binary(t)
	}
	s := &Server{Data: opts.Data, t: t, opts: opts, addr: ReserveAddr(t), log: &logBuffer{}}
	s.URL = "http://" + s.addr
	t.Cleanup(func() {
		s.Stop()
		// Held here, so that it holds for every test that has a server.
		if leak := leakIn(s.Log()); leak != "" {
			t.Errorf("a secret is in the log: %s", leak)
		}
		if t.Failed() {
			t.Logf("carrel's log:\n%s", s.Log())
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs the program and waits until it answers.
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
	if err := s.awaitHealthy(); err != nil {
		s.Kill()
		return fmt.Errorf("carrel serve: %w", err)
	}
	return nil
}

// awaitHealthy returns when /healthz answers 200, or the program has ended, or took too long.
func (s *Server) awaitHealthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), serverStart)
	defer cancel()
	// Connections of its own, kept for nobody: a restarted server must not meet one to its predecessor.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if healthy(ctx, client, s.URL) {
			return nil
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("it ended before it answered on /healthz (%v)", s.proc.cmd.ProcessState)
		case <-ctx.Done():
			return errors.New("no 200 from /healthz in time")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func healthy(ctx context.Context, client *http.Client, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", http.NoBody)
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

// PID returns the id of the running process, or 0 while the server is stopped.
func (s *Server) PID() int {
	if s.proc == nil {
		return 0
	}
	return s.proc.cmd.Process.Pid
}

// Log returns what the server has written so far, over all its runs.
func (s *Server) Log() string { return s.log.String() }

// Stop stops the server by SIGTERM. The test fails unless it exits with 0 within 15 seconds. It does nothing while
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

// Kill ends the server by SIGKILL, as a crash would.
func (s *Server) Kill() {
	if s.proc == nil {
		return
	}
	_ = s.proc.end(syscall.SIGKILL, serverStop) // can't be refused
	s.proc = nil
}

// Start starts a stopped or killed server again, on the same address and data. It does nothing while the server runs.
func (s *Server) Start() {
	s.t.Helper()
	if s.proc != nil {
		return
	}
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Restart stops the server in order and starts it again.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Admin runs carrel admin on the server's data, whether the server runs or not.
func (s *Server) Admin(args ...string) Result {
	s.t.Helper()
	where := []string{"admin", "--data", s.Data}
	if s.opts.Database != "" {
		where = []string{"admin", "--database", s.opts.Database}
	}
	return runCommand(s.t, s.opts.Binary, s.opts.Env, append(where, args...)...)
}
