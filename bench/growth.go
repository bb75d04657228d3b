package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// growthSettings are the flags of `bench growth`.
type growthSettings struct {
	runFlags
	rows      int
	users     int
	levels    []int
	requests  int
	databases []string
}

func parseGrowth(args []string) (*growthSettings, error) {
	s := &growthSettings{}
	var levels, databases string
	f := s.newFlags("bench growth", "")
	f.IntVar(&s.rows, "rows", 100, "rows of each kind at 1×")
	f.IntVar(&s.users, "users", 5, "other users at 1×")
	f.StringVar(&levels, "levels", "1,10,100", "the `sizes` to measure, as multiples of --rows and --users")
	f.IntVar(&s.requests, "requests", 200, "requests per operation and size")
	f.StringVar(&databases, "databases", "sqlite,postgres", "the `databases` to measure")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	for level := range strings.SplitSeq(levels, ",") {
		n, err := strconv.Atoi(level)
		if err != nil || n < 1 || len(s.levels) > 0 && n <= s.levels[len(s.levels)-1] {
			return s, errors.New("--levels takes ascending numbers, separated by commas")
		}
		s.levels = append(s.levels, n)
	}
	s.databases = strings.Split(databases, ",")
	s.timeout = time.Hour
	switch {
	case slices.ContainsFunc(s.databases, func(d string) bool { return d != "sqlite" && d != "postgres" }):
		return s, errors.New("--databases takes sqlite, postgres")
	case s.rows < pageSize || s.rows*s.levels[len(s.levels)-1] > 100_000:
		return s, fmt.Errorf("--rows must be at least %d, and at most 100,000 at the largest size", pageSize)
	case s.users < 1 || s.users*s.levels[len(s.levels)-1] > 10_000:
		return s, errors.New("--users must be at least 1, and at most 10,000 at the largest size")
	case s.requests < 1 || s.requests > 10_000:
		return s, errors.New("--requests must be 1 to 10000")
	}
	return s, nil
}

// growthLimit is the growth of an operation's time over the sizes up to which it is called at most logarithmic: the
// depth of a B-tree of 100 times as many rows is at most twice as large. The rest is the inaccuracy of the measurement.
const growthLimit = 2.5

// growthRun measures operations while the data grows.
type growthRun struct {
	settings *growthSettings
	when     time.Time
	tables   []table
	notes    []string
}

// measureGrowth measures the cost of operations at several sizes of the data, on each database.
func measureGrowth(ctx context.Context, s *growthSettings, dir string) (page, error) {
	r := &growthRun{settings: s, when: time.Now()}
	for _, database := range s.databases {
		c := &carrel{binary: s.carrel, dir: filepath.Join(dir, database)}
		var server *postgres
		if err := os.Mkdir(c.dir, 0o755); err != nil {
			return page{}, err
		}
		if database == "postgres" {
			var err error
			server, err = startPostgres(ctx, dir)
			if errors.Is(err, errNoPostgres) {
				r.notes = append(r.notes, "PostgreSQL is not installed, so only SQLite was measured.")
				continue
			}
			if err != nil {
				return page{}, err
			}
			defer server.stop()
			if c.database, err = server.create(ctx, "growth"); err != nil {
				return page{}, err
			}
		}
		if err := r.measure(ctx, c, server); err != nil {
			return page{}, fmt.Errorf("%s: %w", database, err)
		}
	}
	lines := append([]string{
		fmt.Sprintf("1× is %d agents, documents, threads, messages of one thread, memories, favourites, keys and connections "+
			"of one user each. The user shares every agent with everybody, and many of the rows also made an audit event.",
			s.rows),
		fmt.Sprintf("1× also has %d other users with an agent and %d threads, memories, favourites and keys each.",
			s.users, rowsOfOther),
		fmt.Sprintf("Each operation is sent %d times over one connection. The columns are the p50 of its time, and the "+
			"processor time of server and database at the largest size.", s.requests),
		fmt.Sprintf("Growth is the p50 at the largest size by the p50 at the smallest. Up to %.1f× it is called at most "+
			"logarithmic.", growthLimit), carrelSettings,
	}, r.notes...)
	return newPage("Cost by the size of the data", s.conditions(r.when, lines...), r.tables...), nil
}

