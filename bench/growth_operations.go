package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// growthOperation is an operation whose cost is measured.
type growthOperation struct {
	name, method, path string
	// body returns the body of the n-th request, or "".
	body func(n uint64) string
	// has is a piece of JSON that every reply contains.
	has string
	// key is the key of the request, by default the one for everything.
	key string
	// fewer divides the number of requests of an expensive operation.
	fewer int
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
			return fmt.Sprintf(`{"query": "reading number %d subject"%s}`, n%uint64(max(1, g.rows)), rest)
		}
		return growthOperation{name: name, method: http.MethodPost, path: path, body: body, has: `"results":[{`}
	}
	ask := post("ask in a long thread", path("threads/"+g.longThread+"/messages"), `"status":"complete"`,
		`{"text": "What is reading number %d about?"}`)
	ask.fewer = 8
	asOther := func(op growthOperation) growthOperation {
		op.key = g.other
		return op
	}
	return []growthOperation{
		get("read the account", "/api/account", `"email"`),
		list("list agents", "/api/agents", `"agents":[{`),
		asOther(list("list shared agents", "/api/agents", `"agents":[{`)),
		asOther(get("read an agent by a grant", "/api/agents/"+g.carrel.agent, `"agent":{`)),
		get("read an agent", "/api/agents/"+g.carrel.agent, `"agent":{`),
		list("list threads", path("threads"), `"threads":[{`),
		list("list threads by title", path("threads?sort=title"), `"threads":[{`),
		list("list threads by creation", path("threads?sort=created"), `"threads":[{`),
		list("list threads of all agents", "/api/threads", `"threads":[{`),
		list("find threads", path("threads?q=subject"), `"threads":[{`),
		get("read a thread", path("threads/"+g.longThread), `"thread":{`),
		post("create a thread", path("threads"), `"thread":{`, `{"title": "created %d about a subject"}`),
		list("list messages", path("threads/"+g.longThread+"/messages"), `"messages":[{`),
		ask,
		search("search", path("search"), ""),
		search("search with years", path("search"), `, "fromYear": 1990, "toYear": 1999`),
		search("search with counts", path("search"), `, "facets": true`),
		list("list documents", path("sources/"+g.source+"/documents"), `"documents":[{`),
		get("read a document", path("documents/"+g.document), `"document":{`),
		list("list memories", path("memories"), `"memories":[{`),
		list("find memories", path("memories?q=subject"), `"memories":[{`),
		post("create a memory", path("memories"), `"memory":{`, `{"text": "created %d about a subject"}`),
		list("list favourites", path("favourites"), `"favourites":[{`),
		list("list keys", "/api/account/keys", `"keys":[{`),
		post("create a key", "/api/account/keys", `"key":`, `{"name": "created %d"}`),
		list("list connections", "/api/account/connections", `"connections":[{`),
		list("list audit events", "/api/account/audit", `"events":[{`),
		get("read usage", "/api/account/usage", `{`),
		list("list users", "/api/admin/users", `"users":[{`),
		list("list all audit events", "/api/admin/audit", `"events":[{`),
	}
}

// cost measures an operation.
func (g *growthData) cost(ctx context.Context, op growthOperation, requests int) (growthCost, error) {
	key := cmp.Or(op.key, g.key)
	requests = max(1, requests/cmp.Or(op.fewer, 1))
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
	before, err := g.in.scheduled()
	if err != nil {
		return growthCost{}, err
	}
	taken, err := l.run(ctx)
	if err != nil {
		return growthCost{}, err
	}
	after, err := g.in.scheduled()
	if err != nil {
		return growthCost{}, err
	}
	if len(taken.latencies) == 0 {
		return growthCost{}, errors.New("no reply in time")
	}
	slices.Sort(taken.latencies)
	return growthCost{
		cpu: (after - before) / time.Duration(len(taken.latencies)),
		p50: percentile(taken.latencies, 50),
	}, nil
}

// scheduled returns the processor time of the server and the database so far. It is exact to the microsecond, unlike
// /proc/PID/stat, which counts hundredths of a second.
func (in *instance) scheduled() (time.Duration, error) {
	total, err := scheduledOf(in.cmd.Process.Pid)
	if err != nil || in.database == nil {
		return total, err
	}
	family, err := familyOf(in.database.cmd.Process.Pid)
	for _, pid := range family {
		if used, err := scheduledOf(pid); err == nil { // a worker may have ended
			total += used
		}
	}
	return total, err
}

// scheduledOf returns the time that the threads of a process have run, from the scheduler's statistics.
func scheduledOf(pid int) (total time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	if len(threads) == 0 {
		return 0, fmt.Errorf("process %d has no scheduler statistics", pid)
	}
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		var ran int64
		if _, err := fmt.Sscan(string(raw), &ran); err != nil {
			return 0, err
		}
		total += time.Duration(ran)
	}
	return total, nil
}

// familyOf returns a process and its children.
func familyOf(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	family := []int{pid}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		_, _, parent, err := parseStat(raw)
		if err != nil {
			return nil, err
		}
		if parent == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return nil, err
			}
			family = append(family, child)
		}
	}
	return family, err
}
