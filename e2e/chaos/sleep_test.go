package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// perGigabyte is the required number of sleeping turns in a gigabyte.
const perGigabyte = 30_000

func TestSleepingTurnsFitInMemoryAndResumeAfterARestart(t *testing.T) {
	t.Parallel()
	turns := pick(1_000, 10_000)
	s := newStage(t, 1, 1, "", "CARREL_TURNS_PER_USER=0", "CARREL_TURNS_PER_NODE=0")
	// The first turn makes the server report its memory; that cost is not part of a turn.
	s.sleep("first", 1)
	s.awaitAsleep(1)
	before := s.memory()
	s.sleep("turn", turns-1)
	s.awaitAsleep(turns)
	each := (s.memory() - before) / uint64(turns-1)
	fit := (1 << 30) / each
	t.Logf("%d sleeping turns: %d bytes each, %d in a gigabyte", turns, each, fit)
	if fit < perGigabyte {
		t.Errorf("%d turns fit in a gigabyte, want %d", fit, perGigabyte)
	}

	s.nodes[0].Kill()
	s.model.mu.Lock()
	s.model.asleep = 0
	s.model.mu.Unlock()
	started := time.Now()
	s.nodes[0].Start()
	s.awaitAsleep(1)
	first := time.Since(started)
	s.awaitAsleep(turns)
	t.Logf("after a kill the first turn went on in %v, and all %d in %v, from the start of the process",
		first.Round(time.Millisecond), turns, time.Since(started).Round(time.Millisecond))

	s.model.mu.Lock()
	s.model.wake = true
	s.model.mu.Unlock()
	s.awaitAsleep(0)
	var r *record
	await(t, "all turns end", testkit.Patience, func() bool { return s.nothingWorks() })
	r = readSQLite(t, s)
	s.model.checkViolations(t)
	for _, turn := range r.turns {
		if turn.state != "complete" || len(r.messages[turn.thread]) != 2 || r.messages[turn.thread][1].text != "awake" {
			t.Errorf("%+v has the messages %+v", turn, r.messages[turn.thread])
		}
	}
	if len(r.turns) != turns {
		t.Errorf("%d turns are there, want %d", len(r.turns), turns)
	}
}

// sleep starts waiting turns, each in its own thread.
func (s *stage) sleep(name string, n int) {
	s.t.Helper()
	var wg sync.WaitGroup
	numbers := make(chan int, n)
	for i := range n {
		numbers <- i
	}
	close(numbers)
	for worker := range 8 {
		d := s.seed(fmt.Sprintf("%s %d", name, worker))
		wg.Go(func() {
			for i := range numbers {
				c := &talk{s: s, p: s.people[0], name: fmt.Sprintf("%s %d", name, i), dice: d}
				if c.open(); c.thread == "" {
					return
				}
				body, _ := json.Marshal(map[string]string{"text": "sleep " + c.name}) // strings always marshal
				r := s.ask(d, c.p, http.MethodPost, c.path("/messages"), string(body), "Prefer", "respond-async")
				if r.status != http.StatusAccepted {
					s.t.Errorf("a turn: %v", r)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (s *stage) awaitAsleep(n int) {
	s.t.Helper()
	await(s.t, fmt.Sprintf("%d turns sleep", n), testkit.Patience, func() bool {
		s.model.mu.Lock()
		defer s.model.mu.Unlock()
		return s.model.asleep == int64(n) || n == 1 && s.model.asleep > 0
	})
}

// memory returns the server's memory use after a garbage collection.
func (s *stage) memory() (bytes uint64) {
	s.t.Helper()
	s.model.mu.Lock()
	s.model.memory, s.model.measure = 0, true
	s.model.mu.Unlock()
	await(s.t, "the server measures its memory", testkit.Patience, func() bool {
		s.model.mu.Lock()
		defer s.model.mu.Unlock()
		bytes = s.model.memory
		return bytes > 0
	})
	return bytes
}

// nothingWorks fails if a task has not ended.
func (s *stage) nothingWorks() bool {
	s.t.Helper()
	var list struct{ Tasks []json.RawMessage }
	s.admin(&list, "tasks", "list", "--json")
	return len(list.Tasks) == 0
}
