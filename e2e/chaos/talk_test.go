package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"carrel/internal/testkit"
)

// talk is a conversation: a user who sends messages to a thread, one after the other.
type talk struct {
	s      *stage
	p      *person
	name   string
	dice   dice
	thread string
	sent   []*message
	reader *reader
}

// message is a message as its sender knows it.
type message struct {
	text  string
	steps int
	key   string // the Idempotency-Key, or empty
	// acknowledged is set after a 200 or 202, with the turn in that reply.
	acknowledged bool
	turn         string
	// reply is the text that the sender received.
	reply string
	// failed is set when the sender received an error.
	failed bool
	// cancelAsked is set when the sender requested the cancellation of the turn, cancelled when it was confirmed.
	cancelAsked, cancelled bool
}

// begin opens the conversations of all users, each with a reader, and runs them until the load ends. The returned
// function ends the load and waits for all of them.
func (s *stage) begin(talksEach int) (end func()) {
	s.t.Helper()
	var talking, reading sync.WaitGroup
	for i, p := range s.people {
		for j := range talksEach {
			c := &talk{s: s, p: p, name: fmt.Sprintf("p%dt%d", i, j)}
			c.dice = s.seed(c.name)
			c.open()
			c.reader = &reader{s: s, p: p, thread: c.thread, dice: s.seed("reader " + c.name), done: make(chan struct{})}
			s.talks = append(s.talks, c)
			talking.Go(c.run)
			reading.Go(c.reader.run)
		}
		talking.Go(func() { s.remember(p, s.seed(fmt.Sprintf("notes %d", i)), i) })
	}
	var once sync.Once
	end = func() {
		once.Do(func() {
			s.over.Store(true)
			talking.Wait()
			for _, c := range s.talks {
				c.settle()
			}
			reading.Wait()
		})
	}
	// Also ends the goroutines when a test fails halfway.
	s.t.Cleanup(func() {
		s.over.Store(true)
		for _, c := range s.talks {
			c.reader.stop()
		}
		talking.Wait()
		reading.Wait()
	})
	return end
}

// open creates the thread, exactly once.
func (c *talk) open() {
	c.s.t.Helper()
	r := c.s.repeat(c.dice, c.p, http.MethodPost, "/threads", `{}`, "Idempotency-Key", "thread-"+c.name)
	var made struct{ Thread struct{ ID string } }
	if err := json.Unmarshal(r.body, &made); err != nil || r.status != http.StatusOK {
		c.s.t.Errorf("a thread: %v", r)
		return
	}
	c.thread = made.Thread.ID
}

func (c *talk) path(of string) string { return "/threads/" + c.thread + of }

// run sends messages until the load ends. The last message is acknowledged, or its outcome is unknown.
func (c *talk) run() {
	for i := 1; !c.s.over.Load() && c.s.t.Context().Err() == nil; i++ {
		m := &message{steps: 1 + c.dice.IntN(c.s.longest)}
		m.text = fmt.Sprintf("model %d %s message %d", m.steps, c.name, i)
		if c.dice.chance(70) || c.s.keyed {
			m.key = fmt.Sprintf("%s-%d", c.name, i)
		}
		c.sent = append(c.sent, m)
		if c.send(m) && m.turn != "" && m.reply == "" {
			c.after(m)
		}
	}
}

// send sends a message until its outcome is known, and reports whether it was acknowledged. Without a key, a request
// without a reply must not be repeated: it would be another message.
func (c *talk) send(m *message) bool {
	var headers []string
	if m.key != "" {
		headers = append(headers, "Idempotency-Key", m.key)
	}
	switch c.dice.IntN(4) {
	case 0:
		headers = append(headers, "Prefer", "wait=1")
	case 1, 2:
		headers = append(headers, "Prefer", "respond-async")
	}
	body, _ := json.Marshal(map[string]string{"text": m.text}) // strings always marshal
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		r := c.s.ask(c.dice, c.p, http.MethodPost, c.path("/messages"), string(body), headers...)
		var told struct{ Status, Text, TurnID string }
		switch {
		case r.unknown() && m.key == "":
			return false
		case r.unknown(), r.status == http.StatusConflict && r.code() == "turn_working":
			pause(c.s.t, c.dice.between(5*time.Millisecond, 60*time.Millisecond))
		case r.status == http.StatusOK, r.status == http.StatusAccepted:
			if err := json.Unmarshal(r.body, &told); err != nil {
				c.s.t.Errorf("%q: %v in %v", m.text, err, r)
			}
			m.acknowledged, m.turn, m.reply = true, told.TurnID, told.Text
			c.s.acks.addMessage(ackedMessage{m.text, m.turn, m.reply})
			return true
		case r.status == http.StatusInternalServerError:
			// A turn may have been interrupted too often; verify checks whether it was.
			m.failed = true
			return false
		default:
			c.s.t.Errorf("%q was answered with %v", m.text, r)
			return false
		}
		if c.s.t.Context().Err() != nil {
			return false
		}
	}
	c.s.t.Errorf("%q got no answer", m.text)
	return false
}

