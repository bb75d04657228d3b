package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// talk is one conversation: somebody who sends messages to a thread, one after the other.
type talk struct {
	s      *stage
	p      *person
	name   string
	dice   dice
	thread string
	sent   []*message
	reader *reader
}

// message is what its sender knows of a message.
type message struct {
	text  string
	steps int
	key   string // the Idempotency-Key, if it has one
	// acknowledged says that a node answered 200 or 202, and the turn which it named.
	acknowledged bool
	turn         string
	// reply is what the sender was told as the reply.
	reply string
	// failed says that the sender was told of a failure.
	failed bool
	// cancelAsked and cancelled say that the turn's end was asked for, and that it was promised.
	cancelAsked, cancelled bool
}

// begin opens conversations for everybody, with a reader beside each, and lets them go on until the load ends. The
// function that it returns ends the load and waits for all of it.
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
	// Nobody is left behind when a test fails halfway.
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

// open makes the thread, as a client that wants it once.
func (c *talk) open() {
	c.s.t.Helper()
	r := c.s.insist(c.dice, c.p, http.MethodPost, "/threads", `{}`, "Idempotency-Key", "thread-"+c.name)
	var made struct{ Thread struct{ ID string } }
	if err := json.Unmarshal(r.body, &made); err != nil || r.status != http.StatusOK {
		c.s.t.Errorf("a thread: %v", r)
		return
	}
	c.thread = made.Thread.ID
}

func (c *talk) path(of string) string { return "/threads/" + c.thread + of }

// run sends messages until the load ends. The last one is brought to an end: it is acknowledged, or nobody knows.
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

// send sends a message until it is known what became of it, and reports whether it was acknowledged. Without a key a
// sender whose request got no answer must not send it again: it would be another message.
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
			return true
		case r.status == http.StatusInternalServerError:
			// A turn may have been interrupted too often; whether it was is seen in the end.
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

// after does what people do while a turn works: wait for the reply, cancel it, or neither.
func (c *talk) after(m *message) {
	switch n := c.dice.IntN(100); {
	case n < 10:
		pause(c.s.t, c.dice.between(0, 60*time.Millisecond))
		m.cancelAsked = true
		r := c.s.ask(c.dice, c.p, http.MethodPost, c.path("/cancel"), "")
		var told struct{ Cancelled bool }
		_ = json.Unmarshal(r.body, &told) // an answer that is not there promises nothing
		m.cancelled = r.status == http.StatusOK && told.Cancelled
	case n < 55:
		c.poll(m, false)
	case n < 80:
		c.poll(m, true)
	}
}

// messageList is what a client reads of a thread.
type messageList struct {
	Status     string
	Messages   []struct{ ID, Role, Text, Status, TurnID string }
	NextCursor string
}

// poll reads the thread until the reply of a turn is there, again and again or by waiting for news.
func (c *talk) poll(m *message, long bool) {
	var headers []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && c.s.t.Context().Err() == nil; {
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
	c.s.t.Errorf("%s: no reply of %s in a minute", c.name, m.turn)
}

// settle waits until nothing works in the thread, and tells the reader how many turns it has to see.
func (c *talk) settle() {
	if c.s.t.Failed() {
		c.reader.stop()
		return
	}
	await(c.s.t, "no turn of "+c.name+" works any more", time.Minute, func() bool {
		r := c.s.ask(c.dice, c.p, http.MethodGet, c.path("/messages"), "")
		var list messageList
		return r.status == http.StatusOK && json.Unmarshal(r.body, &list) == nil && list.Status == "complete"
	})
	c.reader.finish(c.turns())
}

// turns counts the turns of the thread by its replies, page by page.
func (c *talk) turns() (n int) {
	for cursor := ""; ; {
		query := "?limit=200"
		if cursor != "" {
			query += "&cursor=" + cursor
		}
		r := c.s.insist(c.dice, c.p, http.MethodGet, c.path("/messages")+query, "")
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

// remember writes memories beside the conversations, until the load ends.
func (s *stage) remember(p *person, d dice, who int) {
	for i := 1; !s.over.Load() && s.t.Context().Err() == nil; i++ {
		text := fmt.Sprintf("note %d of %d", i, who)
		r := s.ask(d, p, http.MethodPost, "/memories", fmt.Sprintf(`{"text": %q}`, text))
		switch {
		case r.status == http.StatusOK:
			p.noted = append(p.noted, text)
		case !r.unknown():
			s.t.Errorf("a memory was answered with %v", r)
		}
		pause(s.t, d.between(5*time.Millisecond, 50*time.Millisecond))
	}
}
