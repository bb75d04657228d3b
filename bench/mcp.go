package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Targets for the MCP endpoint.
const (
	mcpTarget  = 1.5
	idleStream = 100 << 20
)

// The protocol versions of the stateless and the stateful protocol.
const (
	mcpStateful  = "2025-11-25"
	mcpStateless = "2026-07-28"
)

// mcpQuestion is a call in one protocol version.
type mcpQuestion struct {
	title, version, method, name, params string
	// marks is a part of a correct reply.
	marks string
}

// mcpQuestions returns the calls for both servers. The minimal server ignores the agent id.
func mcpQuestions(agent string) []mcpQuestion {
	read := `"name":"list_memories","arguments":{"agentId":"` + agent + `","limit":1}`
	var out []mcpQuestion
	for _, version := range []string{mcpStateless, mcpStateful} {
		out = append(out,
			mcpQuestion{"tools/list, " + version, version, "tools/list", "", "", `"list_memories"`},
			mcpQuestion{"memory read, " + version, version, "tools/call", "list_memories", read, `"text":"note `})
	}
	return out
}

// mcpServer is a server in the run.
type mcpServer struct {
	name  string
	in    *instance
	token string
	// sessions are MCP sessions of the stateful protocol.
	sessions []string
}

// mcpSettings are the flags of `bench mcp`.
type mcpSettings struct {
	runFlags
	loadFlags
	streams int
	idle    time.Duration
}

func parseMCP(args []string) (*mcpSettings, error) {
	s := &mcpSettings{}
	f := s.newFlags("bench mcp", "")
	s.register(f, loadFlags{16, 20, 500 * time.Millisecond}, "keep-alive connections")
	f.IntVar(&s.streams, "streams", 1000, "idle streams for the memory measurement")
	f.DurationVar(&s.idle, "idle", idleFor, "wait before the memory of idle streams is read")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	if s.streams < 1 || s.streams > 100_000 {
		return s, errors.New("--streams must be 1 to 100000")
	}
	if s.idle < 0 || s.idle > time.Hour {
		return s, errors.New("--idle must be at most an hour")
	}
	return s, s.check(1000, time.Minute)
}

// measureMCP compares the endpoint with a minimal server of the same SDK that has one tool.
func measureMCP(ctx context.Context, s *mcpSettings, dir string) (page, error) {
	c := &carrel{binary: s.carrel, dir: dir, rows: pageSize}
	fmt.Fprintln(s.progress, "preparing…")
	if err := c.prepare(ctx); err != nil {
		return page{}, err
	}
	ours, err := c.start(ctx)
	if err != nil {
		return page{}, err
	}
	defer ours.stop()
	theirs, err := startBareMCP(ctx, c.dir)
	if err != nil {
		return page{}, err
	}
	defer theirs.stop()
	servers := []*mcpServer{{name: "Carrel", in: ours, token: c.key}, {name: "bare SDK", in: theirs, token: "none"}}
	rates := table{
		title: "MCP: Carrel / a bare server of the SDK with one tool, calls per second",
		head:  []string{"call", "ratio", "target", "", "lowest–highest round", "Carrel/s", "bare/s", "bytes, Carrel : bare"},
	}
	for _, q := range mcpQuestions(c.agent) {
		fmt.Fprintf(s.progress, "measuring: %s…\n", q.title)
		row, err := compareMCP(ctx, s.loadFlags, q, servers)
		if err != nil {
			return page{}, fmt.Errorf("%s: %w", q.title, err)
		}
		rates.rows = append(rates.rows, row)
	}
	fmt.Fprintf(s.progress, "measuring: %d idle streams…\n", s.streams)
	idle, err := idleStreams(ctx, c, s.streams, s.idle)
	if err != nil {
		return page{}, err
	}
	return newPage("MCP: Carrel and a minimal server of the SDK", s.conditions(time.Now(),
		fmt.Sprintf("%d connections, %d alternating rounds of %s for each call and server.",
			s.connections, s.rounds, s.duration),
		"The minimal server has no credentials, no database and one tool with a fixed reply; "+
			"Carrel checks a key and reads SQLite, and its list has all tools with their schemas.",
	), rates, idle), nil
}