// after acts like users while a turn runs: it waits for the reply, cancels the turn, or does neither.
func (c *talk) after(m *message) {
	switch n := c.dice.IntN(100); {
	case n < 10:
		pause(c.s.t, c.dice.between(0, 60*time.Millisecond))
		m.cancelAsked = true
		r := c.s.ask(c.dice, c.p, http.MethodPost, c.path("/cancel"), "")
		var told struct{ Cancelled bool }
		_ = json.Unmarshal(r.body, &told) // a missing reply confirms nothing
		m.cancelled = r.status == http.StatusOK && told.Cancelled
	case n < 55:
		c.poll(m, false)
	case n < 80:
		c.poll(m, true)
	}
}

// messageList is the list of a thread's messages.
type messageList struct {
	Status     string
	Messages   []struct{ ID, Role, Text, Status, TurnID string }
	NextCursor string
}

// poll reads the thread until the turn has a reply, by repeated requests or by long polls.
func (c *talk) poll(m *message, long bool) {
	var headers []string
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline) && c.s.t.Context().Err() == nil; {
		r := c.s.ask(c.dice, c.p, http.MethodGet, c.path("/messages"), "", headers...)
		var list messageList
		if r.status == http.StatusOK {
			if err := json.Unmarshal(r.body, &list); err != nil {
				c.s.t.Errorf("%v in %v", err, r)
				return
			}
			for _, got := range list.Messages {
				if got.TurnID == m.turn && got.Role == "assistant" {
					m.reply = got.Text
					return
				}
			}
			if list.Status != "working" {
				c.s.t.Errorf("%s: the thread is %s, and the reply of %s is not there", c.name, list.Status, m.turn)
				return
			}
		}
		if long && r.status == http.StatusOK {
			headers = []string{"If-None-Match", r.etag, "Prefer", "wait=2"}
			continue
		}
		pause(c.s.t, c.dice.between(5*time.Millisecond, 40*time.Millisecond))
	}
	c.s.t.Errorf("%s: no reply of %s", c.name, m.turn)
}

// settle waits until no turn of the thread runs, and sets the number of turns that the reader has to see.
func (c *talk) settle() {
	if c.s.t.Failed() {
		c.reader.stop()
		return
	}
	await(c.s.t, "no turn of "+c.name+" works any more", testkit.Patience, func() bool {
		r := c.s.ask(c.dice, c.p, http.MethodGet, c.path("/messages"), "")
		var list messageList
		return r.status == http.StatusOK && json.Unmarshal(r.body, &list) == nil && list.Status == "complete"
	})
	c.reader.finish(c.turns())
}

// turns counts the replies of the thread, page by page.
func (c *talk) turns() (n int) {
	for cursor := ""; ; {
		query := "?limit=200"
		if cursor != "" {
			query += "&cursor=" + cursor
		}
		r := c.s.repeat(c.dice, c.p, http.MethodGet, c.path("/messages")+query, "")
		var list messageList
		if err := json.Unmarshal(r.body, &list); err != nil || r.status != http.StatusOK {
			c.s.t.Fatalf("messages of %s: %v", c.name, r)
		}
		for _, m := range list.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		if cursor = list.NextCursor; cursor == "" {
			return n
		}
	}
}

// remember adds memories until the load ends.
func (s *stage) remember(p *person, d dice, who int) {
	for i := 1; !s.over.Load() && s.t.Context().Err() == nil; i++ {
		text := fmt.Sprintf("note %d of %d", i, who)
		r := s.ask(d, p, http.MethodPost, "/memories", fmt.Sprintf(`{"text": %q}`, text))
		switch {
		case r.status == http.StatusOK:
			p.noted = append(p.noted, text)
			s.acks.addNote(text)
		case !r.unknown():
			s.t.Errorf("a memory was answered with %v", r)
		}
		pause(s.t, d.between(5*time.Millisecond, 50*time.Millisecond))
	}
}
