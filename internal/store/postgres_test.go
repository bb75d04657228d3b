package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

func TestOldServerIsRefused(t *testing.T) {
	t.Parallel()
	if err := checkVersion(140012); err == nil || !strings.Contains(err.Error(), "PostgreSQL 14; Carrel needs 15") {
		t.Errorf("14.12: %v", err)
	}
	for _, number := range []int{150000, 150004, 180001} {
		if err := checkVersion(number); err != nil {
			t.Errorf("%d: %v", number, err)
		}
	}
}

func TestDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	db := open(t, Options{URL: testkit.Postgres(t)})
	for _, statement := range []string{
		"CREATE TABLE tally (id TEXT, n INTEGER)",
		"INSERT INTO tally VALUES ('a', 0), ('b', 0)",
	} {
		if _, err := db.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// Both have locked one row before either requests the other's.
	var locked sync.WaitGroup
	locked.Add(2)
	tries := make(chan string, 2*maxAttempts)
	add := func(first, second string) error {
		once := locked.Done
		return db.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			tries <- first
			if _, err := tx.exec(ctx, "UPDATE tally SET n = n + 1 WHERE id = $1", first); err != nil {
				return err
			}
			if once != nil {
				once()
				once = nil
				locked.Wait()
			}
			_, err := tx.exec(ctx, "UPDATE tally SET n = n + 1 WHERE id = $1", second)
			return err
		})
	}
	errs := make(chan error)
	go func() { errs <- add("a", "b") }()
	go func() { errs <- add("b", "a") }()
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Error(err)
	}
	if n := len(tries); n < 3 {
		t.Errorf("%d tries: there was no deadlock", n)
	}
	var total int
	if err := get(t.Context(), db.read, "SELECT sum(n) FROM tally", nil, &total); err != nil || total != 4 {
		t.Errorf("stored %d (%v), want 4", total, err)
	}
}

func TestPanicRollsBack(t *testing.T) {
	t.Parallel()
	db := open(t, Options{URL: testkit.Postgres(t)})
	for range DefaultConnections + 1 { // more than the pool has: no connection may leak
		err := db.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			if _, err := tx.exec(ctx,
				"INSERT INTO app_user VALUES ('u', 'e', 'n', 'r', 'p', NULL, 'h', NULL, 0)"); err != nil {
				return err
			}
			panic("in a write")
		})
		if err == nil || !strings.Contains(err.Error(), "panic in a write: in a write") {
			t.Fatalf("got %v", err)
		}
	}
	if n, err := db.Count(t.Context(), "app_user"); err != nil || n != 0 {
		t.Errorf("%d users (%v)", n, err)
	}
}

func TestNestedWritePanicsOnPostgres(t *testing.T) {
	t.Parallel()
	db := open(t, Options{URL: testkit.Postgres(t)})
	err := db.inTx(t.Context(), func(ctx context.Context, _ querier) error {
		return db.SetPlan(ctx, "usr_none", core.PlanNone)
	})
	if err == nil || !strings.Contains(err.Error(), "a write inside a write") {
		t.Errorf("got %v", err)
	}
}

func TestTextUnsupportedByPostgresIsInvalid(t *testing.T) {
	t.Parallel()
	db := open(t, Options{URL: testkit.Postgres(t)})
	for _, text := range []string{"a\x00b", "a\xffb"} {
		if _, err := db.UserByEmail(t.Context(), text); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q: %v, want invalid", text, err)
		}
	}
}

func TestIdleTransactionLosesItsLocks(t *testing.T) {
	t.Parallel()
	address := testkit.Postgres(t)
	plain := open(t, Options{URL: address})
	var timeout string
	if err := get(t.Context(), plain.read, "SHOW idle_in_transaction_session_timeout", nil, &timeout); err != nil ||
		timeout != "5s" {
		t.Errorf("the timeout is %q (%v), want 5s", timeout, err)
	}
	if _, err := plain.exec(t.Context(), "CREATE TABLE tally AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	impatient, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	settings := impatient.Query()
	settings.Set("idle_in_transaction_session_timeout", "100")
	impatient.RawQuery = settings.Encode()
	paused := open(t, Options{URL: impatient.String()})
	err = paused.inTx(t.Context(), func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, "UPDATE tally SET n = 1"); err != nil {
			return err
		}
		// The other transaction waits for this lock, and this one for the other.
		if _, err := plain.exec(t.Context(), "UPDATE tally SET n = n + 10"); err != nil {
			return err
		}
		_, err := tx.exec(ctx, "UPDATE tally SET n = 2")
		return err
	})
	if err := fail("count", "tally", err); !core.IsKind(err, core.KindUnavailable) {
		t.Errorf("who stopped got %v", err)
	}
	var n int
	if err := get(t.Context(), plain.read, "SELECT n FROM tally", nil, &n); err != nil || n != 10 {
		t.Errorf("stored %d (%v), want 10", n, err)
	}
}

func TestUnresponsiveServerIsUnavailable(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	_, err = pgx.Connect(t.Context(), "postgres://user@"+silent.Addr().String()+"/db?sslmode=disable&connect_timeout=1")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the driver says %v", err)
	}
	if err := fail("connect", "database", err); !core.IsKind(err, core.KindUnavailable) {
		t.Errorf("got %v", err)
	}
}

