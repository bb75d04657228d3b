package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"testing"

	"carrel/internal/store/sqlite"
)

// TestCheckpointsRunBesideWrites writes while another connection copies the log. Nothing may be lost, and the log must
// begin anew.
func TestCheckpointsRunBesideWrites(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	if n.wal.frames() < 0 {
		t.Skip("this platform does not know the length of the log, so SQLite makes the checkpoints")
	}
	copies, proceed := make(chan bool), make(chan bool)
	open := n.w.log.open
	n.w.log.open = func() (*sqlite.Conn, error) {
		copies <- true
		<-proceed
		return open()
	}
	n.must(n.put("CREATE TABLE big (id INTEGER PRIMARY KEY, b BLOB) STRICT"))
	written := 0
	write := func() {
		written++
		n.must(n.put("INSERT INTO big VALUES ($1, zeroblob(400000))", strconv.Itoa(written)))
	}
	for round := range 3 {
		for n.wal.frames() < checkpointAfter {
			write()
		}
		<-copies // the last write has started the copy
		longest := n.wal.frames()
		for range 5 { // these do not wait for the copy
			write()
		}
		if now := n.wal.frames(); now <= longest {
			t.Fatalf("round %d: the log has %d pages during the copy and %d at its start", round, now, longest)
		}
		proceed <- true
		n.w.log.wait()
		write() // the writer copies the rest
		write() // the log begins anew
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