// growthCost is the measured cost of an operation at one size.
type growthCost struct{ cpu, p50 time.Duration }

func (r *growthRun) measure(ctx context.Context, c *carrel, server *postgres) error {
	g := &growthData{carrel: c}
	if err := c.signUp(ctx); err != nil {
		return err
	}
	if err := c.admin(ctx, &g.all, "key", "create", "--user", carrelEmail, "--name", "all",
		"--scopes", "agents,manage,account,admin"); err != nil {
		return err
	}
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	if server != nil {
		in.database = server.process
	}
	g.in = in
	costs := map[string][]growthCost{}
	var names []string
	for _, level := range r.settings.levels {
		fmt.Fprintf(r.settings.progress, "%s: %d× …\n", databaseName(server), level)
		if err := g.fill(ctx, level*r.settings.rows); err != nil {
			return fmt.Errorf("fill with %d rows: %w", level*r.settings.rows, err)
		}
		if err := g.addUsers(ctx, level*r.settings.users); err != nil {
			return fmt.Errorf("add users: %w", err)
		}
		names = names[:0]
		for _, op := range g.operations() {
			cost, err := g.cost(ctx, op, r.settings.requests)
			if err != nil {
				return fmt.Errorf("%s at %d×: %w", op.name, level, err)
			}
			costs[op.name] = append(costs[op.name], cost)
			names = append(names, op.name)
		}
	}
	r.tables = append(r.tables, r.table(databaseName(server), names, costs))
	return nil
}

func databaseName(server *postgres) string {
	if server == nil {
		return "SQLite"
	}
	return "PostgreSQL " + server.version
}

// table has a row per operation.
func (r *growthRun) table(database string, names []string, costs map[string][]growthCost) table {
	t := table{title: "Time of a request on " + database, head: []string{"operation"}}
	for _, level := range r.settings.levels {
		t.head = append(t.head, strconv.Itoa(level)+"×")
	}
	t.head = append(t.head, "CPU", "growth", fmt.Sprintf("≤ %.1f×", growthLimit), "plot")
	for _, name := range names {
		row := []string{name}
		var values []int64
		for _, cost := range costs[name] {
			row = append(row, milliseconds(cost.p50))
			values = append(values, cost.p50.Microseconds())
		}
		first, last := costs[name][0], costs[name][len(costs[name])-1]
		growth := float64(last.p50) / float64(max(first.p50, time.Microsecond))
		row = append(row, milliseconds(last.cpu), fmt.Sprintf("%.1f×", growth), verdict(growth <= growthLimit),
			plot(values, len(values)))
		t.rows = append(t.rows, row)
	}
	return t
}

// growthData creates the data and the requests of `bench growth`.
type growthData struct {
	carrel *carrel
	in     *instance
	all    struct { // a key for everything
		Key string `json:"key"`
	}
	source, document, longThread string
	has                          int // rows of each kind
	users                        int // other users
	// other is the key of another user, who sees the agents that are shared with everybody.
	other   string
	counter atomic.Uint64
}

