package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// connectionCounter counts the connections a test server accepted.
func connectionCounter(ts *httptest.Server) *atomic.Int64 {
	var opened atomic.Int64
	ts.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	return &opened
}

func serve(t *testing.T, h http.HandlerFunc) (addr string, opened *atomic.Int64) {
	t.Helper()
	ts := httptest.NewUnstartedServer(h)
	opened = connectionCounter(ts)
	ts.Start()
	t.Cleanup(ts.Close)
	return ts.Listener.Addr().String(), opened
}

func anyBody([]byte) error { return nil }

func getLoad(addr string, check func([]byte) error) load {
	return load{
		addr: addr, connections: 4, duration: 10 * time.Second, maxRequests: 100,
		request: repeatGet(addr, "/", "token", check), counter: new(atomic.Uint64),
	}
}

func TestClientReadsEveryFramingOnOneConnection(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("carrel ", 40_000) // several times the read buffer
	replies := map[string]http.HandlerFunc{
		"/length": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "short") },
		"/empty":  func(http.ResponseWriter, *http.Request) {},
		"/none":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/chunks": func(w http.ResponseWriter, _ *http.Request) {
			for _, part := range []string{"one ", "two ", long} {
				fmt.Fprint(w, part)
				_ = http.NewResponseController(w).Flush()
			}
		},
		"/trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			fmt.Fprint(w, "body")
			w.Header().Set("X-Sum", "1")
		},
		"/problem": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
	}
	addr, opened := serve(t, func(w http.ResponseWriter, r *http.Request) { replies[r.URL.Path](w, r) })
	c, err := dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	for _, want := range []struct {
		path   string
		status int
		body   string
	}{
		{"/length", 200, "short"},
		{"/chunks", 200, "one two " + long},
		{"/empty", 200, ""},
		{"/none", 204, ""},
		{"/trailer", 200, "body"},
		{"/problem", 418, "no\n"},
		{"/length", 200, "short"},
	} {
		status, body, err := c.do(buildGet(addr, want.path, "token"))
		if err != nil || status != want.status || string(body) != want.body {
			t.Errorf("%s: got %d, %d bytes, %v; want %d, %d bytes", want.path, status,
				len(body), err, want.status, len(want.body))
		}
	}
	if got := opened.Load(); got != 1 {
		t.Errorf("%d connections were opened, not 1", got)
	}
}

func TestClientRefusesBrokenReplies(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\n"
	for name, tc := range map[string]struct {
		reply string
		want  error
	}{
		"not HTTP":                  {"hello there, client\r\n\r\n", errMalformed},
		"status that is no number":  {"HTTP/1.1 abc OK\r\n\r\n", errMalformed},
		"length that is no number":  {head + "Content-Length: many\r\n\r\n", errMalformed},
		"negative length":           {head + "Content-Length: -1\r\n\r\n", errMalformed},
		"length beyond reason":      {head + "Content-Length: 99999999999\r\n\r\n", errMalformed},
		"field without a colon":     {head + "Content-Length 5\r\n\r\n", errMalformed},
		"chunk size no number":      {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", errMalformed},
		"chunk longer than it says": {head + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", errMalformed},
		"body cut short":            {head + "Content-Length: 5\r\n\r\nab", io.ErrUnexpectedEOF},
		"no length at all":          {head + "\r\nbody", errClosing},
		"connection closed":         {head + "Connection: close\r\nContent-Length: 0\r\n\r\n", errClosing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, server := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() {
				defer server.Close()
				_, _ = server.Read(make([]byte, 1024))
				_, _ = io.WriteString(server, tc.reply)
			})
			c := newKeepAlive(client)
			_, _, err := c.do(buildGet("x", "/", "token"))
			_ = c.Close()
			wg.Wait()
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestLoadReusesItsConnectionsAndStopsAtItsNumberOfRequests(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	addr, opened := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, "ok")
	})
	got, err := getLoad(addr, anyBody).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.latencies) != 100 || asked.Load() != 100 {
		t.Errorf("%d latencies and %d requests, not 100", len(got.latencies), asked.Load())
	}
	if opened.Load() != 4 {
		t.Errorf("%d connections, not 4", opened.Load())
	}
	if got.perSecond() <= 0 {
		t.Errorf("rate %v", got.perSecond())
	}
}

func TestLoadStopsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	l := getLoad(addr, anyBody)
	l.duration, l.maxRequests = 500*time.Millisecond, 1<<40
	got, err := l.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.elapsed < l.duration || len(got.latencies) == 0 {
		t.Errorf("%d requests in %v", len(got.latencies), got.elapsed)
	}
}

func TestLoadCountsOnBetweenRounds(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	addr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if _, twice := seen.LoadOrStore(string(body), true); twice {
			w.WriteHeader(http.StatusConflict)
		}
		fmt.Fprint(w, "ok")
	})
	l := getLoad(addr, anyBody)
	l.request = postText(addr, "/", "token", "text", anyBody)
	for range 3 {
		if _, err := l.run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoadFailsOnTheFirstWrongReply(t *testing.T) {
	t.Parallel()
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		addr, _ := serve(t,
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "slow down", http.StatusTooManyRequests) })
		_, err := getLoad(addr, anyBody).run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "429") || !strings.Contains(err.Error(), "slow down") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("body", func(t *testing.T) {
		t.Parallel()
		addr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[]}`) })
		_, err := getLoad(addr, countOf(`"text"`, pageSize)).run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "occurs 0 times, not 50") {
			t.Errorf("got %v", err)
		}
	})
}

func TestLoadEndsWhenItIsCancelledInTheMiddleOfAReply(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 4), make(chan struct{})
	addr, _ := serve(t, func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	})
	// Registered after serve's cleanup, so that it runs before it.
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := getLoad(addr, anyBody).run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPostedRequestsAreWellFormedAndOfOneLength(t *testing.T) {
	t.Parallel()
	r := postText("h:1", "/p", "token", "title", anyBody)
	first, later := r.append(nil, 1), r.append(nil, 987_654_321)
	if len(first) != len(later) || bytes.Equal(first, later) {
		t.Errorf("lengths %d and %d", len(first), len(later))
	}
	_, body, _ := bytes.Cut(first, []byte("\r\n\r\n"))
	want := fmt.Sprintf(`{"title":"%s"}`, rowText(1))
	if string(body) != want || len(rowText(1)) != textLength {
		t.Errorf("body %s, want %s", body, want)
	}
}

func TestIdenticalRepliesAreCheckedOnce(t *testing.T) {
	t.Parallel()
	calls := 0
	check := onceThenSame(func(body []byte) error {
		calls++
		return countOf("x", 1)(body)
	})
	body := []byte("x1")
	for range 3 {
		if err := check(body); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 1 {
		t.Errorf("checked %d times, not once", calls)
	}
	// The client reads the next reply into the same memory.
	copy(body, "yy")
	if err := check(body); err == nil {
		t.Error("a wrong reply passed because it lay where a right one had been")
	}
	if err := check([]byte("x2")); err != nil || calls != 3 {
		t.Errorf("%v after %d checks", err, calls)
	}
}

// BenchmarkClient measures the client's own limit with a server that does nothing. A measured rate near this limit
// says nothing about a server.
func BenchmarkClient(b *testing.B) {
	reply := []byte(strings.Repeat("x", 300))
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(reply) }))
	defer ts.Close()
	l := getLoad(ts.Listener.Addr().String(), anyBody)
	l.connections, l.duration, l.maxRequests = 32, time.Minute, uint64(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := l.run(b.Context()); err != nil {
		b.Fatal(err)
	}
}