// compareMCP measures both servers in alternating rounds and returns the row of the report.
func compareMCP(ctx context.Context, o loadFlags, q mcpQuestion, servers []*mcpServer) ([]string, error) {
	rounds := make([][]sample, len(servers))
	counters := make([]atomic.Uint64, len(servers))
	sizes := make([]int, len(servers))
	requests := make([]request, len(servers))
	for i, s := range servers {
		r, err := s.request(ctx, q, o.connections)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		body, err := verify(ctx, s.in.addr, r, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		requests[i], sizes[i] = r, len(body)
	}
	for round := -1; round < o.rounds; round++ { // the first round warms up
		order := []int{0, 1}
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, i := range order {
			l := load{
				addr:        servers[i].in.addr,
				connections: o.connections,
				duration:    o.duration,
				maxRequests: maxRoundRequests,
				request:     requests[i],
				counter:     &counters[i],
			}
			s, err := l.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", servers[i].name, err)
			}
			if round >= 0 {
				rounds[i] = append(rounds[i], s)
			}
		}
	}
	rs := ratios(rounds[0], rounds[1])
	ratio := median(rs)
	rate := func(i int) string {
		var all []float64
		for _, s := range rounds[i] {
			all = append(all, s.perSecond())
		}
		return fmt.Sprintf("%.0f", median(all))
	}
	return []string{
		q.title, fmt.Sprintf("%.2f×", ratio), fmt.Sprintf("≥ %.1f×", mcpTarget), verdict(ratio >= mcpTarget),
		fmt.Sprintf("%.2f–%.2f", slices.Min(rs), slices.Max(rs)), rate(0), rate(1),
		fmt.Sprintf("%d : %d", sizes[0], sizes[1]),
	}, nil
}