// fill adds rows of each kind until there are so many.
func (g *growthData) fill(ctx context.Context, rows int) error {
	add := rows - g.has
	if g.source == "" {
		if err := g.begin(ctx); err != nil {
			return err
		}
	}
	path := g.carrel.path
	text := func(field string) func(int) string {
		return func(n int) string { return fmt.Sprintf(`{"%s": "note %d about subject %d"}`, field, n, n%97) }
	}
	for _, kind := range []struct {
		path    string
		body    func(n int) string
		workers int
	}{
		{path("threads"), text("title"), growthWorkers},
		{path("threads/" + g.longThread + "/messages"), text("text"), 1}, // a thread has one turn at a time
		{path("memories"), text("text"), growthWorkers},
		{"/api/account/keys", func(n int) string { return fmt.Sprintf(`{"name": "key %d"}`, n) }, growthWorkers},
	} {
		err := g.each(ctx, kind.workers, add, func(ctx context.Context, n int) error {
			return g.do(ctx, http.MethodPost, kind.path, kind.body(g.has+n), nil)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", kind.path, err)
		}
	}
	if err := g.each(ctx, growthWorkers, add, func(ctx context.Context, n int) error {
		return g.addSharedAgent(ctx, text("name")(g.has+n))
	}); err != nil {
		return err
	}
	if err := g.addDocuments(ctx, add); err != nil {
		return err
	}
	if err := g.each(ctx, growthWorkers, add, g.addConnection); err != nil {
		return err
	}
	g.has = rows
	return nil
}

const (
	// growthWorkers is how many requests create rows at a time.
	growthWorkers = 8
	// growthBatch is the number of documents of a request.
	growthBatch = 100
)

// begin finds the agent's source and creates the thread of many messages.
func (g *growthData) begin(ctx context.Context) error {
	var reply struct {
		Agent struct {
			Source string `json:"defaultSourceId"`
		} `json:"agent"`
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	err1 := g.do(ctx, http.MethodGet, "/api/agents/"+g.carrel.agent, "", &reply)
	err2 := g.do(ctx, http.MethodPost, g.carrel.path("threads"), `{"title": "Long"}`, &reply)
	g.source, g.longThread = reply.Agent.Source, reply.Thread.ID
	return errors.Join(err1, err2)
}

// addDocuments adds documents to the source, waits until they are found, and saves as many favourites.
func (g *growthData) addDocuments(ctx context.Context, add int) error {
	path := g.carrel.path("sources/" + g.source + "/documents")
	for from := 0; from < add; from += growthBatch {
		var documents []map[string]any
		for n := from; n < min(from+growthBatch, add); n++ {
			id := g.has + n
			documents = append(documents, map[string]any{
				"externalId": strconv.Itoa(id), "title": fmt.Sprintf("Document %d", id), "year": 1950 + id%70,
				"text": fmt.Sprintf("Reading number %d is about subject %d. %s", id, id%997, fillerWords),
			})
		}
		body, err := json.Marshal(map[string]any{"documents": documents})
		if err != nil {
			return err
		}
		if err := g.do(ctx, http.MethodPost, path, string(body), nil); err != nil {
			return err
		}
	}
	var list struct {
		Documents []struct {
			ID string `json:"id"`
		} `json:"documents"`
		Source struct {
			Indexed int `json:"indexed"`
		} `json:"source"`
		NextCursor string `json:"nextCursor"`
	}
	for list.Source.Indexed < g.has+add {
		if err := g.do(ctx, http.MethodGet, g.carrel.path("sources/"+g.source), "", &list); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askEvery):
		}
	}
	var ids []string
	for len(ids) < add {
		next := fmt.Sprintf("%s?limit=%d&cursor=%s", path, growthBatch, list.NextCursor)
		if list.NextCursor == "" {
			next = fmt.Sprintf("%s?limit=%d", path, growthBatch)
		}
		list.Documents, list.NextCursor = nil, ""
		if err := g.do(ctx, http.MethodGet, next, "", &list); err != nil {
			return err
		}
		for _, d := range list.Documents {
			ids = append(ids, d.ID)
		}
		if list.NextCursor == "" {
			break
		}
	}
	g.document = ids[0]
	return g.each(ctx, growthWorkers, min(add, len(ids)), func(ctx context.Context, n int) error {
		card := "card_" + strings.TrimPrefix(ids[n], "doc_")
		return g.do(ctx, http.MethodPost, g.carrel.path("favourites"), fmt.Sprintf(`{"card": {"id": %q, "title": "Document %d"}}`, card, n), nil)
	})
}

