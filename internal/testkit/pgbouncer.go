package testkit

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgbouncerSettings are the settings of the pooler in transaction mode: any database of the server in %s, in a pool
// smaller than the client's, so that statements of one client connection run on several server connections.
const pgbouncerSettings = `[databases]
* = host=%s user=postgres
[pgbouncer]
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
auth_type = any
listen_port = 6432
unix_socket_dir = %s
logfile = %s
ignore_startup_parameters = extra_float_digits
`

// Pgbouncer starts pgbouncer in transaction mode in front of a database of the tests and returns the URL of the
// database there. If pgbouncer is not installed, the test is skipped, or fails if CARREL_TEST_REQUIRE_POSTGRES is 1.
func Pgbouncer(t testing.TB, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isExecutable(program) {
			withoutPgbouncer(t)
		}
	}
	cred, err := unprivileged("pgbouncer", "postgres", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	dir := pgbouncerDir(t, cred)
	file := filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf(pgbouncerSettings, u.Query().Get("host"), dir, filepath.Join(dir, "log"))
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), program, "-q", file)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	p, err := startProcess(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.end(syscall.SIGINT, postgresStop); err != nil {
			t.Error(err)
		}
		if log, err := os.ReadFile(filepath.Join(dir, "log")); err == nil && t.Failed() {
			t.Logf("pgbouncer's log:\n%s", log)
		}
	})
	u.RawQuery = url.Values{"host": {dir}, "port": {"6432"}}.Encode()
	awaitPgbouncer(t, p, u.String())
	return u.String()
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

func withoutPgbouncer(t testing.TB) {
	t.Helper()
	const missing = "pgbouncer is not installed (on Debian: apt-get install pgbouncer)"
	if os.Getenv(EnvRequirePostgres) == "1" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// pgbouncerDir returns a folder for the socket, with a short path because the length of socket paths is limited.
func pgbouncerDir(t testing.TB, cred *syscall.Credential) string {
	t.Helper()
	parent, err := scratch.path()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(parent, "pgb-") //nolint:usetesting // see above
	if err == nil && cred != nil {
		err = os.Chown(dir, int(cred.Uid), int(cred.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func awaitPgbouncer(t testing.TB, p *process, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), postgresStart)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-p.done:
			t.Fatalf("pgbouncer exited: %v", p.err)
		case <-ctx.Done():
			t.Fatalf("pgbouncer did not start: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
