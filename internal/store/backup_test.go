package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"carrel/internal/backup"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

// TestDumpIsConsistentWhileOthersWrite copies a database whose users and audit counter change in one transaction.
func TestDumpIsConsistentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := open(t, b.options)
			if _, err := db.Secret(ctx); err != nil {
				t.Fatal(err)
			}
			stop, began := make(chan struct{}), make(chan struct{})
			var writes sync.WaitGroup
			writes.Go(func() {
				for i := 0; ; i++ {
					err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
						if _, err := tx.exec(ctx, `INSERT INTO blob (hash, size, used_at) VALUES ($1, 1, 1)`,
							fmt.Sprintf("%064d", i)); err != nil {
							return err
						}
						_, err := tx.exec(ctx, `UPDATE document_change_head SET last = last + 1`)
						return err
					})
					if err != nil {
						t.Error(err)
						return
					}
					if i == 20 {
						close(began)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
			<-began
			path := filepath.Join(t.TempDir(), "copy")
			info, err := db.DumpTo(ctx, path, func(backup.Original) error { return nil })
			close(stop)
			writes.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if info.Engine != b.name || info.Schema < 38 || info.Installation == "" {
				t.Errorf("%+v", info)
			}
			if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 {
				t.Errorf("the copy has mode %v, %v", stat.Mode(), err)
			}
			restored := b.restore(t, path)
			var rows, counter int
			err = get(ctx, restored.read, `SELECT (SELECT count(*) FROM blob), last FROM document_change_head`, nil,
				&rows, &counter)
			if err != nil || rows < 21 || rows != counter {
				t.Errorf("the copy has %d rows and counts %d (%v)", rows, counter, err)
			}
		})
	}
}

// restore opens a copy of the backend's database.
func (b backend) restore(t *testing.T, path string) *DB {
	t.Helper()
	if b.name == "sqlite" {
		if err := CheckSQLite(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		return open(t, Options{Path: path})
	}
	target := testkit.Postgres(t)
	if err := RestorePostgres(t.Context(), target, path); err != nil {
		t.Fatal(err)
	}
	if err := RestorePostgres(t.Context(), target, path); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("restoring into a database with tables: %v", err)
	}
	return open(t, Options{URL: target})
}

func TestOnlyOneBackupIsMadeAtATime(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			one, two := open(t, b.options), open(t, b.options)
			unlock, err := one.LockBackup(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := two.LockBackup(t.Context()); !errors.Is(err, errBackupRunning) {
				t.Errorf("a second backup: %v", err)
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
			unlock, err = two.LockBackup(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDamagedDatabaseIsFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	if err := open(t, Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	garbage := slices.Repeat([]byte{0x5a}, 4096*8)
	_, err = f.WriteAt(garbage, 4096*4)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := CheckSQLite(t.Context(), path); err == nil {
		t.Error("the damage was not noticed")
	}
}

// The password of a database must not be in the arguments of a process, which every user can read.
func TestToolsGetThePasswordInTheEnvironment(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct {
		target string
		env    []string
	}{
		"postgres://u:p%40ss@h1,h2:5433/db?sslmode=require": {
			"postgres://u@h1,h2:5433/db?sslmode=require", []string{"PGPASSWORD=p@ss"},
		},
		"postgres://h/db?user=u&password=secret": {"postgres://h/db?user=u", []string{"PGPASSWORD=secret"}},
		"postgres:///db?host=/run":               {"postgres:///db?host=%2Frun", nil},
		"postgres://u@h/db?search_path=my app&statement_cache_capacity=0": {
			"postgres://u@h/db", []string{`PGOPTIONS=-c search_path=my\ app`},
		},
	} {
		target, env, err := toolConnection(address)
		if err != nil || target != want.target || !slices.Equal(env, want.env) {
			t.Errorf("%s: %s %q %v", address, target, env, err)
		}
	}
}

func TestToolsOfAnOlderVersionAreRefused(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"pg_dump (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)": "",
		"pg_dump (PostgreSQL) 17.2":                           "",
		"pg_dump (PostgreSQL) 14.1":                           "install the client programs of version 15",
		"pg_dump":                                             "prints no version",
	} {
		err := checkTool("pg_dump", version, 15)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestDatabaseThatEveryUserCanReadIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my library.db")
	if err := open(t, Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o604, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "run: chmod 600 '"+path+"'") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil { // a group may be the backup operator's
		t.Fatal(err)
	}
	if err := open(t, Options{Path: path}).Close(); err != nil {
		t.Error(err)
	}
}

// A write beyond the size of the file fails like one on a full disk: the operator needs to know what to do.
func TestFullDiskIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	db := open(t, Options{Path: path})
	w, ok := db.write.(*batchWriter)
	if !ok {
		t.Fatal("no batch writer")
	}
	if err := w.execOutsideTx(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // the current size
		t.Fatal(err)
	}
	insert := func() error {
		return db.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			_, err := tx.exec(ctx, `INSERT INTO blob (hash, size, used_at) VALUES ($1, 1, 1)`, strings.Repeat("x", 1<<20))
			return err
		})
	}
	err := fail("import", "source", insert())
	told := core.AsError(err)
	if told.Kind != core.KindUnavailable || !strings.Contains(told.Detail, "The disk of the server is full.") {
		t.Errorf("%v: %s", err, told.Detail)
	}
	// The next batch opens a new connection, which has no limit: nothing is lost once there is space.
	if err := insert(); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	for _, err := range []error{
		&pgconn.PgError{Code: "53100"}, &os.PathError{Op: "write", Err: syscall.ENOSPC},
		&lostError{fmt.Errorf("another: %w", err)},
	} {
		if classify(err) != classDiskFull && core.AsError(err).Detail != told.Detail {
			t.Errorf("%v is not a full disk", err)
		}
	}
	if classify(&lostError{sql.ErrConnDone}) != classUnavailable {
		t.Error("any lost transaction is a full disk")
	}
}

// TestScratchDatabaseIsUsableWhileAStandbyReplaysItsCreation names a standby first, which replays with a delay.
func TestScratchDatabaseIsUsableWhileAStandbyReplaysItsCreation(t *testing.T) {
	t.Parallel()
	primary := testkit.NewPostgresServer(t, testkit.PostgresOptions{
		Durable: true, Settings: []string{"recovery_min_apply_delay=2s"},
	})
	standby := primary.NewStandby(t)
	scratch, drop, err := ScratchPostgres(t.Context(), testkit.PairURL("postgres", standby, primary))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := openPool(scratch)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.ExecContext(t.Context(), "CREATE TABLE restored (id BIGINT)")
	if err := errors.Join(err, pool.Close(), drop()); err != nil {
		t.Error(err)
	}
}
