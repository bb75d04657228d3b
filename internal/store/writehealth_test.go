package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
)

// forgetWrites makes CheckWrites write instead of relying on earlier outcomes.
func (db *DB) forgetWrites() {
	db.writes.provenAt.Store(0)
	db.writes.mu.Lock()
	defer db.writes.mu.Unlock()
	db.writes.checkErr = nil
}

func TestWritesAreCheckedWithAWrite(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db, other := open(t, b.options), open(t, b.options)
			if err := db.CheckWrites(t.Context()); err != nil {
				t.Fatal(err)
			}
			blocked, release, released := make(chan struct{}), make(chan struct{}), make(chan error)
			go func() {
				released <- other.inTx(context.WithoutCancel(t.Context()), func(ctx context.Context, tx querier) error {
					if other.onPostgres() { // a slow machine must not end the transaction
						if _, err := tx.exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
							return err
						}
					}
					_, err := tx.exec(ctx, `UPDATE write_check SET checked_at = checked_at + 1`)
					close(blocked)
					<-release
					return err
				})
			}()
			<-blocked
			db.forgetWrites()
			limited, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := db.CheckWrites(limited); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a locked database: %v", err)
			}
			db.writes.checkedAt = time.Now().Add(time.Hour) // the pause is not over
			if err := db.CheckWrites(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a failed check is not remembered: %v", err)
			}
			close(release)
			if err := <-released; err != nil {
				t.Fatal(err)
			}
			db.forgetWrites()
			if err := db.CheckWrites(t.Context()); err != nil {
				t.Errorf("after the lock: %v", err)
			}
		})
	}
}

func TestRecentWriteSavesTheCheck(t *testing.T) {
	t.Parallel()
	db := open(t, backends(t)[0].options)
	if _, err := db.Secret(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := db.Stats()
	if err := db.CheckWrites(t.Context()); err != nil || db.Stats() != before {
		t.Errorf("%v; %+v after %+v", err, db.Stats(), before)
	}
}

func TestFullDiskIsAFailedWriteAndAConstraintIsNot(t *testing.T) {
	t.Parallel()
	db := open(t, backends(t)[0].options)
	ctx := t.Context()
	if _, err := db.exec(ctx, `INSERT INTO write_check (id, checked_at) VALUES (2, 0)`); err == nil {
		t.Fatal("the constraint is not checked")
	}
	if err := db.inTx(ctx, func(context.Context, querier) error { return core.NotFound("thing") }); err == nil {
		t.Fatal("no error")
	}
	if n := db.Stats().Failed; n != 0 {
		t.Errorf("%d failed writes after errors of the caller", n)
	}
	// SQLite reports a full disk when a file may not grow further.
	if err := db.write.(*batchWriter).execOutsideTx(ctx, "PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	_, err := db.exec(ctx, `INSERT INTO installation (id, secret) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET secret = excluded.secret`, []byte(strings.Repeat("x", 1<<20)))
	if err == nil || db.Stats().Failed != 1 {
		t.Errorf("a full disk: %v, %+v", err, db.Stats())
	}
	if err := db.CheckWrites(ctx); err != nil { // a small write still fits
		t.Errorf("check after a failure: %v", err)
	}
	if writes := db.Stats().Writes; writes == 0 || db.writes.provenAt.Load() == 0 {
		t.Error("the check did not write although the last write had failed")
	}
}

func TestPostgresFailuresAreToldByTheirCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"25006": true, "53100": true, "57014": true, "58030": true, "XX000": true, "23514": false, "42601": false,
	} {
		if got := isPostgresFailure(code); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

func TestStatementsOfReadsAndTransactionsAreCounted(t *testing.T) {
	t.Parallel()
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			db := open(t, b.options)
			ctx := t.Context()
			before := db.Stats().Statements
			if _, err := db.Users(ctx); err != nil {
				t.Fatal(err)
			}
			if n := db.Stats().Statements - before; n != 1 {
				t.Errorf("a read is %d statements", n)
			}
			write := func() error {
				return db.inTx(ctx, func(ctx context.Context, tx querier) error {
					_, err := tx.exec(ctx, `UPDATE app_user SET name = '' WHERE id = ''`)
					return err
				})
			}
			if err := write(); err != nil { // opens the connection
				t.Fatal(err)
			}
			before = db.Stats().Statements
			err := write()
			if n := db.Stats().Statements - before; err != nil || n != 3 {
				t.Errorf("BEGIN, UPDATE and COMMIT are %d statements: %v", n, err)
			}
		})
	}
}
