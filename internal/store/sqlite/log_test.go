package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// openGathering returns a connection that gathers its log, with a cache so small that transactions write pages before
// they end.
func openGathering(t *testing.T, path string) *Conn {
	t.Helper()
	return open(t, path+"?"+GatherLog, "journal_mode = WAL", "synchronous = FULL", "cache_size = 10",
		"wal_autocheckpoint = 200")
}

// TestGatheredCommitsAreInTheFiles makes random transactions and compares the database with a model: after each commit
// for another connection, and now and then in a copy of the files, as after a crash.
func TestGatheredCommitsAreInTheFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	c := openGathering(t, path)
	exec(t, c, "CREATE TABLE note (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, text BLOB NOT NULL)")
	reader := open(t, path)
	random := rand.New(rand.NewPCG(1, 2))
	committed := map[int]int{} // the size of each note
	for round := range 300 {
		changed := map[int]int{}
		exec(t, c, "BEGIN IMMEDIATE")
		changes, largest := 1+random.IntN(4), 3000
		if round%20 == 0 {
			changes, largest = 200, 20_000 // more than is gathered
		}
		for range changes {
			id, size := random.IntN(300), random.IntN(largest)
			exec(t, c, "INSERT INTO note VALUES ($1, $2, zeroblob($2)) "+
				"ON CONFLICT (id) DO UPDATE SET size = $2, text = zeroblob($2)", id, size)
			changed[id] = size
		}
		if random.IntN(4) == 0 {
			exec(t, c, "ROLLBACK")
			continue
		}
		exec(t, c, "COMMIT")
		for id, size := range changed {
			committed[id] = size
		}
		compareNotes(t, reader, committed)
		if round%50 == 49 {
			compareNotes(t, open(t, copyFiles(t, path)), committed)
		}
	}
}

// TestRolledBackPagesAreNotWritten checks that pages of a rolled back transaction do not replace those that another
// connection has written at their place.
func TestRolledBackPagesAreNotWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	c := openGathering(t, path)
	exec(t, c, "CREATE TABLE note (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, text BLOB NOT NULL)")
	other := open(t, path, "synchronous = FULL")
	for round := range 20 {
		// Without a log to read from, nothing makes the connection write what it has gathered.
		exec(t, c, "PRAGMA wal_checkpoint(FULL)")
		// Thirty pages do not fit into the cache, and are fewer than is gathered.
		exec(t, c, "BEGIN IMMEDIATE")
		for i := range 10 {
			exec(t, c, "INSERT INTO note VALUES ($1, 12000, zeroblob(12000))", 1000+i)
		}
		exec(t, c, "ROLLBACK")
		exec(t, other, "INSERT INTO note VALUES ($1, 9000, zeroblob(9000))", 2*round)
		exec(t, c, "INSERT INTO note VALUES ($1, 10, zeroblob(10))", 2*round+1)
	}
	want := map[int]int{}
	for i := range 40 {
		want[i] = 9000 - i%2*8990
	}
	compareNotes(t, open(t, copyFiles(t, path)), want)
}

// compareNotes compares all rows, and checks the structure of the database.
func compareNotes(t *testing.T, c *Conn, want map[int]int) {
	t.Helper()
	var id, size, length int
	n, err := c.Query("SELECT id, size, length(text) FROM note", nil, []any{&id, &size, &length}, func() error {
		if w, ok := want[id]; !ok || size != w || length != w {
			return fmt.Errorf("note %d has %d bytes and should have %d, which is %d (%t)", id, length, size, w, ok)
		}
		return nil
	})
	if err != nil || n != len(want) {
		t.Fatalf("%d of %d notes, %v", n, len(want), err)
	}
	var problems string
	one(t, c, "PRAGMA integrity_check", nil, &problems)
	if problems != "ok" {
		t.Fatal(problems)
	}
}

// copyFiles copies a database and its log, without what its connections have in memory, and returns the path of the
// copy.
func copyFiles(t *testing.T, path string) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(target+suffix, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return target
}
