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
	"os"
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

// rawServer sends prepared bytes in place of HTTP replies. answer gets the connection after each request that ends with
// an empty line, and returns false to close it.
func rawServer(t *testing.T, answer func(net.Conn) bool) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					if err != nil || bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) && !answer(c) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		connections.Wait()
	})
	return l.Addr().String()
}

func TestLoadReadsRepliesThatArriveInPieces(t *testing.T) {
	t.Parallel()
	for name, tc := range framings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := rawServer(t, func(c net.Conn) bool {
				for i := range len(tc.reply) {
					if _, err := c.Write([]byte(tc.reply[i : i+1])); err != nil {
						return false
					}
				}
				return true
			})
			l := getLoad(addr, func(body []byte) error {
				if string(body) != tc.body {
					return fmt.Errorf("body %q", body)
				}
				return nil
			})
			l.maxRequests = 40
			if name == "no reply" {
				l.request.status = http.StatusNoContent
			}
			if got, err := l.run(t.Context()); err != nil || len(got.latencies) != 40 {
				t.Errorf("%d replies, %v", len(got.latencies), err)
			}
		})
	}
}

func TestLoadSendsEachConnectionItsOwnRequests(t *testing.T) {
	t.Parallel()
	// A reply contains the path that the connection asked for first.
	var paths sync.Map
	addr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		first, _ := paths.LoadOrStore(r.RemoteAddr, r.URL.Path)
		fmt.Fprint(w, first)
	})
	l := getLoad(addr, nil)
	l.connections = 3
	l.requestOf = func(connection int) request {
		path := fmt.Sprintf("/%d", connection)
		return repeatGet(addr, path, "token", func(body []byte) error {
			if string(body) != path {
				return fmt.Errorf("not the reply of %s", path)
			}
			return nil
		})
	}
	if got, err := l.run(t.Context()); err != nil || len(got.latencies) != 100 {
		t.Errorf("%d replies, %v", len(got.latencies), err)
	}
}

func TestLoadSendsRequestsAndReadsRepliesLargerThanTheSocketBuffers(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("carrel ", 1_000_000)
	addr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond) // until the client cannot write any more
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != large {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(body)
	})
	l := getLoad(addr, func(body []byte) error {
		if string(body) != large {
			return fmt.Errorf("%d bytes", len(body))
		}
		return nil
	})
	l.maxRequests = 8
	l.request.append = func(dst []byte, _ uint64) []byte {
		return append(append(dst, buildPostHead(addr, "/", "token", len(large))...), large...)
	}
	if got, err := l.run(t.Context()); err != nil || len(got.latencies) != 8 {
		t.Errorf("%d replies, %.200v", len(got.latencies), err)
	}
}

func TestLoadFailsWhenTheServerCloses(t *testing.T) {
	t.Parallel()
	const reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, tc := range map[string]struct {
		reply string
		want  error
	}{
		"before the reply":  {"", io.EOF},
		"in the head":       {reply[:20], io.ErrUnexpectedEOF},
		"in the body":       {reply[:len(reply)-1], io.ErrUnexpectedEOF},
		"in the chunks":     {chunkedReply[:len(chunkedReply)-2], io.ErrUnexpectedEOF},
		"as it announced":   {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", errClosing},
		"with no HTTP":      {"hello there, client\r\n\r\n", errMalformed},
		"after extra bytes": {reply + "!", errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := rawServer(t, func(c net.Conn) bool {
				_, _ = io.WriteString(c, tc.reply)
				return false
			})
			if _, err := getLoad(addr, anyBody).run(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	t.Run("after some replies", func(t *testing.T) {
		t.Parallel()
		var replies atomic.Int64
		addr := rawServer(t, func(c net.Conn) bool {
			_, _ = io.WriteString(c, reply)
			return replies.Add(1) < 20
		})
		// The next request either finds the connection closed or is answered with a reset.
		if _, err := getLoad(addr, anyBody).run(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

func TestLoadEndsAtItsDeadlineIfAReplyNeverArrives(t *testing.T) {
	t.Parallel()
	const reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, answered := range map[string]int64{"no reply": 0, "some replies": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var replies atomic.Int64
			addr := rawServer(t, func(c net.Conn) bool {
				if replies.Add(1) <= answered {
					_, _ = io.WriteString(c, reply)
				}
				return true
			})
			var exchanges []*exchange
			began := time.Now()
			for range 3 {
				c, err := dialTCP(t.Context(), addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				exchanges = append(exchanges, &exchange{
					conn: c, addr: addr, request: repeatGet(addr, "/", "token", anyBody),
					counter: new(atomic.Uint64), limit: 100, end: began.Add(time.Minute),
				})
			}
			err := drive(t.Context(), exchanges, began.Add(200*time.Millisecond))
			if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) < 200*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
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

const constantServerArg = "constant-server"

// constantReply resembles a small reply of Carrel.
var constantReply = []byte("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Type: application/json\r\n" +
	"X-Content-Type-Options: nosniff\r\nX-Request-Id: 0198c0f3-1111-7000-8000-000000000000\r\n" +
	"Date: Wed, 18 Nov 2026 10:00:00 GMT\r\nContent-Length: 300\r\n\r\n" + strings.Repeat("x", 300))

// runConstantServer answers every request with constantReply after some work. It is a child of the test, so that the
// CPU time of the test is the client's.
func runConstantServer(args []string) (mine bool, err error) {
	if len(args) != 2 || args[0] != constantServerArg {
		return false, nil
	}
	work, err := time.ParseDuration(args[1])
	if err != nil {
		return true, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return true, err
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		_ = l.Close()
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return true, nil
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 4096)
			for {
				n, err := c.Read(buf)
				if err != nil || !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
					return
				}
				for began := time.Now(); time.Since(began) < work; {
				}
				if _, err := c.Write(constantReply); err != nil {
					return
				}
			}
		}()
	}
}
