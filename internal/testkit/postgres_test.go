package testkit

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// query runs a statement on a new connection and returns the first column as text.
func query(ctx context.Context, url, statement string) ([]string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func mustQuery(t *testing.T, url, statement string) string {
	t.Helper()
	got, err := query(t.Context(), url, statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return strings.Join(got, ",")
}

func TestEveryTestGetsItsOwnDatabase(t *testing.T) {
	t.Parallel()
	a, b := Postgres(t), Postgres(t)
	mustQuery(t, a, "CREATE TABLE only_here (x int)")
	if got := mustQuery(t, b, "SELECT count(*)::text FROM pg_tables WHERE tablename = 'only_here'"); got != "0" {
		t.Error("a table of one test's database is seen in another's")
	}
}

func TestDatabaseIsDroppedAfterItsTest(t *testing.T) {
	t.Parallel()
	Postgres(t) // skips without PostgreSQL
	var url string
	t.Run("a test that leaks a connection", func(t *testing.T) {
		url = Postgres(t)
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := query(t.Context(), url, "SELECT 'still here'"); err == nil {
		t.Error("the database outlived its test")
	}
}

func TestTemplateIsMigratedOnceAndCopied(t *testing.T) {
	t.Parallel()
	Postgres(t) // skips without PostgreSQL
	var migrations atomic.Int32
	migrate := func(url string) error {
		migrations.Add(1)
		_, err := query(context.Background(), url, "CREATE TABLE book AS SELECT 'As We May Think' AS title")
		return err
	}
	for _, name := range []string{"first", "second", "third"} {
		t.Run(name, func(t *testing.T) {
			url := PostgresTemplate(t, "copied", migrate)
			if got := mustQuery(t, url, "SELECT title FROM book"); got != "As We May Think" {
				t.Errorf("the copy holds %q", got)
			}
			mustQuery(t, url, "INSERT INTO book VALUES ('seen by nobody else')")
		})
	}
	if n := migrations.Load(); n != 1 {
		t.Errorf("migrated %d times, want once", n)
	}
}

func TestFailedTemplateMigrationFailsEveryTest(t *testing.T) {
	t.Parallel()
	Postgres(t) // skips without PostgreSQL
	broken := errors.New("no such column")
	for range 2 {
		_, err := sharedPostgres.template("broken", func(string) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want the migration's error", err)
		}
	}
}

func TestDurableServerKeepsDataAcrossACrashAndARestart(t *testing.T) {
	t.Parallel()
	s := NewPostgresServer(t, PostgresOptions{Durable: true, Settings: []string{"application_name=chaos"}})
	url := s.URL("postgres")
	if got := mustQuery(t, url, "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s on a durable server", got)
	}
	mustQuery(t, url, "CREATE TABLE kept AS SELECT 'one' AS x")

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	if _, err := query(t.Context(), url, "SELECT 'up'"); err == nil {
		t.Error("a crashed server still answers")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Log(), "database system was not properly shut down") {
		t.Error("the server shut down in order: that was no crash")
	}
	mustQuery(t, url, "INSERT INTO kept VALUES ('two')")
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := mustQuery(t, url, "SELECT x FROM kept ORDER BY x"); got != "one,two" {
		t.Errorf("kept %q, want one,two", got)
	}
}

func TestSharedServerSortsTextByLanguage(t *testing.T) {
	t.Parallel()
	if os.Getenv(EnvPostgres) != "" && !strings.Contains(os.Getenv(EnvPostgres), "carrel-test-") {
		t.Skip("an external server has its own collation")
	}
	got := mustQuery(t, Postgres(t), "SELECT x FROM (VALUES ('a'), ('B'), ('_c')) v(x) ORDER BY x")
	if got != "_c,a,B" {
		t.Errorf("sorted %s: byte order would hide an ORDER BY that needs a collation", got)
	}
}

// TestServerDiesWithItsProcess kills a test process that has a server, and checks that the server ends.
func TestServerDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	Postgres(t) // skips without PostgreSQL
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux ends a child when its parent is killed")
	}
	note := filepath.Join(t.TempDir(), "pid")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperThatIsKilled$")
	cmd.Env = append(os.Environ(), "TESTKIT_NOTE="+note, EnvPostgres+"=", "TMPDIR="+shortTempDir(t))
	helper, err := startProcess(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	pid := waitForNote(t, note)
	_ = helper.end(syscall.SIGKILL, time.Minute)
	for range 20_000 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("PostgreSQL (process %d) outlived the process that started it", pid)
}

// TestHelperThatIsKilled is the child process of TestServerDiesWithItsProcess.
func TestHelperThatIsKilled(t *testing.T) {
	note := os.Getenv("TESTKIT_NOTE")
	if note == "" {
		return
	}
	Postgres(t)
	pid := strconv.Itoa(sharedPostgres.server.proc.cmd.Process.Pid)
	if err := os.WriteFile(note+".new", []byte(pid), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(note+".new", note); err != nil {
		t.Fatal(err)
	}
	select {} // until killed
}

// shortTempDir returns a folder that other users can traverse, with a path short enough for a socket.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tk-") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func waitForNote(t *testing.T, path string) int {
	t.Helper()
	for range 20_000 {
		if b, err := os.ReadFile(path); err == nil {
			pid, err := strconv.Atoi(string(b))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the helper did not start PostgreSQL within 30 s")
	return 0
}

func TestPostgresVersionIsParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 9.6.24\n":                         9,
		"postgres (PostgreSQL) 18beta1\n":                        18,
		"mysqld 8.0":                                             0,
		"":                                                       0,
	} {
		if got := majorVersion(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestMissingPostgresSkipsTheTestUnlessRequired(t *testing.T) {
	t.Setenv(EnvRequirePostgres, "")
	if got := runHelper(t, func(tb testing.TB) { withoutPostgres(tb, ErrNoPostgres) }); got.outcome != "skip" ||
		!strings.Contains(got.message, "apt-get install postgresql") {
		t.Errorf("not installed: %+v, want a skip that says what to install", got)
	}
	if got := runHelper(t,
		func(tb testing.TB) { withoutPostgres(tb, errors.New("initdb: no space")) }); got.outcome != "fatal" {
		t.Errorf("installed but broken: %+v, want a failure", got)
	}
	t.Setenv(EnvRequirePostgres, "1")
	if got := runHelper(t, func(tb testing.TB) { withoutPostgres(tb, ErrNoPostgres) }); got.outcome != "fatal" ||
		!strings.Contains(got.message, "apt-get install postgresql") {
		t.Errorf("required: %+v, want a failure that says what to install", got)
	}
}
