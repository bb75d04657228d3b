package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// stage is an installation under test: its nodes, the model behind them, and the people who use it.
type stage struct {
	t      *testing.T
	seed   func(name string) dice
	model  *model
	nodes  []*testkit.Server
	client *http.Client
	people []*person
	// talks are all conversations there are.
	talks []*talk
	// keyed says that every message has an Idempotency-Key.
	keyed bool
	// longest is how many steps a turn has at most.
	longest int
	// paused is the number of the node that people have learnt to avoid, most of the time, counted from 1.
	paused atomic.Int64
	// over says that nobody begins anything new.
	over atomic.Bool
}

// person is a user with an agent and a key.
type person struct {
	key, agent string
	// noted are the memories that were acknowledged.
	noted []string
}

// newStage starts the nodes, all on one database if there is one, and lets people in.
func newStage(t *testing.T, nodes, people int, database string) *stage {
	t.Helper()
	s := &stage{t: t, seed: seeds(t), longest: 4}
	binary := program(t)
	s.model = newModel(t, s.seed("model"))
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	for i := range nodes {
		s.nodes = append(s.nodes, testkit.StartServer(t, testkit.ServerOptions{
			Binary: binary, Database: database,
			Env: []string{
				"CARREL_TEST_MODEL_URL=" + s.model.URL, "CARREL_TEST_NODE=" + nodeName(i), "CARREL_RATE_LIMITS=off",
				"CARREL_TURN_WAIT=8s", "CARREL_LOG_LEVEL=warn",
			},
		}))
	}
	for i := range people {
		s.admit(fmt.Sprintf("person%d@example.org", i))
	}
	return s
}

func nodeName(i int) string { return fmt.Sprintf("node%d", i) }

// admit makes an account with a key and an agent.
func (s *stage) admit(email string) {
	s.t.Helper()
	var made struct {
		Key   string
		Agent struct{ ID string }
	}
	s.admin(nil, "user", "create", "--email", email, "--name", "Person", "--password", "correct horse battery")
	s.admin(&made, "key", "create", "--user", email, "--name", "chaos", "--json")
	s.admin(&made, "agent", "create", "--user", email, "--name", "Agent", "--json")
	s.people = append(s.people, &person{key: made.Key, agent: made.Agent.ID})
}

func (s *stage) admin(into any, args ...string) {
	s.t.Helper()
	r := s.nodes[0].Admin(args...)
	if r.Code != 0 {
		s.t.Fatalf("carrel admin %s: %d\n%s", strings.Join(args, " "), r.Code, r.Stderr)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(r.Stdout), into); err != nil {
			s.t.Fatalf("carrel admin %s: %v in %s", strings.Join(args, " "), err, r.Stdout)
		}
	}
}

// signal sends a signal to a node's process.
func (s *stage) signal(node int, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.nodes[node].PID(), sig); err != nil {
		s.t.Fatal(err)
	}
}

// reply is what a node answered. Status 0 means that it did not: nobody knows what became of the request.
type reply struct {
	status int
	etag   string
	body   []byte
	err    error
}

// unknown says that the request may or may not have been carried out.
func (r reply) unknown() bool { return r.status == 0 || r.status == http.StatusServiceUnavailable }

// code returns the code of a problem.
func (r reply) code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal(r.body, &problem) // no problem has no code
	return problem.Code
}

func (r reply) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return fmt.Sprintf("%d %s", r.status, r.body)
}

// patience is how long a client waits for an answer: longer than any node makes it wait, shorter than a pause.
const patience = 9 * time.Second

// any returns some node.
func (s *stage) any(d dice) *testkit.Server {
	i := d.IntN(len(s.nodes))
	if int64(i+1) == s.paused.Load() && d.chance(98) {
		i = (i + 1) % len(s.nodes)
	}
	return s.nodes[i]
}

// ask sends a request to any node, as somebody. Headers come in pairs.
func (s *stage) ask(d dice, p *person, method, path, body string, headers ...string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	node := s.any(d)
	req, err := http.NewRequestWithContext(ctx, method,
		node.URL+"/api/agents/"+p.agent+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{err: err}
	}
	return reply{status: resp.StatusCode, etag: resp.Header.Get("ETag"), body: got}
}

// insist asks until a node answers. A creation has an Idempotency-Key, so that it may be asked for again.
func (s *stage) insist(d dice, p *person, method, path, body string, headers ...string) reply {
	for deadline := time.Now().Add(time.Minute); ; {
		r := s.ask(d, p, method, path, body, headers...)
		// A creation that a crash cut off holds its key for a minute.
		waits := r.status == http.StatusConflict && r.code() == "idempotency_in_progress"
		if !r.unknown() && !waits {
			return r
		}
		if time.Now().After(deadline.Add(30 * time.Second)) {
			s.t.Errorf("%s %s got no answer: %v", method, path, r)
			return r
		}
		pause(s.t, d.between(5*time.Millisecond, 30*time.Millisecond))
	}
}