// addConnection connects a program with a code.
func (g *growthData) addConnection(ctx context.Context, n int) error {
	var made struct {
		Code string `json:"code"`
	}
	if err := g.do(ctx, http.MethodPost, "/api/account/connect-codes", `{}`, &made); err != nil {
		return err
	}
	body := fmt.Sprintf(`{"code": %q, "client": "program %d"}`, made.Code, n)
	return g.do(ctx, http.MethodPost, "/api/connect/exchange", body, nil)
}

// addSharedAgent creates an agent and shares it with everybody.
func (g *growthData) addSharedAgent(ctx context.Context, body string) error {
	id, err := g.createAgent(ctx, g.all.Key, body)
	if err != nil {
		return err
	}
	return g.do(ctx, http.MethodPut, "/api/agents/"+id+"/grants/everybody", `{"grant": "viewer"}`, nil)
}

func (g *growthData) createAgent(ctx context.Context, key, body string) (string, error) {
	var made struct {
		Agent struct {
			ID string `json:"id"`
		} `json:"agent"`
	}
	err := g.doWith(ctx, key, http.MethodPost, "/api/agents", body, &made)
	return made.Agent.ID, err
}

// rowsOfOther is the number of rows of each kind that another user has.
const rowsOfOther = 5

// addUsers adds other users until there are so many.
func (g *growthData) addUsers(ctx context.Context, users int) error {
	for ; g.users < users; g.users++ {
		if err := g.addUser(ctx, g.users); err != nil {
			return err
		}
	}
	return nil
}

func (g *growthData) addUser(ctx context.Context, n int) error {
	email := fmt.Sprintf("user-%d@example.org", n)
	var made struct {
		Key string `json:"key"`
	}
	for _, args := range [][]string{
		{"user", "create", "--email", email, "--name", "Other", "--password", carrelPassword},
		{"key", "create", "--user", email, "--name", "other", "--scopes", "agents,manage,account"},
	} {
		if err := g.carrel.admin(ctx, &made, args...); err != nil {
			return err
		}
	}
	id, err := g.createAgent(ctx, made.Key, `{"name": "Of another user"}`)
	if err != nil {
		return err
	}
	path := "/api/agents/" + id
	for i := range rowsOfOther {
		for _, row := range [][2]string{
			{path + "/threads", `{"title": "note %d of another user about subject 1"}`},
			{path + "/memories", `{"text": "note %d of another user about subject 1"}`},
			{path + "/favourites", `{"card": {"id": "card_%d", "title": "Of another user"}}`},
			{"/api/account/keys", `{"name": "key %d"}`},
		} {
			if err := g.doWith(ctx, made.Key, http.MethodPost, row[0], fmt.Sprintf(row[1], i), nil); err != nil {
				return err
			}
		}
	}
	g.other = made.Key
	return nil
}

