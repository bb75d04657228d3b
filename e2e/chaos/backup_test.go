package chaos

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// acks are the writes that were acknowledged so far. A backup that begins later must contain them.
type acks struct {
	mu               sync.Mutex
	notes, documents []string
	messages         []ackedMessage
}

// ackedMessage is an acknowledged message with its turn, and with the reply if the acknowledgement had one.
type ackedMessage struct{ text, turn, reply string }

func (a *acks) addNote(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, text)
}

func (a *acks) addDocument(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.documents = append(a.documents, id)
}

func (a *acks) addMessage(m ackedMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages = append(a.messages, m)
}

// until returns a copy of the writes up to now.
func (a *acks) until() *acks {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &acks{
		notes: slices.Clone(a.notes), documents: slices.Clone(a.documents), messages: slices.Clone(a.messages),
	}
}

func (a *acks) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.notes) + len(a.documents) + len(a.messages)
}

// paidEmbeddings returns the settings of an embedding endpoint that costs money, so that documents and searches are in
// the ledger.
func paidEmbeddings(t *testing.T) []string {
	t.Helper()
	endpoint := testkit.NewEmbeddings(t)
	return []string{
		"CARREL_EMBEDDINGS_URL=" + endpoint.URL(), "CARREL_EMBEDDINGS_MODEL=" + endpoint.Model,
		"CARREL_EMBEDDINGS_API_KEY=" + endpoint.Key, "CARREL_EMBEDDINGS_PRICE=10",
	}
}

func TestBackupUnderLoadHasEveryAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, 2, "", paidEmbeddings(t)...)
	libraries := s.beginLibraries()
	testkit.Binary(t) // built before the times are taken
	end := s.begin(3)
	for range rounds(t, 1, 5) {
		goal := s.acks.count() + 150
		await(t, "writes are acknowledged", testkit.Patience, func() bool { return s.acks.count() >= goal })
		await(t, "vectors are paid for", testkit.Patience, func() bool { return s.isPaid() })
		data := t.TempDir()
		s.backUp(place{[]string{"--data", s.nodes[0].Data}, nil}, place{[]string{"--data", data}, nil}, "sqlite",
			filepath.Join(data, "carrel.db"))
	}
	end()
	s.verify(readSQLite(t, s))
	s.nodes[0].Start()
	libraries("sqlite", filepath.Join(s.nodes[0].Data, "carrel.db"))
}

