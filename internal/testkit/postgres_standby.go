package testkit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// NewStandby starts a standby that copies this server, removed at the end of the test. From then on the server
// acknowledges a commit once the standby has it too, so that none is lost when the server dies. The server must be
// Durable.
func (s *PostgresServer) NewStandby(t testing.TB) *PostgresServer {
	t.Helper()
	standby, err := s.startStandby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the standby's log:\n%s", standby.Log())
		}
		if err := standby.Close(); err != nil {
			t.Error(err)
		}
	})
	return standby
}

func (s *PostgresServer) startStandby(ctx context.Context) (*PostgresServer, error) {
	parent, err := scratch.path()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "pg-")
	if err != nil {
		return nil, err
	}
	standby := &PostgresServer{dir: dir, bin: s.bin, cred: s.cred}
	if s.cred != nil {
		err = os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid))
	}
	if err == nil {
		err = standby.Follow(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

// Follow makes a stopped server a standby of another one, as NewStandby does. Its own data are replaced.
func (s *PostgresServer) Follow(ctx context.Context, primary *PostgresServer) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	s.args = append([]string{"-D", s.data(), "-k", s.dir}, primary.args[4:]...)
	cmd := s.command(ctx, "pg_basebackup", "-D", s.data(), "-h", primary.dir, "-U", "postgres", "-R", "-X", "stream",
		"--checkpoint=fast", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := s.Start(); err != nil {
		return err
	}
	return primary.waitForStandby(ctx)
}

// waitForStandby returns once a standby receives changes, and makes commits wait for it.
func (s *PostgresServer) waitForStandby(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, postgresStart)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for receives := false; !receives; {
		err := conn.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming'`).Scan(&receives)
		if err != nil {
			return err
		}
		if !receives {
			time.Sleep(20 * time.Millisecond)
		}
	}
	for _, statement := range []string{
		`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Promote makes a standby the primary and returns once it accepts writes. It acknowledges commits by itself.
func (s *PostgresServer) Promote(ctx context.Context) error {
	cmd := s.command(ctx, "pg_ctl", "promote", "-D", s.data(), "-w")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl promote: %w\n%s", err, out)
	}
	return nil
}

// PairURL returns the URL of a database on two servers; clients connect to the server that accepts writes.
func PairURL(database string, one, other *PostgresServer) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{
			"host": {one.dir + "," + other.dir}, "target_session_attrs": {"read-write"},
		}.Encode(),
	}
	return u.String()
}
