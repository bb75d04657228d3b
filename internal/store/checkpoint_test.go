package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"carrel/internal/store/sqlite"
)

// TestCheckpointsRunBesideWrites writes while another connection copies the log. Nothing may be lost, and the log must
// begin anew.
func TestCheckpointsRunBesideWrites(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	copies := n.holdCopies()
	n.must(n.put("CREATE TABLE big (id INTEGER PRIMARY KEY, b BLOB) STRICT"))
	written := 0
	write := func() error {
		written++
		return n.put("INSERT INTO big VALUES ($1, zeroblob(400000))", strconv.Itoa(written))
	}
	for round := range 3 {
		for n.wal.frames() < checkpointAfter {
			n.must(write())
		}
		<-copies.started // by the last write
		longest := n.wal.frames()
		beside := make(chan error, 1)
		go func() {
			var errs []error
			for range 5 {
				errs = append(errs, write())
			}
			beside <- errors.Join(errs...)
		}()
		select {
		case err := <-beside:
			n.must(err)
		case <-time.After(time.Minute):
			t.Fatal("writes wait for the copy")
		}
		if now := n.wal.frames(); now <= longest {
			t.Fatalf("round %d: the log has %d pages during the copy and %d at its start", round, now, longest)
		}
		copies.release <- true
		n.w.log.wait()
		n.must(write()) // the writer copies the rest
		n.must(write()) // the log begins anew
		if now := n.wal.frames(); now >= checkpointAfter {
			t.Errorf("round %d: the log has %d pages after the copy", round, now)
		}
	}
	n.must(n.Close())
	db, err := sql.Open("sqlite", sqliteDSN(n.path))
	n.must(err)
	defer db.Close()
	var count, sum int
	if err := db.QueryRow("SELECT count(*), sum(length(b)) FROM big").Scan(&count, &sum); err != nil ||
		count != written || sum != written*400_000 {
		t.Errorf("%d rows of %d, %d bytes, %v", count, written, sum, err)
	}
}

// heldCopies are copies of the log that wait. Each sends to started, and ends after it has received from release or
// after releaseAll.
type heldCopies struct {
	started, release chan bool
	releaseAll       func()
}

// holdCopies holds the copies of the notebook. The test is skipped where SQLite makes the checkpoints.
func (n *notebook) holdCopies() heldCopies {
	n.t.Helper()
	if n.wal.frames() < 0 {
		n.t.Skip("this platform does not know the length of the log, so SQLite makes the checkpoints")
	}
	c := heldCopies{started: make(chan bool, 10), release: make(chan bool)}
	c.releaseAll = sync.OnceFunc(func() { close(c.release) })
	n.t.Cleanup(c.releaseAll)
	open := n.w.log.open
	n.w.log.open = func() (*sqlite.Conn, error) {
		c.started <- true
		<-c.release
		return open()
	}
	return c
}

// TestSlowCopiesAreAwaited checks what must not happen beside a copy: the log growing beyond its limit, and a statement
// that needs the whole database for itself.
func TestSlowCopiesAreAwaited(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*notebook) error{
		"at the limit": func(n *notebook) error { return n.grow(checkpointLimit) },
		"by a VACUUM":  func(n *notebook) error { return n.w.execOutsideTx(n.t.Context(), "VACUUM") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotebook(t)
			copies := n.holdCopies()
			n.must(n.put("CREATE TABLE big (b BLOB) STRICT"))
			n.must(n.grow(checkpointAfter))
			<-copies.started
			done := make(chan error, 1)
			go func() { done <- write(n) }()
			select {
			case err := <-done:
				t.Errorf("the copy was not awaited: %v", err)
			case <-time.After(time.Second):
				copies.releaseAll()
				n.must(<-done)
			}
		})
	}
}

// grow writes a number of pages.
func (n *notebook) grow(pages int) error {
	const size = 1_000_000
	for written := 0; written < pages; written += size / 4096 {
		if err := n.put("INSERT INTO big VALUES (zeroblob($1))", size); err != nil {
			return err
		}
	}
	return nil
}

// TestTheLogStaysBounded writes as fast as possible, with copies that work and with copies that fail.
func TestTheLogStaysBounded(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"working": nil, "failing": errors.New("too many open files")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotebook(t)
			open := n.w.log.open
			n.w.log.open = func() (*sqlite.Conn, error) {
				if failure != nil {
					return nil, failure
				}
				return open()
			}
			n.must(n.put("CREATE TABLE big (b BLOB) STRICT"))
			for range 60 {
				n.must(n.inBulkTx(t.Context(), func(ctx context.Context, tx querier) error {
					_, err := tx.exec(ctx, "INSERT INTO big VALUES (zeroblob(1000000))")
					return err
				}))
				log, err := os.Stat(n.path + "-wal")
				n.must(err)
				if log.Size() > 20<<20 {
					t.Fatalf("the log has %d bytes", log.Size())
				}
			}
		})
	}
}