// each runs so many calls, several at a time, and returns the first error.
func (g *growthData) each(ctx context.Context, workers, count int, call func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(count) && ctx.Err() == nil; n = next.Add(1) {
				if err := call(ctx, int(n-1)); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (g *growthData) do(ctx context.Context, method, path, body string, out any) error {
	return g.doWith(ctx, g.all.Key, method, path, body, out)
}

func (g *growthData) doWith(ctx context.Context, key, method, path, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+g.in.addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, reply)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(bytes.NewReader(reply)).Decode(out)
}

// growthOperation is an operation whose cost is measured.
type growthOperation struct {
	name, method, path string
	// body returns the body of the n-th request, or "".
	body func(n uint64) string
	// has is a piece of JSON that every reply contains.
	has string
	// key is the key of the request, by default the one for everything.
	key string
}

// operations returns the operations. Lists return one page, so the number of their rows is the same at all sizes.
func (g *growthData) operations() []growthOperation {
	path := g.carrel.path
	list := func(name, path, has string) growthOperation {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		return growthOperation{name: name, method: http.MethodGet, path: path + separator + "limit=50", has: has}
	}
	get := func(name, path, has string) growthOperation {
		return growthOperation{name: name, method: http.MethodGet, path: path, has: has}
	}
	post := func(name, path, has, body string) growthOperation {
		return growthOperation{
			name: name, method: http.MethodPost, path: path, has: has,
			body: func(n uint64) string { return fmt.Sprintf(body, n) },
		}
	}
	search := func(name, path, rest string) growthOperation {
		body := func(n uint64) string {
			return fmt.Sprintf(`{"query": "reading number %d subject"%s}`, n%uint64(max(1, g.has)), rest)
		}
		return growthOperation{name: name, method: http.MethodPost, path: path, body: body, has: `"results":[{`}
	}
	shared := list("list shared agents", "/api/agents", `"agents":[{`)
	shared.key = g.other
	return []growthOperation{
		get("read the account", "/api/account", `"email"`),
		list("list agents", "/api/agents", `"agents":[{`),
		shared,
		get("read an agent", "/api/agents/"+g.carrel.agent, `"agent":{`),
		list("list threads", path("threads"), `"threads":[{`),
		list("find threads", path("threads?q=subject"), `"threads":[{`),
		get("read a thread", path("threads/"+g.longThread), `"thread":{`),
		post("create a thread", path("threads"), `"thread":{`, `{"title": "created %d"}`),
		list("list messages", path("threads/"+g.longThread+"/messages"), `"messages":[{`),
		post("ask in a long thread", path("threads/"+g.longThread+"/messages"), `"status":"complete"`,
			`{"text": "What is reading number %d about?"}`),
		search("search", path("search"), ""),
		search("search with years", path("search"), `, "fromYear": 1990, "toYear": 1999`),
		search("search with counts", path("search"), `, "facets": true`),
		list("list documents", path("sources/"+g.source+"/documents"), `"documents":[{`),
		get("read a document", path("documents/"+g.document), `"document":{`),
		list("list memories", path("memories"), `"memories":[{`),
		list("find memories", path("memories?q=subject"), `"memories":[{`),
		post("create a memory", path("memories"), `"memory":{`, `{"text": "created %d"}`),
		list("list favourites", path("favourites"), `"favourites":[{`),
		list("list keys", "/api/account/keys", `"keys":[{`),
		list("list connections", "/api/account/connections", `"connections":[{`),
		list("list audit events", "/api/account/audit", `"events":[{`),
		get("read usage", "/api/account/usage", `{`),
		list("list users", "/api/admin/users", `"users":[{`),
		list("list all audit events", "/api/admin/audit", `"events":[{`),
	}
}

// cost measures an operation.
func (g *growthData) cost(ctx context.Context, op growthOperation, requests int) (growthCost, error) {
	key := cmp.Or(op.key, g.all.Key)
	l := load{
		addr: g.in.addr, connections: 1, duration: time.Minute, maxRequests: uint64(requests), counter: &g.counter,
		request: request{
			append: func(dst []byte, n uint64) []byte {
				if op.body == nil {
					return append(dst, buildGet(g.in.addr, op.path, key)...)
				}
				body := op.body(n)
				return append(append(dst, buildPostHead(g.in.addr, op.path, key, len(body))...), body...)
			},
			check: func(reply []byte) error {
				if !bytes.Contains(reply, []byte(op.has)) {
					return fmt.Errorf("no %s in the reply", op.has)
				}
				return nil
			},
		},
	}
	warm := l
	warm.maxRequests = uint64(max(1, requests/10))
	if _, err := warm.run(ctx); err != nil {
		return growthCost{}, err
	}
	taken, used, err := g.in.round(ctx, l)
	if err != nil {
		return growthCost{}, err
	}
	if len(taken.latencies) == 0 {
		return growthCost{}, errors.New("no reply in time")
	}
	slices.Sort(taken.latencies)
	return growthCost{
		cpu: (used.server + used.database) / time.Duration(len(taken.latencies)),
		p50: percentile(taken.latencies, 50),
	}, nil
}