// slowConn takes so long for a write that the driver begins to read in the background. It reports that the driver
// interrupts reads.
type slowConn struct {
	net.Conn
	interrupted chan<- struct{}
}

func (c slowConn) SetDeadline(at time.Time) error {
	err := c.Conn.SetDeadline(at)
	if !at.IsZero() {
		c.interrupted <- struct{}{}
	}
	return err
}

func (c slowConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	time.Sleep(50 * time.Millisecond)
	return n, err
}

func TestCancelledStatementLeavesItsConnectionUsable(t *testing.T) {
	t.Parallel()
	config, err := postgresConfig(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	interrupted := make(chan struct{}, 1)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return slowConn{c, interrupted}, err
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := conn.Query(ctx, "SELECT generate_series(1, 10)")
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	cancel()
	<-interrupted
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		t.Errorf("the statement that had ended: %v", err)
	}
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT 7").Scan(&n); err != nil || n != 7 {
		t.Errorf("the next statement returns %d, %v", n, err)
	}
}

// limitedBy opens a database with a statement timeout, directly and through pgbouncer.
func limitedBy(t *testing.T, timeout time.Duration, test func(*testing.T, *DB)) {
	t.Helper()
	for _, pooled := range []bool{false, true} {
		t.Run(fmt.Sprintf("pooled=%t", pooled), func(t *testing.T) {
			t.Parallel()
			o := Options{URL: testkit.Postgres(t), StatementTimeout: timeout}
			if pooled {
				o.URL, o.DirectURL = testkit.Pgbouncer(t, o.URL), o.URL
			}
			test(t, open(t, o))
		})
	}
}

func TestSlowStatementIsUnavailable(t *testing.T) {
	t.Parallel()
	limitedBy(t, 200*time.Millisecond, func(t *testing.T, db *DB) {
		t.Helper()
		_, err := db.exec(t.Context(), "SELECT pg_sleep(60)")
		if err := fail("sleep", "row", err); !core.IsKind(err, core.KindUnavailable) {
			t.Errorf("a statement: %v", err)
		}
		err = get(t.Context(), db.read, "SELECT 1 FROM pg_sleep(60)", nil, new(int))
		if err := fail("sleep", "row", err); !core.IsKind(err, core.KindUnavailable) {
			t.Errorf("a query: %v", err)
		}
		err = db.inTx(t.Context(), func(ctx context.Context, tx querier) error {
			_, err := tx.exec(ctx, "SELECT pg_sleep(60)")
			return err
		})
		if err := fail("sleep", "row", err); !core.IsKind(err, core.KindUnavailable) {
			t.Errorf("a transaction: %v", err)
		}
		err = db.inBulkTx(t.Context(), func(ctx context.Context, tx querier) error {
			_, err := tx.exec(ctx, "SELECT pg_sleep(0.5)")
			return err
		})
		if err != nil {
			t.Errorf("a bulk transaction: %v", err)
		}
	})
}

func TestEveryTransactionEndsIdleOnes(t *testing.T) {
	t.Parallel()
	limitedBy(t, 0, func(t *testing.T, db *DB) {
		t.Helper()
		for _, in := range []func(context.Context, writeFunc) error{db.inTx, db.inBulkTx} {
			var idle string
			err := in(t.Context(), func(ctx context.Context, tx querier) error {
				return get(ctx, tx, "SHOW idle_in_transaction_session_timeout", nil, &idle)
			})
			if err != nil || idle != "5s" {
				t.Errorf("the timeout is %q (%v), want 5s", idle, err)
			}
		}
	})
}

func TestPoolHasTheConfiguredSize(t *testing.T) {
	t.Parallel()
	db := open(t, Options{URL: testkit.Postgres(t), Connections: 3})
	testkit.Concurrently(12, func(int) {
		if _, err := db.exec(t.Context(), "SELECT pg_sleep(0.05)"); err != nil {
			t.Error(err)
		}
	})
	var n int
	err := get(t.Context(), db.read,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carrel'", nil, &n)
	if size := db.read.(*postgres).pool.Stats().MaxOpenConnections; err != nil || n > 3 || size != 3 {
		t.Errorf("%d connections of %d (%v), want up to 3", n, size, err)
	}
}

func TestNotificationsPassBesideAPooler(t *testing.T) {
	t.Parallel()
	direct := testkit.Postgres(t)
	o := Options{URL: testkit.Pgbouncer(t, direct), DirectURL: direct}
	sender, receiver := open(t, o), open(t, o)
	ctx, stop := context.WithCancel(t.Context())
	heard := make(chan task.Hint, 100)
	ended := make(chan error)
	go func() { ended <- receiver.ListenTasks(ctx, "receiver", func(h task.Hint) { heard <- h }) }()
	want := task.Hint{Task: "t", Key: "k", Seq: 7}
	for received := false; !received; { // until LISTEN has been executed
		if err := sender.NotifyTasks(ctx, "sender", []task.Hint{want}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-heard:
			if received = true; got != want {
				t.Errorf("got %+v", got)
			}
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("no notification")
		}
	}
	stop()
	<-ended
}
