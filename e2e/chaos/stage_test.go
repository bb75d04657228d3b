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

// stage is an installation under test: its nodes, their model, and its users.
type stage struct {
	t      *testing.T
	seed   func(name string) dice
	model  *model
	nodes  []*testkit.Server
	client *http.Client
	people []*person
	// talks are all conversations.
	talks []*talk
	// keyed makes every message carry an Idempotency-Key.
	keyed bool
	// longest is the maximum number of steps of a turn.
	longest int
	// proxy is the address of a proxy in front of the nodes, to which clients send everything; empty without one.
	proxy string
	tally tally
	acks  acks
	// paused is the number of the node that clients mostly avoid, counted from 1.
	paused atomic.Int64
	// over is set when no new work may begin.
	over atomic.Bool
}

// person is a user with an agent and a key.
type person struct {
	key, agent string
	// noted are the acknowledged memories.
	noted []string
}

// newStage starts the nodes, on one database if one is given, and creates the users. Further settings are pairs of the
// form NAME=value.
func newStage(t *testing.T, nodes, people int, database string, settings ...string) *stage {
	t.Helper()
	return newStageIn(t, make([]string, nodes), people, database, settings...)
}

// newStageIn is newStage with a node for each data folder; an empty name means a temporary one.
func newStageIn(t *testing.T, folders []string, people int, database string, settings ...string) *stage {
	t.Helper()
	s := &stage{t: t, seed: seeds(t), longest: 4}
	binary := program(t)
	s.model = newModel(t, s.seed("model"))
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	for i, folder := range folders {
		s.nodes = append(s.nodes, testkit.StartServer(t, testkit.ServerOptions{
			Binary: binary, Database: database, Data: folder,
			Env: append([]string{
				"CARREL_TEST_MODEL_URL=" + s.model.URL, "CARREL_TEST_NODE=" + nodeName(i), "CARREL_RATE_LIMITS=off",
				"CARREL_TURN_WAIT=8s", "CARREL_LOG_LEVEL=warn",
			}, settings...),
		}))
	}
	for i := range people {
		s.newUser(fmt.Sprintf("person%d@example.org", i))
	}
	return s
}

func nodeName(i int) string { return fmt.Sprintf("node%d", i) }

// newUser creates an account with a key and an agent.
func (s *stage) newUser(email string) {
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

func (s *stage) signal(node int, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.nodes[node].PID(), sig); err != nil {
		s.t.Fatal(err)
	}
}

// reply is the response of a node. Status 0 means that there was none, and the outcome of the request is unknown.
type reply struct {
	status int
	etag   string
	body   []byte
	err    error
}

// unknown reports whether the request may or may not have been carried out.
func (r reply) unknown() bool { return r.status == 0 || isAway(r.status) }

// accepted reports whether the request was carried out.
func (r reply) accepted() bool { return r.status >= 200 && r.status < 300 }

// isAway reports whether a status means that no node answers: 503 of a node, or 502 or 504 of a proxy.
func isAway(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusBadGateway ||
		status == http.StatusGatewayTimeout
}

// code returns the error code of a problem.
func (r reply) code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal(r.body, &problem) // other replies have no code
	return problem.Code
}

func (r reply) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return fmt.Sprintf("%d %s", r.status, r.body)
}

// clientTimeout is the client's timeout: longer than any node delays a reply, shorter than a pause.
const clientTimeout = 9 * time.Second

// any returns the address of a random node, or of the proxy.
func (s *stage) any(d dice) string {
	if s.proxy != "" {
		return s.proxy
	}
	i := d.IntN(len(s.nodes))
	if int64(i+1) == s.paused.Load() && d.chance(98) {
		i = (i + 1) % len(s.nodes)
	}
	return s.nodes[i].URL
}

// ask sends a request of a user to a random node and counts its outcome. Headers are pairs of name and value.
func (s *stage) ask(d dice, p *person, method, path, body string, headers ...string) reply {
	r := s.send(d, p, method, path, body, headers...)
	s.tally.add(r)
	return r
}

func (s *stage) send(d dice, p *person, method, path, body string, headers ...string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method,
		s.any(d)+"/api/agents/"+p.agent+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(req)
}

// get sends a request without credentials.
func (s *stage) get(url string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return reply{err: err}
	}
	return s.do(req)
}

func (s *stage) do(req *http.Request) reply {
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

// repeat repeats a request until a node replies. Creations carry an Idempotency-Key, so that they can be repeated.
func (s *stage) repeat(d dice, p *person, method, path, body string, headers ...string) reply {
	for deadline := time.Now().Add(testkit.Patience); ; {
		r := s.ask(d, p, method, path, body, headers...)
		// A creation that a crash interrupted holds its key for a minute.
		waits := r.status == http.StatusConflict && r.code() == "idempotency_in_progress"
		if !r.unknown() && !waits {
			return r
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%s %s got no answer: %v", method, path, r)
			return r
		}
		pause(s.t, d.between(5*time.Millisecond, 30*time.Millisecond))
	}
}
