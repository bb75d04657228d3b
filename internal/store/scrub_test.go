package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// wordsIn counts a word in the files of a folder, by file name.
func wordsIn(t *testing.T, dir, word string) map[string]int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte(word)); n > 0 {
			out[e.Name()] = n
		}
	}
	return out
}

// TestScrubRemovesDeletedAccountsFromTheFiles writes enough, in such an order, that pages are split and merged. Their
// unused parts contain moved cells, which secure_delete does not clear.
func TestScrubRemovesDeletedAccountsFromTheFiles(t *testing.T) {
	t.Parallel()
	b := backend{"sqlite", Options{Path: filepath.Join(t.TempDir(), "carrel.db")}, sqliteDialect}
	l := newDeletionFixture(t, b)
	dir := filepath.Dir(b.options.Path)
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		if err := l.db.inBulkTx(t.Context(), func(ctx context.Context, tx querier) error {
			for range 50 {
				who := []string{"leaves", "stays"}[random.IntN(2)]
				text := strings.Repeat(fmt.Sprintf("%s-%x ", who, random.Uint64()), 1+random.IntN(1+random.IntN(300)))
				if _, err := tx.exec(ctx, `
					INSERT INTO memory (user_id, agent_id, id, text, folded_hash, origin, created_at, updated_at)
					VALUES ($1, $2, $3, $4, $5, 'user', 1, 1)`,
					"usr_"+who, "agt_"+who, fmt.Sprintf("mem_%x", random.Uint64()), text,
					[]byte(strconv.FormatUint(random.Uint64(), 10))); err != nil {
					return err
				}
			}
			_, err := tx.exec(ctx,
				`UPDATE memory SET text = text || substr(text, 1, 500) WHERE id IN (SELECT id FROM memory ORDER BY id LIMIT 10)`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	copied := b.options.Path + ".before-v7"
	if err := os.WriteFile(copied, []byte("leaves"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.db.Scrub(t.Context()); err != nil { // not due
		t.Fatal(err)
	}
	if _, err := os.Stat(copied); err != nil {
		t.Errorf("a copy is gone though no account was deleted: %v", err)
	}
	l.delete(t, "usr_leaves")
	if due, err := l.db.ScrubDue(t.Context()); err != nil || !due {
		t.Errorf("after a deletion: %v, %v", due, err)
	}
	if err := l.db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if due, err := l.db.ScrubDue(t.Context()); err != nil || due {
		t.Errorf("after it was done: %v, %v", due, err)
	}
	// The change log keeps the ids of deleted documents and sources for indexes that have not applied the deletion yet.
	for name, n := range wordsIn(t, dir, "leaves-") {
		t.Errorf("%s holds the word %d times while the database is open", name, n)
	}
	if n := wordsIn(t, dir, "stays-"); n["carrel.db"] == 0 {
		t.Errorf("the other account is not found: %v", n)
	}
	if _, err := os.Stat(copied); err == nil {
		t.Error("a copy from before a migration still holds the account")
	}
	if _, err := l.db.exec(t.Context(), `UPDATE memory SET text = 'x' WHERE user_id = 'usr_stays'`); err != nil {
		t.Errorf("a write after it: %v", err)
	}
}

// TestClosedDatabaseHasNoWAL checks that a clean stop leaves no write-ahead log.
func TestClosedDatabaseHasNoWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "carrel.db")
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, db, "stays")
	if _, err := db.exec(t.Context(), `DELETE FROM app_user`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("there is a log")
	}
}
