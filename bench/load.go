package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The client and the servers share a few cores, so CPU time of the client reduces the measured ratio of two servers.
// net/http's client costs more than a fast server's handler. This client writes prebuilt bytes and reads replies in
// place.

const (
	// maxBody limits the memory that a broken server can make the client use.
	maxBody = 16 << 20
	// readBuffer fits a list reply in one or two reads.
	readBuffer = 64 << 10
	// grace is how long a reply may take after the end of a round.
	grace = 15 * time.Second
)

var (
	errClosing   = errors.New("the server does not keep the connection alive")
	errMalformed = errors.New("malformed HTTP response")
)

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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	conns := make([]*keepAlive, 0, l.connections)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range l.connections {
		c, err := dial(ctx, l.addr)
		if err != nil {
			return sample{}, err
		}
		conns = append(conns, c)
	}

	start := time.Now()
	end := start.Add(l.duration)
	limit := l.counter.Load() + l.maxRequests
	perConn := make([][]time.Duration, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		// The deadline wakes a goroutine that waits for a reply that never arrives.
		_ = c.SetDeadline(end.Add(grace))
		stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
		defer stop()
		wg.Go(func() {
			latencies, err := l.drive(ctx, c, end, limit)
			perConn[i] = latencies
			if err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	if err := context.Cause(ctx); err != nil {
		return sample{}, err
	}

	out := sample{elapsed: elapsed}
	for _, latencies := range perConn {
		out.latencies = append(out.latencies, latencies...)
	}
	return out, nil
}

// drive sends requests over one connection until the load ends.
func (l load) drive(ctx context.Context, c *keepAlive, end time.Time, limit uint64) ([]time.Duration, error) {
	latencies := make([]time.Duration, 0, 1<<14)
	want := cmp.Or(l.request.status, http.StatusOK)
	var out []byte
	for began := time.Now(); began.Before(end) && ctx.Err() == nil; {
		n := l.counter.Add(1)
		if n > limit {
			break
		}
		out = l.request.append(out[:0], n)
		status, body, err := c.do(out)
		if err != nil {
			return nil, fmt.Errorf("request to %s: %w", l.addr, err)
		}
		now := time.Now()
		latencies = append(latencies, now.Sub(began))
		began = now
		if status != want {
			return nil, fmt.Errorf("request to %s: status %d: %.300s", l.addr, status, body)
		}
		if err := l.request.check(body); err != nil {
			return nil, fmt.Errorf("reply of %s: %w: %.300s", l.addr, err, body)
		}
	}
	return latencies, nil
}

// keepAlive is one HTTP/1.1 connection that sends one request at a time.
type keepAlive struct {
	net.Conn
	r    *bufio.Reader
	body []byte
}

func dial(ctx context.Context, addr string) (*keepAlive, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return newKeepAlive(c), nil
}

func newKeepAlive(c net.Conn) *keepAlive {
	return &keepAlive{Conn: c, r: bufio.NewReaderSize(c, readBuffer)}
}

// do sends one request and reads its whole reply. The body is valid until the next call.
func (c *keepAlive) do(raw []byte) (status int, body []byte, err error) {
	if _, err := c.Write(raw); err != nil {
		return 0, nil, err
	}
	h, err := c.readHead()
	if err != nil {
		return 0, nil, err
	}
	c.body = c.body[:0]
	switch {
	case h.chunked:
		err = c.readChunks()
	case h.length > 0:
		err = c.readFull(h.length)
	}
	if err != nil {
		return h.status, nil, err
	}
	// Report a reply that closes the connection here, because the next request would fail without the reason.
	if h.closing && h.status == 200 {
		return h.status, c.body, errClosing
	}
	return h.status, c.body, nil
}

// head contains the header fields that determine the end of a reply.
type head struct {
	status  int
	length  int
	chunked bool
	closing bool
}

func (c *keepAlive) readHead() (head, error) {
	line, err := c.readLine()
	if err != nil {
		return head{}, err
	}
	// "HTTP/1.1 200 OK"; the reason phrase may be missing.
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return head{}, errMalformed
	}
	h := head{length: -1}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return head{}, errMalformed
	}
	for {
		if line, err = c.readLine(); err != nil {
			return head{}, err
		}
		if len(line) == 0 {
			break
		}
		if err := h.field(line); err != nil {
			return head{}, err
		}
	}
	if h.status == 204 || h.status == 304 {
		h.length = 0
	}
	// Without a length the body would end with the connection, which could not be kept alive.
	if h.length < 0 && !h.chunked {
		return head{}, errClosing
	}
	return h, nil
}

// field records the three relevant header fields.
func (h *head) field(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return errMalformed
	}
	switch value = bytes.TrimSpace(value); {
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 || n > maxBody {
			return errMalformed
		}
		h.length = n
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		h.closing = bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// readChunks reads a chunked body and its (ignored) trailer.
func (c *keepAlive) readChunks() error {
	for {
		line, err := c.readLine()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if err != nil {
			return errMalformed
		}
		if n == 0 {
			break
		}
		if err := c.readFull(int(n)); err != nil {
			return err
		}
		if line, err = c.readLine(); err != nil {
			return err
		}
		if len(line) != 0 {
			return errMalformed
		}
	}
	for {
		line, err := c.readLine()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
	}
}

// readFull appends the next n bytes to the body.
func (c *keepAlive) readFull(n int) error {
	had := len(c.body)
	if had+n > maxBody {
		return errMalformed
	}
	if cap(c.body) < had+n {
		c.body = append(make([]byte, 0, 2*(had+n)), c.body...)
	}
	c.body = c.body[:had+n]
	_, err := io.ReadFull(c.r, c.body[had:])
	return err
}

// readLine returns the next line without its end; it is valid until the next read.
func (c *keepAlive) readLine() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, errMalformed
		}
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
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
