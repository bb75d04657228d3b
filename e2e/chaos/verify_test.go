package chaos

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// record is the content of the database at the end.
type record struct {
	// turns are by id; messages and events are by thread, in order.
	turns    map[string]*storedTurn
	messages map[string][]storedMessage
	events   map[string][]event
	// notes are the memories.
	notes map[string]bool
	// documents are the external ids of the documents.
	documents map[string]bool
	// threads are the states of the threads.
	threads map[string]string
}

type storedTurn struct {
	id, thread, state, code string
	number                  int64
	attempt, crashes        int
	steps                   []storedStep
	// attempts are the attempts of the events, in order.
	attempts []int
}

type storedStep struct {
	n             int
	state, output string
}

type storedMessage struct {
	seq                            int
	role, text, status, turn, code string
}

// read reads the database directly, without the program.
func read(t *testing.T, driver, source string) *record {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	r := &record{
		turns: map[string]*storedTurn{}, messages: map[string][]storedMessage{}, events: map[string][]event{},
		notes: map[string]bool{}, documents: map[string]bool{}, threads: map[string]string{},
	}
	each(t, db, `SELECT id, key, number, state, attempt, crashes, error_code FROM task WHERE kind = 'turn'`,
		func(scan func(...any)) {
			var s storedTurn
			scan(&s.id, &s.thread, &s.number, &s.state, &s.attempt, &s.crashes, &s.code)
			r.turns[s.id] = &s
		})
	each(t, db, `SELECT task_id, n, s.state, output FROM task_step s JOIN task ON id = task_id AND task.kind = 'turn'
		ORDER BY task_id, n`, func(scan func(...any)) {
		var id string
		var s storedStep
		var output []byte
		scan(&id, &s.n, &s.state, &output)
		s.output = string(output)
		r.turns[id].steps = append(r.turns[id].steps, s)
	})
	each(t, db,
		`SELECT task_id, number, seq, e.attempt, e.kind, payload FROM task_event e
		JOIN task ON id = task_id AND task.kind = 'turn' ORDER BY key, number, seq`,
		func(scan func(...any)) {
			var id string
			var e event
			var attempt int
			var payload []byte
			scan(&id, &e.number, &e.seq, &attempt, &e.kind, &payload)
			e.data = string(payload)
			turn := r.turns[id]
			turn.attempts = append(turn.attempts, attempt)
			r.events[turn.thread] = append(r.events[turn.thread], e)
		})
	each(t, db, `SELECT thread_id, seq, role, text, status, turn_id, error_code FROM message ORDER BY thread_id, seq`,
		func(scan func(...any)) {
			var thread string
			var m storedMessage
			scan(&thread, &m.seq, &m.role, &m.text, &m.status, &m.turn, &m.code)
			r.messages[thread] = append(r.messages[thread], m)
		})
	each(t, db, `SELECT text FROM memory`, func(scan func(...any)) {
		var text string
		scan(&text)
		r.notes[text] = true
	})
	each(t, db, `SELECT external_id FROM document`, func(scan func(...any)) {
		var id string
		scan(&id)
		r.documents[id] = true
	})
	each(t, db, `SELECT id, status FROM thread`, func(scan func(...any)) {
		var id, status string
		scan(&id, &status)
		r.threads[id] = status
	})
	return r
}