// request builds the requests of a call. In the stateful protocol they rotate through the sessions.
func (s *mcpServer) request(ctx context.Context, q mcpQuestion, connections int) (request, error) {
	if q.version == mcpStateful && len(s.sessions) == 0 {
		for range 4 * connections {
			id, err := beginMCP(ctx, s.in.addr, s.token)
			if err != nil {
				return request{}, err
			}
			s.sessions = append(s.sessions, id)
		}
	}
	check := func(body []byte) error {
		if !bytes.Contains(body, []byte(q.marks)) || bytes.Contains(body, []byte(`"isError":true`)) {
			return errors.New("not the reply that was asked for")
		}
		return nil
	}
	return request{check: check, append: func(dst []byte, n uint64) []byte {
		// Ids are unique, because a session rejects concurrent calls with the same id.
		body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%012d,"method":"%s","params":{%s}}`,
			100_000_000_000+n, q.method, q.inner())
		fields := []string{"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: " + q.version}
		if q.version == mcpStateful {
			fields = append(fields, "Mcp-Session-Id: "+s.sessions[n%uint64(len(s.sessions))])
		} else {
			fields = append(fields, "Mcp-Method: "+q.method)
			if q.name != "" {
				fields = append(fields, "Mcp-Name: "+q.name)
			}
		}
		head := strings.Replace(string(buildPostHead(s.in.addr, "/mcp", s.token, len(body), fields...)),
			"Accept: application/json\r\n", "", 1)
		return append(append(dst, head...), body...)
	}}, nil
}

// inner returns the parameters. In the stateless protocol every request identifies the client.
func (q mcpQuestion) inner() string {
	if q.version == mcpStateful {
		return q.params
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + q.version +
		`","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}`
	if q.params == "" {
		return meta
	}
	return q.params + "," + meta
}

// postMCP sends one message with net/http.
func postMCP(ctx context.Context, addr, token, session, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + token},
		"Content-Type":  {"application/json"},
		"Accept":        {"application/json, text/event-stream"},
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", mcpStateful)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res, errors.Join(err, res.Body.Close())
}

// beginMCP starts a session and returns its id.
func beginMCP(ctx context.Context, addr, token string) (string, error) {
	res, err := postMCP(
		ctx, addr, token, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+mcpStateful+
			`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	if err != nil {
		return "", err
	}
	id := res.Header.Get("Mcp-Session-Id")
	if id == "" {
		return "", fmt.Errorf("no session: status %d", res.StatusCode)
	}
	_, err = postMCP(ctx, addr, token, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return id, err
}

// idleFor is the default wait before memory is read. The server releases memory every half minute, and goroutine stacks need
// two garbage collections to shrink.
const idleFor = 70 * time.Second

// idleStreams opens streams in separate sessions on a new server and reads its memory.
func idleStreams(ctx context.Context, c *carrel, count int, wait time.Duration) (table, error) {
	in, err := (&carrel{binary: c.binary, dir: filepath.Join(c.dir, "idle"), rows: 0}).startEmpty(ctx)
	if err != nil {
		return table{}, err
	}
	defer in.stop()
	before, err := in.residentBytes()
	if err != nil {
		return table{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var opening sync.WaitGroup
	errs := make(chan error, count)
	slots := make(chan struct{}, 50)
	for range count {
		opening.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs <- openStream(ctx, in.addr, in.token)
		})
	}
	opening.Wait()
	for range count {
		if err := <-errs; err != nil {
			return table{}, err
		}
	}
	time.Sleep(wait)
	after, err := in.residentBytes()
	if err != nil {
		return table{}, err
	}
	return table{
		title: fmt.Sprintf("Memory with %d idle streams of as many sessions after %s", count, wait),
		head:  []string{"before", "with them", "target", ""},
		rows:  [][]string{{megabytes(before), megabytes(after), "≤ " + megabytes(idleStream), verdict(after <= idleStream)}},
	}, nil
}

// openStream starts a session and opens its stream, which stays open until the context ends.
func openStream(ctx context.Context, addr, token string) error {
	id, err := beginMCP(ctx, addr, token)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/mcp", nil)
	if err != nil {
		return err
	}
	r.Header = http.Header{
		"Authorization":        {"Bearer " + token},
		"Accept":               {"text/event-stream"},
		"Mcp-Session-Id":       {id},
		"Mcp-Protocol-Version": {mcpStateful},
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	first := make([]byte, 2)
	if _, err := io.ReadFull(res.Body, first); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("no stream: status %d, %w", res.StatusCode, err)
	}
	return nil // the stream stays open
}

// emptyCarrel is a server with an account but no content.
type emptyCarrel struct {
	*instance
	token string
}

func (c *carrel) startEmpty(ctx context.Context) (*emptyCarrel, error) {
	if err := os.MkdirAll(c.dataDir(), 0o700); err != nil {
		return nil, err
	}
	if err := c.signUp(ctx); err != nil {
		return nil, err
	}
	in, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	return &emptyCarrel{instance: in, token: c.key}, nil
}

// bareMCP is the argument that runs this program as the minimal server.
const bareMCP = "serve-bare-mcp"

func startBareMCP(ctx context.Context, dir string) (*instance, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, bareMCP, addr)
	cmd.Env = cleanEnv()
	proc, err := startProcess(ctx, "bare SDK", filepath.Join(dir, "bare.log"), "http://"+addr+"/healthz", cmd)
	if err != nil {
		return nil, err
	}
	return &instance{process: proc, addr: addr}, nil
}

// bareMemory has the size of a memory in Carrel's reply.
type bareMemory struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Status    string `json:"status"`
	Pinned    bool   `json:"pinned"`
	Origin    string `json:"origin"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
}