// newDatabase creates an empty database on a server, and returns its URL.
func newDatabase(t *testing.T, pg *testkit.PostgresServer, number int) string {
	t.Helper()
	db, err := sql.Open("pgx", pg.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name := fmt.Sprintf("restored_%d", number)
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	return pg.URL(name)
}

// originalsBucket starts an S3 server and returns the settings with which nodes share the original files.
func originalsBucket(t *testing.T) []string {
	t.Helper()
	bucket := testkit.S3(t)
	return []string{
		"CARREL_ORIGINALS_BUCKET=" + bucket.Bucket, "CARREL_ORIGINALS_ENDPOINT=" + bucket.URL,
		"CARREL_ORIGINALS_REGION=" + bucket.Region, "CARREL_ORIGINALS_ACCESS_KEY_ID=" + bucket.KeyID,
		"CARREL_ORIGINALS_SECRET_ACCESS_KEY=" + bucket.Secret,
	}
}

// place selects an installation by flags and settings.
type place struct{ flags, settings []string }

// backUp makes a backup under load, verifies it, restores it, and checks the restored database, which the driver opens
// as source.
func (s *stage) backUp(from, to place, driver, source string) {
	s.t.Helper()
	folder := filepath.Join(s.t.TempDir(), "backups")
	carrel := func(at place, args ...string) time.Duration {
		s.t.Helper()
		started := time.Now()
		args = append(append([]string{"backup"}, at.flags...), args...)
		if r := testkit.CarrelWith(s.t, at.settings, args...); r.Code != 0 {
			s.t.Fatalf("carrel %q: %d\n%s%s", args, r.Code, r.Stdout, r.Stderr)
		}
		return time.Since(started).Round(10 * time.Millisecond)
	}
	before := s.acks.until()
	made := carrel(from, "create", "--to", folder)
	during := s.acks.count() - before.count()
	verified := carrel(from, "verify", "--from", folder, "--all")
	restored := carrel(to, "restore", "--from", folder)
	r := read(s.t, driver, source)
	s.checkCopy(r, before)
	rows, micros := s.checkSpend(driver, source)
	s.t.Logf("backup of %s: made in %v, verified in %v, restored in %v; %d messages, %d documents and %d memories "+
		"acknowledged before it and %d writes during it; the copy has %d turns, and %d ledger rows of %d micro-dollars",
		folderSize(s.t, folder), made, verified, restored, len(before.messages), len(before.documents), len(before.notes),
		during, len(r.turns), rows, micros)
}

// checkCopy compares a restored database with the writes that were acknowledged before the backup began, and checks
// that the turns, messages and events of the copy belong to one state of the database.
func (s *stage) checkCopy(r *record, before *acks) {
	s.t.Helper()
	questions := map[string]storedMessage{}
	replies := map[string]storedMessage{}
	for thread, messages := range r.messages {
		for i, m := range messages {
			if m.seq != i+1 {
				s.t.Errorf("backup: message %d of thread %s has the number %d", i+1, thread, m.seq)
			}
			if m.role == "user" {
				questions[m.text] = m
			} else {
				replies[m.turn] = m
			}
		}
	}
	for _, m := range before.messages {
		q, reply := questions[m.text], replies[m.turn]
		if q.text == "" || q.turn != m.turn || r.turns[m.turn] == nil {
			s.t.Errorf("backup: the message %q was acknowledged as %s and is missing (%+v)", m.text, m.turn, q)
		}
		if m.reply != "" && reply.text != m.reply {
			s.t.Errorf("backup: %q was answered with %q, and the copy has %q", m.text, m.reply, reply.text)
		}
	}
	for _, text := range before.notes {
		if !r.notes[text] {
			s.t.Errorf("backup: the memory %q was acknowledged and is missing", text)
		}
	}
	for _, id := range before.documents {
		if !r.documents[id] {
			s.t.Errorf("backup: the document %s was acknowledged and is missing", id)
		}
	}
	for _, turn := range r.turns {
		s.checkCopiedTurn(r, turn, replies[turn.id])
	}
}

// checkCopiedTurn checks that a turn has a reply if it has ended, and none before.
func (s *stage) checkCopiedTurn(r *record, turn *storedTurn, reply storedMessage) {
	s.t.Helper()
	ended := turn.state == "complete" || turn.state == "cancelled" || turn.state == "failed"
	switch {
	case ended && reply.status != turn.state:
		s.t.Errorf("backup: %s is %s, and its reply is %+v", turn.id, turn.state, reply)
	case !ended && reply.turn != "":
		s.t.Errorf("backup: %s is %s and has a reply", turn.id, turn.state)
	case !ended && r.threads[turn.thread] == "idle":
		s.t.Errorf("backup: %s is %s, and its thread is idle", turn.id, turn.state)
	case turn.state == "complete":
		var said strings.Builder
		for _, step := range turn.steps {
			said.WriteString(step.output)
		}
		if said.String() != reply.text {
			s.t.Errorf("backup: the steps of %s have\n%q\nand its reply is\n%q", turn.id, said.String(), reply.text)
		}
	}
}

// isPaid reports whether the ledger of a single node has a settled row.
func (s *stage) isPaid() bool {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.nodes[0].Data, "carrel.db")+"?mode=ro")
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }()
	var rows int
	err = db.QueryRowContext(s.t.Context(), `SELECT count(*) FROM spend_row WHERE micros > 0`).Scan(&rows)
	return err == nil && rows > 0
}

// checkSpend compares the monthly totals of a database with the rows of its ledger, of which it returns the number and
// the sum.
func (s *stage) checkSpend(driver, source string) (rows int, micros int64) {
	s.t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	sums := map[string]int64{}
	each(s.t, db, `SELECT user_id, substr(day, 1, 7), micros FROM spend_row`, func(scan func(...any)) {
		var user, month string
		var cost int64
		scan(&user, &month, &cost)
		sums[user+" "+month] += cost
		rows++
		micros += cost
	})
	each(s.t, db, `SELECT user_id, period, spent FROM budget`, func(scan func(...any)) {
		var user, month string
		var spent int64
		scan(&user, &month, &spent)
		if got := sums[user+" "+month]; got != spent {
			s.t.Errorf("backup: the ledger of %s in %s has %d micro-dollars, and the total is %d", user, month, got, spent)
		}
		delete(sums, user+" "+month)
	})
	for of, sum := range sums {
		if sum > 0 {
			s.t.Errorf("backup: there is no total of %s, whose rows have %d micro-dollars", of, sum)
		}
	}
	if rows == 0 {
		s.t.Error("backup: the ledger is empty, and documents were paid for")
	}
	return rows, micros
}

func folderSize(t *testing.T, dir string) string {
	t.Helper()
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%.1f MB", float64(total)/1e6)
}
