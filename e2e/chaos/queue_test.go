package chaos

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// queueLimits are the limits of the test: turns per node and per user.
const (
	queuePerNode = 2
	queuePerUser = 1
)

// queued is a sleeping turn in a thread of its own.
type queued struct {
	p            *person
	thread, turn string
}

// queueTurn sends a message to a new thread without waiting for the reply.
func (s *stage) queueTurn(d dice, p *person, name string) queued {
	s.t.Helper()
	var made struct{ Thread struct{ ID string } }
	var turn struct{ TurnID string }
	created := s.repeat(d, p, http.MethodPost, "/threads", `{}`, "Idempotency-Key", name)
	if err := json.Unmarshal(created.body, &made); err != nil {
		s.t.Fatal(err)
	}
	r := s.ask(d, p, http.MethodPost, "/threads/"+made.Thread.ID+"/messages", `{"text":"sleep `+name+`"}`,
		"Prefer", "respond-async")
	if err := json.Unmarshal(r.body, &turn); err != nil || r.status != http.StatusAccepted {
		s.t.Fatalf("a turn: %v (%v)", r, err)
	}
	return queued{p, made.Thread.ID, turn.TurnID}
}

// position returns the place of a turn in the queue as the list of messages shows it, or -1 if it does not wait.
func (s *stage) position(d dice, q queued) int {
	s.t.Helper()
	var list struct{ Turn struct{ QueuePosition *int } }
	r := s.repeat(d, q.p, http.MethodGet, "/threads/"+q.thread+"/messages", "")
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
		s.t.Fatalf("messages: %v (%v)", r, err)
	}
	if list.Turn.QueuePosition == nil {
		return -1
	}
	return *list.Turn.QueuePosition
}

// awaitPositions waits until the turns have these places in the queue.
func (s *stage) awaitPositions(d dice, turns []queued, want ...int) {
	s.t.Helper()
	var got []int
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the positions are %v, want %v", got, want)
		}
	}()
	await(s.t, fmt.Sprintf("the positions %v", want), testkit.Patience, func() bool {
		got = nil
		for _, q := range turns {
			got = append(got, s.position(d, q))
		}
		return fmt.Sprint(got) == fmt.Sprint(want)
	})
}

// positions streams the queued events of a turn from a node to a channel.
func (s *stage) positions(node *testkit.Server, q queued) <-chan string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		node.URL+"/api/agents/"+q.p.agent+"/threads/"+q.thread+"/events?until=done", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+q.p.key)
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer func() { _ = resp.Body.Close() }()
		kind := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				kind = value
			case name == "data" && kind == "queued":
				out <- value
			}
		}
	}()
	return out
}

// load is the number of running turns by user and by node.
type load struct {
	users, nodes map[string]int
	total        int
}

// running reads the load from the database and fails if it exceeds a limit.
func (s *stage) running(db *sql.DB) load {
	s.t.Helper()
	l := load{users: map[string]int{}, nodes: map[string]int{}}
	each(s.t, db, `SELECT user_id, owner FROM task WHERE kind = 'turn' AND state = 'running'`,
		func(scan func(...any)) {
			var user, node string
			scan(&user, &node)
			l.users[user]++
			l.nodes[node]++
			l.total++
		})
	for user, n := range l.users {
		if n > queuePerUser {
			s.t.Errorf("%d turns of %s are running", n, user)
		}
	}
	for node, n := range l.nodes {
		if n > queuePerNode {
			s.t.Errorf("%d turns are running on %s", n, node)
		}
	}
	return l
}

func TestTurnsAboveTheLimitsWaitInAFairQueue(t *testing.T) {
	t.Parallel()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{Durable: true})
	s := newStage(t, 2, 5, pg.URL("postgres"),
		fmt.Sprintf("CARREL_TURNS_PER_NODE=%d", queuePerNode), fmt.Sprintf("CARREL_TURNS_PER_USER=%d", queuePerUser))
	db, err := sql.Open("pgx", pg.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := s.seed("queue")
	awaitLoad := func(what string, total, nodes int) {
		t.Helper()
		await(t, what, testkit.Patience, func() bool {
			l := s.running(db)
			return l.total == total && len(l.nodes) == nodes
		})
	}

	// One user sends many messages. Only one turn runs, although both nodes have places.
	var greedy []queued
	for i := range 5 {
		greedy = append(greedy, s.queueTurn(d, s.people[0], fmt.Sprintf("greedy %d", i)))
	}
	s.awaitPositions(d, greedy, -1, 0, 1, 2, 3)
	awaitLoad("one turn runs", 1, 1)
	// The other users take the other places. The last one finds none, and is ahead of the first user.
	all := greedy
	for i := 1; i <= 3; i++ {
		all = append(all, s.queueTurn(d, s.people[i], fmt.Sprintf("modest %d", i)))
	}
	awaitLoad("all places are taken", 2*queuePerNode, 2)
	last := s.queueTurn(d, s.people[4], "last")
	all = append(all, last)
	s.awaitPositions(d, append([]queued{last}, greedy...), 0, -1, 1, 2, 3, 4)

	// The stream shows the position when it is opened and when it changes.
	events := s.positions(s.nodes[1], greedy[4])
	if got := <-events; got != `{"position":4}` {
		t.Errorf("the first event is %s", got)
	}
	r := s.repeat(d, s.people[0], http.MethodPost, "/threads/"+greedy[2].thread+"/cancel", "")
	if r.status != http.StatusOK || !strings.Contains(string(r.body), "true") {
		t.Fatalf("cancel: %v", r)
	}
	if got := <-events; got != `{"position":3}` {
		t.Errorf("the event after a turn was cancelled is %s", got)
	}

	// The turns of a killed node queue for the places of the other one, ahead of those that have not started.
	s.nodes[0].Kill()
	awaitLoad("the turns of the killed node wait", queuePerNode, 1)
	s.awaitPositions(d, append([]queued{last}, greedy[3:]...), 2, 4, 5)
	s.nodes[0].Start()
	awaitLoad("the turns go on", 2*queuePerNode, 2)
	s.awaitPositions(d, append([]queued{last}, greedy[3:]...), 0, 2, 3)

	s.model.mu.Lock()
	s.model.wake = true
	s.model.mu.Unlock()
	await(t, "all turns end", testkit.Patience, func() bool { return s.running(db).total == 0 && s.nothingWorks() })
	for range events { // the stream ends with the turn
	}
	record := read(t, "pgx", pg.URL("postgres"))
	for _, q := range all {
		want := "complete"
		if q == greedy[2] {
			want = "cancelled"
		}
		if got := record.turns[q.turn]; got == nil || got.state != want || len(record.messages[q.thread]) != 2 {
			t.Errorf("%s is %+v with the messages %+v, want %s", q.turn, got, record.messages[q.thread], want)
		}
	}
	s.model.checkViolations(t)
}
