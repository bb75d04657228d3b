package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// textLength is the length of a row's text. It is also the maximum length of a thread title in Carrel, so all rows
// have the same size.
const textLength = 200

// pageSize is the number of rows in a list.
const pageSize = 50

// scenario is a kind of request.
type scenario struct {
	key    string
	title  string
	target float64 // required ratio to PocketBase's rate
}

var scenarios = []scenario{
	{key: "list", title: "list of 50 rows", target: 5},
	{key: "read", title: "single read", target: 8},
	// Last, because it changes the data.
	{key: "create", title: "durable create", target: 5},
}

// server is a compared server. prepare is called once, then start any number of times.
type server interface {
	name() string
	// prepare creates the data folder with its rows and the credential.
	prepare(ctx context.Context) error
	// start runs the server on the prepared folder.
	start(ctx context.Context) (*instance, error)
	// request returns the request of a scenario for a running instance.
	request(in *instance, scenario string) (request, error)
	// listField is the field of the rows in a list reply.
	listField() string
	// notes returns facts that readers need to interpret the numbers.
	notes(ctx context.Context, in *instance) ([]string, error)
}

// instance is a running server.
type instance struct {
	*process
	addr        string
	metricsAddr string
	// database is the server of its database, if bench started one.
	database *process
}

// verify sends one request and decodes the reply completely. The load only checks each reply cheaply.
func verify(ctx context.Context, addr string, r request, n uint64) ([]byte, error) {
	var body []byte
	var counter atomic.Uint64
	counter.Store(n)
	once := load{addr: addr, connections: 1, duration: time.Minute, maxRequests: 1, counter: &counter}
	once.request = request{append: r.append, check: func(b []byte) error {
		body = bytes.Clone(b)
		return r.check(b)
	}}
	_, err := once.run(ctx)
	return body, err
}

// fillerWords make texts realistic.
const fillerWords = "the reader left a slip between the pages and came back a week later to find the argument where " +
	"it had been "

// rowText returns the text of row n: textLength ASCII characters, unique for each n.
func rowText(n uint64) string {
	text := fmt.Sprintf("note %012d: ", n) + strings.Repeat(fillerWords, 3)
	return text[:textLength]
}

// repeatGet requests the same path every time.
func repeatGet(addr, path, token string, check func([]byte) error) request {
	raw := buildGet(addr, path, token)
	return request{
		append: func(dst []byte, _ uint64) []byte { return append(dst, raw...) },
		check:  check,
	}
}

// rotateGets requests each path in turn, so that no single row is always cached.
func rotateGets(addr string, paths []string, token string, check func([]byte) error) (request, error) {
	if len(paths) == 0 {
		return request{}, errors.New("no rows to read")
	}
	raw := make([][]byte, len(paths))
	for i, path := range paths {
		raw[i] = buildGet(addr, path, token)
	}
	return request{
		append: func(dst []byte, n uint64) []byte { return append(dst, raw[n%uint64(len(raw))]...) },
		check:  check,
	}, nil
}

// postText posts {"<field>": text} with a unique text.
func postText(addr, path, token, field string, check func([]byte) error) request {
	body := func(dst []byte, n uint64) []byte {
		// %012d keeps the length, and therefore the head, constant.
		return fmt.Appendf(dst, `{"%s":"note %012d: %s"}`, field, n, rowText(0)[len("note 000000000000: "):])
	}
	head := buildPostHead(addr, path, token, len(body(nil, 1)))
	return request{
		append: func(dst []byte, n uint64) []byte { return body(append(dst, head...), n) },
		check:  check,
	}
}

// countOf checks that a body contains a piece of JSON a number of times.
func countOf(piece string, want int) func([]byte) error {
	needle := []byte(piece)
	return func(body []byte) error {
		if got := bytes.Count(body, needle); got != want {
			return fmt.Errorf("%s occurs %d times, not %d", piece, got, want)
		}
		return nil
	}
}

// onceThenSame makes a check cheap for constant replies: a body equal to a checked body is valid. Comparing costs a
// twentieth of counting in a long list.
func onceThenSame(check func([]byte) error) func([]byte) error {
	var passed atomic.Pointer[[]byte]
	return func(body []byte) error {
		if known := passed.Load(); known != nil && bytes.Equal(*known, body) {
			return nil
		}
		if err := check(body); err != nil {
			return err
		}
		known := bytes.Clone(body)
		passed.Store(&known)
		return nil
	}
}

// decodeRows returns the texts of a list reply.
func decodeRows(body []byte, field string) ([]string, error) {
	var reply map[string]json.RawMessage
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, err
	}
	var rows []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(reply[field], &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Text
	}
	return texts, nil
}

// checkRows compares a decoded list with the created rows.
func checkRows(texts []string) error {
	if len(texts) != pageSize {
		return fmt.Errorf("%d rows, not %d", len(texts), pageSize)
	}
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if len(text) != textLength || seen[text] {
			return fmt.Errorf("unexpected row %q", text)
		}
		seen[text] = true
	}
	return nil
}

// collect posts count texts and returns the result of pick for each reply.
func collect(
	ctx context.Context, addr string, r request, count int, pick func(body []byte) (string, error),
) ([]string, error) {
	var mu sync.Mutex
	var out []string
	fill := load{
		addr:        addr,
		connections: 8,
		duration:    time.Minute,
		maxRequests: uint64(count),
		counter:     new(atomic.Uint64),
	}
	fill.request = request{append: r.append, check: func(body []byte) error {
		picked, err := pick(body)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, picked)
		return nil
	}}
	if _, err := fill.run(ctx); err != nil {
		return nil, err
	}
	if len(out) != count {
		return nil, fmt.Errorf("%d of %d rows were made in time", len(out), count)
	}
	return out, nil
}