// each runs a query and calls fn for every row.
func each(t *testing.T, db *sql.DB, query string, fn func(scan func(...any))) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		fn(func(dest ...any) {
			if err := rows.Scan(dest...); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// readSQLite reads the database of a stopped node.
func readSQLite(t *testing.T, s *stage) *record {
	t.Helper()
	s.nodes[0].Stop()
	return read(t, "sqlite", filepath.Join(s.nodes[0].Data, "carrel.db"))
}

// verify compares the database with the replies that clients received and with the calls of the model.
func (s *stage) verify(r *record) {
	s.t.Helper()
	s.model.checkViolations(s.t)
	ends := map[string]int{}
	for _, turn := range r.turns {
		ends[strings.TrimSpace(turn.state+" "+turn.code)]++
		s.verifyTurn(turn)
	}
	acknowledged, connections := 0, 0
	for _, c := range s.talks {
		connections += c.reader.connections
		acknowledged += s.verifyTalk(r, c)
		s.verifyReader(r, c)
	}
	for _, p := range s.people {
		for _, text := range p.noted {
			if !r.notes[text] {
				s.t.Errorf("the memory %q was acknowledged and is missing", text)
			}
		}
	}
	s.t.Logf("%d messages acknowledged; turns ended %v; readers connected %d times", acknowledged, ends, connections)
	// A few turns may have been interrupted too often, but not most of them.
	if ends["complete"] <= len(r.turns)/4 {
		s.t.Errorf("only %d of %d turns completed: that is not what people come for", ends["complete"], len(r.turns))
	}
}

// verifyTurn checks one turn: it has ended, its journal is complete, and its reply is the model's.
func (s *stage) verifyTurn(turn *storedTurn) {
	var said string
	for i, step := range turn.steps {
		said += step.output
		if step.n != i+1 || turn.state == "complete" && step.state != "finished" {
			s.t.Errorf("%s (%s): step %d is the %d. and %s", turn.id, turn.state, step.n, i+1, step.state)
		}
	}
	if !slices.IsSorted(turn.attempts) {
		s.t.Errorf("%s: an outdated run wrote events: attempts %v", turn.id, turn.attempts)
	}
	switch {
	case turn.state == "complete":
		if want := strings.Join(s.model.said(turn.id), ""); said != want {
			s.t.Errorf("%s: the journal has\n%s\nand the model said\n%s", turn.id, said, want)
		}
	case turn.state == "cancelled":
	case turn.state == "failed" && turn.code == "crash_loop":
		if turn.crashes < 3 {
			s.t.Errorf("%s failed with crash_loop after %d crashes", turn.id, turn.crashes)
		}
	default:
		s.t.Errorf("%s is %s %s", turn.id, turn.state, turn.code)
	}
}

// verifyTalk checks one thread: it holds every acknowledged message once, in order, with one reply.
func (s *stage) verifyTalk(r *record, c *talk) (acknowledged int) {
	s.t.Helper()
	if got := r.threads[c.thread]; got != "idle" {
		s.t.Errorf("thread %s (%s) is %q", c.thread, c.name, got)
	}
	replies := c.pairs(r.messages[c.thread])
	position := -1
	for _, m := range c.sent {
		found := replies[m.text]
		switch {
		case len(found) > 1:
			s.t.Errorf("%q was sent once and is there %d times: %v", m.text, len(found), found)
		case len(found) == 0 && (m.acknowledged || m.failed):
			s.t.Errorf("%q was answered (turn %s) and is missing", m.text, m.turn)
		}
		if m.acknowledged {
			acknowledged++
		}
		if len(found) != 1 {
			continue
		}
		if found[0].seq < position {
			s.t.Errorf("%q stands before what was sent before it", m.text)
		}
		position = found[0].seq
		c.verifyReply(r, m, found[0])
		delete(replies, m.text)
	}
	for text := range replies {
		s.t.Errorf("%s: nobody sent %q", c.name, text)
	}
	return acknowledged
}

// pairs returns the replies of a thread by message. Messages are numbered without gaps, and each is followed by its
// reply.
func (c *talk) pairs(messages []storedMessage) map[string][]storedMessage {
	replies := map[string][]storedMessage{}
	for i, m := range messages {
		role := []string{"user", "assistant"}[i%2]
		if m.seq != i+1 || m.role != role || i%2 == 1 && m.turn != messages[i-1].turn {
			c.s.t.Errorf("%s: message %d is number %d, of the %s, in turn %s", c.name, i+1, m.seq, m.role, m.turn)
		}
		if i%2 == 1 {
			replies[messages[i-1].text] = append(replies[messages[i-1].text], m)
		}
	}
	if len(messages)%2 == 1 {
		c.s.t.Errorf("%s: the last message has no reply: %+v", c.name, messages[len(messages)-1])
	}
	return replies
}

// verifyReply compares a stored reply with the one that the sender received.
func (c *talk) verifyReply(r *record, m *message, reply storedMessage) {
	t := c.s.t
	turn := r.turns[reply.turn]
	if turn == nil || turn.state != reply.status || m.turn != "" && m.turn != reply.turn {
		t.Errorf("%q: acknowledged as %s, replied in %s, which is %+v", m.text, m.turn, reply.turn, turn)
		return
	}
	if m.reply != "" && m.reply != reply.text {
		t.Errorf("%q: the sender was told %q, stored is %q", m.text, m.reply, reply.text)
	}
	switch reply.status {
	case "complete":
		said := c.s.model.said(reply.turn)
		if len(said) != m.steps || strings.Join(said, "") != reply.text {
			t.Errorf("%q: the reply is\n%q, and in %d steps the model said\n%q", m.text, reply.text, len(said), said)
		}
		if m.cancelled || m.failed {
			t.Errorf("%q completed although its sender was told otherwise (cancelled %v, failed %v)", m.text, m.cancelled,
				m.failed)
		}
	case "cancelled":
		if !m.cancelAsked {
			t.Errorf("%q was cancelled, and nobody asked for it", m.text)
		}
	}
}

// verifyReader compares the events that a reader received over all its connections with the stored ones.
func (s *stage) verifyReader(r *record, c *talk) {
	s.t.Helper()
	stored := r.events[c.thread]
	if !slices.Equal(c.reader.seen, stored) {
		i := 0
		for i < min(len(stored), len(c.reader.seen)) && stored[i] == c.reader.seen[i] {
			i++
		}
		s.t.Errorf("%s: the reader saw %d events and %d are stored; they differ from number %d on: %v and %v",
			c.name, len(c.reader.seen), len(stored), i, first(c.reader.seen[i:]), first(stored[i:]))
	}
	told := texts(c.reader.seen)
	for _, m := range r.messages[c.thread] {
		turn := r.turns[m.turn]
		if m.role == "assistant" && m.status == "complete" && turn != nil && told[turn.number] != m.text {
			s.t.Errorf("%s: the reader of %s put together\n%q\nand the reply is\n%q", c.name, m.turn, told[turn.number], m.text)
		}
	}
}

func first(events []event) string {
	if len(events) == 0 {
		return "nothing"
	}
	return fmt.Sprint(events[0])
}
