package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/testkit"
)

// reader follows a thread's event stream from the beginning. Its connections are cut from time to time, by itself or by
// the servers; it reconnects to any node with the id of the last event.
type reader struct {
	s      *stage
	p      *person
	thread string
	dice   dice
	// last is the id of the last event, seen are all events.
	last string
	seen []event
	// connections counts the connects.
	connections int

	// want is the number of the last turn to follow; 0 means that it is not known yet.
	want    atomic.Int64
	done    chan struct{}
	stopped sync.Once
}

// event is an event as read from a stream or from the database.
type event struct {
	number, seq int64
	kind, data  string
}

func (e event) id() string { return fmt.Sprintf("%d.%d", e.number, e.seq) }

func (e event) String() string { return e.id() + " " + e.kind + " " + e.data }

// stop ends the reader immediately.
func (r *reader) stop() { r.stopped.Do(func() { close(r.done) }) }

// finish ends the reader when it has seen the end of this turn.
func (r *reader) finish(turns int) {
	if turns == 0 {
		r.stop()
		return
	}
	r.want.Store(int64(turns))
}

// atEnd reports whether the reader has seen the end of the last turn.
func (r *reader) atEnd() bool {
	n := len(r.seen)
	return n > 0 && r.seen[n-1].kind == "done" && r.seen[n-1].number == r.want.Load()
}

func (r *reader) run() {
	r.last = "0.0"
	var finishing time.Time
	for !r.atEnd() {
		select {
		case <-r.done:
			return
		case <-r.s.t.Context().Done():
			return
		default:
		}
		if r.want.Load() > 0 {
			if finishing.IsZero() {
				finishing = time.Now()
			}
			if time.Since(finishing) > testkit.Patience {
				r.s.t.Errorf("the reader of %s is at %s, and does not see the end of turn %d", r.thread, r.last, r.want.Load())
				return
			}
		}
		r.connect(r.dice.between(50*time.Millisecond, 1500*time.Millisecond), 1+r.dice.IntN(60))
		pause(r.s.t, r.dice.between(0, 20*time.Millisecond))
	}
}

// connect reads for a random time or a random number of events.
func (r *reader) connect(life time.Duration, most int) {
	ctx, cancel := context.WithTimeout(context.Background(), life)
	defer cancel()
	url := r.s.any(r.dice) + "/api/agents/" + r.p.agent + "/threads/" + r.thread + "/events"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		r.s.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+r.p.key)
	req.Header.Set("Last-Event-ID", r.last)
	resp, err := r.s.client.Do(req)
	if err != nil {
		return // the node is down
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		if !isAway(resp.StatusCode) {
			r.s.t.Errorf("events of %s after %s: status %d", r.thread, r.last, resp.StatusCode)
		}
		return
	}
	r.connections++
	lines := bufio.NewReader(resp.Body)
	var e event
	for most > 0 {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // an incomplete event is ignored
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n" && e.kind == "queued": // not stored
			e = event{}
		case line == "\n" && e.kind != "":
			r.take(e)
			e = event{}
			most--
			if r.atEnd() {
				return
			}
		case name == "id":
			if _, err := fmt.Sscanf(value, "%d.%d", &e.number, &e.seq); err != nil || e.id() != value {
				r.s.t.Errorf("the id %q is none", value)
			}
		case name == "event":
			e.kind = value
		case name == "data":
			e.data = value
		}
	}
}

// take records an event. Ids increase; within a turn by one, because no event may be missing.
func (r *reader) take(e event) {
	if n := len(r.seen); n > 0 {
		before := r.seen[n-1]
		next := e.number == before.number && e.seq == before.seq+1 && before.kind != "done" ||
			e.number == before.number+1 && e.seq == 1 && before.kind == "done"
		if !next {
			r.s.t.Errorf("%s: after %v came %v", r.thread, before, e)
		}
	}
	r.seen = append(r.seen, e)
	r.last = e.id()
}

// texts assembles the replies of a thread by turn, like a client: discarded deltas are dropped.
func texts(events []event) map[int64]string {
	type piece struct {
		seq  int64
		text string
	}
	pieces := map[int64][]piece{}
	for _, e := range events {
		var data struct{ Text, DiscardAfter string }
		_ = json.Unmarshal([]byte(e.data), &data) // other kinds have other members
		switch e.kind {
		case "delta":
			pieces[e.number] = append(pieces[e.number], piece{e.seq, data.Text})
		case "restarted":
			var number, seq int64
			_, _ = fmt.Sscanf(data.DiscardAfter, "%d.%d", &number, &seq) // without it nothing is kept, and the texts differ
			kept := pieces[e.number]
			for len(kept) > 0 && kept[len(kept)-1].seq > seq {
				kept = kept[:len(kept)-1]
			}
			pieces[e.number] = kept
		}
	}
	out := map[int64]string{}
	for number, all := range pieces {
		for _, p := range all {
			out[number] += p.text
		}
	}
	return out
}
