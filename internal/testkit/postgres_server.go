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
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// How long a server may take to start (recovery after a crash included) and to stop.
const (
	postgresStart = 30 * time.Second
	postgresStop  = 20 * time.Second
)

// fastSettings trade all safety for speed: the data of a test need not survive the machine.
var fastSettings = []string{
	"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
	"autovacuum=off", "jit=off",
}

// PostgresOptions says what kind of server a test wants.
type PostgresOptions struct {
	// Durable keeps what was committed across a crash, as a real installation does. It is slower.
	Durable bool
	// Settings are further settings, each as name=value.
	Settings []string
}

// PostgresServer is a PostgreSQL server of its own, which a test may stop, crash and start again. Tests that only
// need a database use Postgres or PostgresTemplate, which share one server.
//
// It listens on a Unix socket in a folder that nobody else can enter: no port to clash over, no door left open.
type PostgresServer struct {
	dir  string // holds data/, the socket and the log
	bin  string
	args []string
	cred *syscall.Credential
	proc *process // nil while stopped
}

// NewPostgresServer starts a server for this test and removes it at the test's end. Where PostgreSQL is not
// installed the test is skipped, or fails if CARREL_TEST_REQUIRE_POSTGRES is 1.
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

// StartPostgres makes a new database cluster in a temporary folder and starts a server on it. The caller closes it.
// The error is ErrNoPostgres where PostgreSQL is not installed.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*PostgresServer, error) {
	bin, err := findPostgres(ctx)
	if err != nil {
		return nil, err
	}
	cred, err := postgresCredential()
	if err != nil {
		return nil, err
	}
	parent, err := scratch.path()
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

// postgresCredential returns as whom the server runs: nil is ourselves. PostgreSQL refuses to run as root.
func postgresCredential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // nil is what SysProcAttr takes for "ourselves"
	}
	for _, name := range []string{"postgres", "nobody"} {
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
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

// initialise lays the cluster. Its collation is a language's, as it is on most installations, and not that of bytes:
// an ORDER BY that must not depend on it fails here first.
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

// command returns a command of PostgreSQL, run as its user and in its folder (ours may be closed to that user).
func (s *PostgresServer) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	return cmd
}

func (s *PostgresServer) data() string    { return filepath.Join(s.dir, "data") }
func (s *PostgresServer) logPath() string { return filepath.Join(s.dir, "log") }

// URL returns the address of a database of this server. The database "postgres" is always there.
func (s *PostgresServer) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}}.Encode(),
	}
	return u.String()
}

// Log returns what the server has written to its log.
func (s *PostgresServer) Log() string {
	b, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Start starts the server and returns when it takes connections. It does nothing while the server runs.
func (s *PostgresServer) Start() error {
	if s.proc != nil && s.proc.running() {
		return nil
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := s.command(context.Background(), "postgres", s.args...)
	cmd.Stdout, cmd.Stderr = log, log
	// SIGQUIT stops it at once with all its backends, and unlike SIGKILL leaves no shared memory behind.
	if s.proc, err = startProcess(cmd, syscall.SIGQUIT); err != nil {
		return err
	}
	if err := s.awaitReady(); err != nil {
		return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, s.Log())
	}
	return nil
}

// awaitReady returns when the server takes connections, or has ended, or took too long.
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
			return fmt.Errorf("it ended: %w", s.proc.err)
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop shuts the server down in order, ending open connections. It does nothing while the server is stopped.
func (s *PostgresServer) Stop() error { return s.end(syscall.SIGINT) }

// Crash ends the server without letting it tidy up: the next start recovers from the log of what was committed.
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
