package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// model is a slow fake model. It runs in the test's process, so its records survive the servers, and it counts every
// call.
type model struct {
	*httptest.Server
	mu    sync.Mutex
	dice  dice
	turns map[string]*turn
	// wrong holds violations. stale holds calls of outdated runs: the turn was taken from its node while the call was on
	// its way. Such calls cannot be prevented, only ignored.
	wrong []string
	stale int
	calls int
	again int // calls for steps that were called before

	asleep  int64
	memory  uint64
	measure bool
	wake    bool
}

// turn is the model's record of a turn.
type turn struct {
	steps   map[int][]*call
	highest int // step
	attempt int // the newest
}

// call is one request for a step.
type call struct {
	attempt int
	node    string
	at      time.Time
	text    string
	// answered is set when the whole reply was written, gone when the caller disconnected before that.
	answered, gone bool
}

func newModel(t *testing.T, d dice) *model {
	m := &model{dice: d, turns: map[string]*turn{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", m.say)
	mux.HandleFunc("POST /asleep", m.serveReports)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m.refuse(w, "%s %s is none of its paths", r.Method, r.URL.Path)
	})
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// refuse replies with 400 and records a violation: the server must not send malformed calls.
func (m *model) refuse(w http.ResponseWriter, format string, a ...any) {
	why := fmt.Sprintf(format, a...)
	m.mu.Lock()
	m.wrong = append(m.wrong, "the model refused a call: "+why)
	m.mu.Unlock()
	http.Error(w, why, http.StatusBadRequest)
}

// decode reads a body and rejects unknown members.
func decode(r *http.Request, into any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// say replies to the call of a step, slowly and in chunks.
func (m *model) say(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Turn    string `json:"turn"`
		Step    int    `json:"step"`
		Attempt int    `json:"attempt"`
	}
	if err := decode(r, &asked); err != nil {
		m.refuse(w, "%v", err)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if asked.Turn == "" || asked.Step < 1 || asked.Attempt < 1 || key != asked.Turn+":"+strconv.Itoa(asked.Step) {
		m.refuse(w, "%+v with the key %q", asked, key)
		return
	}
	c, slow := m.begin(asked.Turn, asked.Step, asked.Attempt, r.Header.Get("X-Node"))
	answered := c.stream(w, r, slow)
	m.mu.Lock()
	c.answered, c.gone = answered, !answered
	m.mu.Unlock()
}

// stream writes the reply and reports whether it was written completely.
func (c *call) stream(w http.ResponseWriter, r *http.Request, slow time.Duration) bool {
	pieces := strings.SplitAfter(c.text, " ")
	for piece := range slices.Chunk(pieces, max(1, len(pieces)/3)) {
		select {
		case <-time.After(slow / 3):
		case <-r.Context().Done():
			return false
		}
		if _, err := w.Write([]byte(strings.Join(piece, ""))); err != nil {
			return false
		}
		_ = http.NewResponseController(w).Flush() // the next write returns the error
	}
	return true
}

// begin records a call and checks it: a step is called at most once per attempt, and never after the next step, which
// begins only when the end of this one is in the journal.
func (m *model) begin(id string, step, attempt int, node string) (*call, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.turns[id]
	if t == nil {
		t = &turn{steps: map[int][]*call{}}
		m.turns[id] = t
	}
	before := t.steps[step]
	m.calls++
	c := &call{attempt: attempt, node: node, at: time.Now()}
	c.text = fmt.Sprintf("%s step %d call %d:", id, step, len(before)+1)
	for range 1 + m.dice.IntN(30) {
		c.text += " " + strconv.Itoa(m.dice.IntN(1000))
	}
	c.text += ". "
	slow := m.dice.between(5*time.Millisecond, 80*time.Millisecond)
	if attempt < t.attempt {
		m.stale++
		return c, slow
	}
	if step < t.highest {
		m.wrong = append(m.wrong,
			fmt.Sprintf("%s: step %d was asked for in attempt %d although step %d had begun", id, step, attempt, t.highest))
	}
	if step > t.highest+1 {
		m.wrong = append(m.wrong, fmt.Sprintf("%s: step %d was asked for, and step %d never", id, step, t.highest+1))
	}
	if len(before) > 0 {
		m.again++
		if before[len(before)-1].attempt == attempt {
			m.wrong = append(m.wrong, fmt.Sprintf("%s: step %d was asked for twice in attempt %d", id, step, attempt))
		}
	}
	t.highest, t.attempt = max(t.highest, step), attempt
	t.steps[step] = append(before, c)
	return c, slow
}

// said returns the last reply of each step of a turn.
func (m *model) said(id string) (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.turns[id]
	if t == nil {
		return nil
	}
	for n := 1; n <= t.highest; n++ {
		calls := t.steps[n]
		last := calls[len(calls)-1]
		if !last.answered {
			texts = append(texts, "(step "+strconv.Itoa(n)+" was never answered)")
			continue
		}
		texts = append(texts, last.text)
	}
	return texts
}

// open returns the turns whose calls from a node are unfinished, with their attempts.
func (m *model) open(node string) map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	turns := map[string]int{}
	for id, t := range m.turns {
		calls := t.steps[t.highest]
		if last := calls[len(calls)-1]; !last.answered && !last.gone && last.node == node {
			turns[id] = last.attempt
		}
	}
	return turns
}

// takenOver returns the time of each turn's first call in a later attempt. Turns without one are omitted.
func (m *model) takenOver(turns map[string]int) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := map[string]time.Time{}
	for id, attempt := range turns {
		for _, calls := range m.turns[id].steps {
			for _, c := range calls {
				if first, ok := at[id]; c.attempt > attempt && (!ok || c.at.Before(first)) {
					at[id] = c.at
				}
			}
		}
	}
	return at
}

// checkViolations fails the test if there are violations.
func (m *model) checkViolations(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, wrong := range m.wrong {
		t.Error(wrong)
	}
	t.Logf("model: %d calls for %d turns, %d of them for a step cut off before, %d of outdated runs",
		m.calls, len(m.turns), m.again, m.stale)
}

// serveReports receives the number of sleeping turns and replies whether they may wake up.
func (m *model) serveReports(w http.ResponseWriter, r *http.Request) {
	var told struct {
		Asleep int64  `json:"asleep"`
		Memory uint64 `json:"memory"`
	}
	if err := decode(r, &told); err != nil {
		m.refuse(w, "%v", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asleep = told.Asleep
	if told.Memory > 0 {
		m.memory = told.Memory
	}
	_ = json.NewEncoder(w).Encode(map[string]bool{"measure": m.measure, "wake": m.wake}) // the server retries
	m.measure = false
}
