package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// The client and the servers share a few cores, so CPU time of the client reduces the measured ratio of two servers.
// net/http's client costs more than a fast server's handler. This client writes prebuilt bytes and reads replies in
// place.

// grace is how long a reply may take after the end of a round.
const grace = 15 * time.Second

// request is sent repeatedly by every connection. Replies are checked, so that fast wrong replies do not count.
type request struct {
	// append writes the n-th request of a run to dst. n is unique, so that a request can contain a unique text.
	append func(dst []byte, n uint64) []byte
	// check validates the body of a reply with the expected status.
	check func(body []byte) error
	// status is the expected status; 0 means 200.
	status int
}

// load applies a request for a duration or a number of requests, whichever ends first.
type load struct {
	addr        string
	connections int
	duration    time.Duration
	maxRequests uint64
	request     request
	// requestOf returns the request of a connection if it is not the same for all.
	requestOf func(connection int) request
	// counter provides n. The caller owns it, so that n is unique across rounds.
	counter *atomic.Uint64
}

// sample is the measurement of one run of a load.
type sample struct {
	elapsed   time.Duration
	latencies []time.Duration
}

func (s sample) perSecond() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(len(s.latencies)) / s.elapsed.Seconds()
}

// run opens the connections and starts them together. The first wrong reply ends the run, because a rate with errors
// is meaningless.
func (l load) run(ctx context.Context) (sample, error) {
	exchanges := make([]*exchange, 0, l.connections)
	defer func() {
		for _, x := range exchanges {
			_ = x.conn.Close()
		}
	}()
	for i := range l.connections {
		conn, err := dialTCP(ctx, l.addr)
		if err != nil {
			return sample{}, err
		}
		x := &exchange{conn: conn, addr: l.addr, request: l.request, counter: l.counter}
		if l.requestOf != nil {
			x.request = l.requestOf(i)
		}
		exchanges = append(exchanges, x)
	}

	start := time.Now()
	end := start.Add(l.duration)
	limit := l.counter.Load() + l.maxRequests
	for _, x := range exchanges {
		x.end, x.limit = end, limit
	}
	err := drive(ctx, exchanges, end.Add(grace))
	elapsed := time.Since(start)
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return sample{}, err
	}

	out := sample{elapsed: elapsed}
	for _, x := range exchanges {
		out.latencies = append(out.latencies, x.latencies...)
	}
	return out, nil
}

// exchange is the part of a load on one connection: it builds requests and checks replies. A driver, which depends on
// the operating system, sends and receives them. An exchange is used by one goroutine at a time.
type exchange struct {
	conn    net.Conn
	addr    string
	request request
	counter *atomic.Uint64
	limit   uint64 // last n of the run
	end     time.Time

	raw       []byte // the request to send
	began     time.Time
	latencies []time.Duration
}

// next builds the next request in raw. It reports false at the end of the load.
func (x *exchange) next(now time.Time) bool {
	if !now.Before(x.end) {
		return false
	}
	n := x.counter.Add(1)
	if n > x.limit {
		return false
	}
	x.raw = x.request.append(x.raw[:0], n)
	x.began = now
	return true
}

// finish checks the reply, or the error in its place, and records its latency.
func (x *exchange) finish(now time.Time, status int, body []byte, err error) error {
	if err != nil {
		return fmt.Errorf("request to %s: %w", x.addr, err)
	}
	x.latencies = append(x.latencies, now.Sub(x.began))
	if status != cmp.Or(x.request.status, http.StatusOK) {
		return fmt.Errorf("request to %s: status %d: %.300s", x.addr, status, body)
	}
	if err := x.request.check(body); err != nil {
		return fmt.Errorf("reply of %s: %w: %.300s", x.addr, err, body)
	}
	return nil
}

// buildGet returns a GET request with a bearer token.
func buildGet(addr, path, token string) []byte {
	return fmt.Appendf(nil,
		"GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: application/json\r\n\r\n", path, addr, token)
}

// buildPostHead returns the head of a POST with a JSON body of the given length. All bodies of a scenario have the
// same length, so the head is built once. Additional fields are complete lines such as "Name: value".
func buildPostHead(addr, path, token string, length int, fields ...string) []byte {
	out := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: "+
		"application/json\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
		path, addr, token, length)
	for _, field := range fields {
		out = append(append(out, field...), "\r\n"...)
	}
	return append(out, "\r\n"...)
}
