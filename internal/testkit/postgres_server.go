package testkit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Time limits for starting a server, including crash recovery, and for stopping it.
const (
	postgresStart = Patience
	postgresStop  = Patience
)

// fastSettings trade durability for speed, because test data need not survive a crash.
var fastSettings = []string{
	"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
	"autovacuum=off", "jit=off",
}

// PostgresOptions configure a server.
type PostgresOptions struct {
	// Durable makes committed data survive a crash, like a real installation. It is slower.
	Durable bool
	// Settings are additional settings in the form name=value.
	Settings []string
}

// PostgresServer is a separate PostgreSQL server that a test may stop, crash and restart. Tests that only need a
// database use Postgres or PostgresTemplate, which share one server.
//
// It listens on a Unix socket in a private folder, so there are no port conflicts and no network access.
type PostgresServer struct {
	dir  string // contains data/, the socket and the log
	bin  string
	args []string
	cred *syscall.Credential
	proc *process // nil while stopped
}

// NewPostgresServer starts a server that is removed at the end of the test. If PostgreSQL is not installed, the test is
// skipped, or fails if CARREL_TEST_REQUIRE_POSTGRES is 1.
func NewPostgresServer(t testing.TB, opts PostgresOptions) *PostgresServer {
	t.Helper()
	s, err := StartPostgres(t.Context(), opts)
	if err != nil {
		withoutPostgres(t, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("PostgreSQL's log:\n%s", s.Log())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// StartPostgres creates a database cluster in a temporary folder, in memory unless it is durable, and starts a server.
// The caller must close it. The error is ErrNoPostgres if PostgreSQL is not installed.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*PostgresServer, error) {
	bin, err := findPostgres(ctx)
	if err != nil {
		return nil, err
	}
	cred, err := unprivileged("PostgreSQL", "postgres", "nobody")
	if err != nil {
		return nil, err
	}
	folder := memory.pathOrScratch
	if opts.Durable {
		folder = scratch.path
	}
	parent, err := folder()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "pg-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{dir: dir, bin: bin, cred: cred}
	if err = s.initialise(ctx, opts); err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// unprivileged returns the user to run a server as that refuses to run as root: the first of the names that exists, or
// nil for the current user.
func unprivileged(server string, names ...string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // SysProcAttr takes nil for the current user
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("%s does not run as root, and there is no user %s to run it as", server,
		strings.Join(names, " or "))
}

// initialise creates the cluster. Its collation is linguistic as in most installations, not bytewise, so that
// tests detect an ORDER BY that depends on it.
func (s *PostgresServer) initialise(ctx context.Context, opts PostgresOptions) error {
	if s.cred != nil {
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return err
		}
	}
	s.args = []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	settings := []string{"max_connections=1000", "shared_buffers=32MB"}
	if !opts.Durable {
		settings = append(settings, fastSettings...)
	}
	for _, setting := range append(settings, opts.Settings...) {
		s.args = append(s.args, "-c", setting)
	}
	cmd := s.command(ctx, "initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
		"--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "-D", s.data())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// command returns a PostgreSQL command, run as its user and in its folder, because the current folder may be
// inaccessible.
func (s *PostgresServer) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	return cmd
}

func (s *PostgresServer) data() string    { return filepath.Join(s.dir, "data") }
func (s *PostgresServer) logPath() string { return filepath.Join(s.dir, "log") }

// URL returns the URL of a database on this server. The database "postgres" always exists.
func (s *PostgresServer) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}}.Encode(),
	}
	return u.String()
}

// Log returns the server's log.
func (s *PostgresServer) Log() string {
	b, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Start starts the server and returns once it accepts connections. It does nothing if the server is running.
func (s *PostgresServer) Start() error {
	if s.proc != nil && s.proc.running() {
		return nil
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	cmd := s.command(context.Background(), "postgres", s.args...)
	cmd.Stdout, cmd.Stderr = log, log
	// SIGQUIT stops the server and its backends at once and, unlike SIGKILL, leaves no shared memory behind.
	if s.proc, err = startProcess(cmd, syscall.SIGQUIT); err != nil {
		return err
	}
	if err := s.awaitReady(); err != nil {
		return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, s.Log())
	}
	return nil
}

// awaitReady waits until the server accepts connections, has exited, or the timeout passes.
func (s *PostgresServer) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), postgresStart)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("the server exited: %w", s.proc.err)
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop shuts the server down cleanly and closes open connections. It does nothing if the server is stopped.
func (s *PostgresServer) Stop() error { return s.end(syscall.SIGINT) }

// Crash ends the server without a clean shutdown. The next start recovers committed data from the WAL.
func (s *PostgresServer) Crash() error { return s.end(syscall.SIGQUIT) }

func (s *PostgresServer) end(sig syscall.Signal) error {
	if s.proc == nil {
		return nil
	}
	err := s.proc.end(sig, postgresStop)
	s.proc = nil
	return err
}

// Restart stops the server and starts it again.
func (s *PostgresServer) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

// Close stops the server and removes its data.
func (s *PostgresServer) Close() error {
	return errors.Join(s.Stop(), os.RemoveAll(s.dir))
}
