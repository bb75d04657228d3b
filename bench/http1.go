package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxBody limits the memory that a broken server can make the client use.
	maxBody = 16 << 20
	// maxHead limits a head, and each line after it.
	maxHead = 64 << 10
	// readBuffer fits a list reply in one or two reads.
	readBuffer = 64 << 10
)

var (
	errClosing   = errors.New("the server does not keep the connection alive")
	errMalformed = errors.New("malformed HTTP response")
)

// keepAlive is one HTTP/1.1 connection that sends one request at a time.
type keepAlive struct {
	net.Conn
	reply reply
}

func dial(ctx context.Context, addr string) (*keepAlive, error) {
	c, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newKeepAlive(c), nil
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	return d.DialContext(ctx, "tcp", addr)
}

func newKeepAlive(c net.Conn) *keepAlive {
	return &keepAlive{Conn: c, reply: newReply()}
}

// do sends one request and reads its whole reply. The body is valid until the next call.
func (c *keepAlive) do(raw []byte) (status int, body []byte, err error) {
	c.reply.reset()
	if _, err := c.Write(raw); err != nil {
		return 0, nil, err
	}
	for {
		n, readErr := c.Read(c.reply.space())
		done, err := c.reply.received(n)
		if err == nil && !done {
			err = c.reply.incomplete(readErr)
		}
		if done || err != nil {
			return c.reply.status, c.reply.body(), err
		}
	}
}

// head contains the header fields that determine the end of a reply.
type head struct {
	status  int
	length  int // -1 without Content-Length
	chunked bool
	closing bool
}

// part is the part of a reply that the parser expects next.
type part int

const (
	expectStatus part = iota
	expectField
	expectBody
	expectChunkSize
	expectChunkData
	expectChunkEnd
	expectTrailer
	replyComplete
)

// reply receives one HTTP/1.1 reply in pieces of any size and parses it in place. It does not read itself, so that it
// serves blocking and non-blocking connections.
type reply struct {
	head
	buf []byte // the received bytes; the capacity is reused for all replies of a connection
	// next is the first byte that is not parsed yet.
	next     int
	expected part
	chunk    int // length of the current chunk
	// buf[start:end] is the body received so far. The data of chunks is joined there.
	start, end int
}

func newReply() reply { return reply{buf: make([]byte, 0, readBuffer)} }

// reset prepares for the next reply, which invalidates the body of the last one.
func (r *reply) reset() { *r = reply{buf: r.buf[:0]} }

// body returns the body received so far.
func (r *reply) body() []byte { return r.buf[r.start:r.end] }

// space returns the memory that the next read should fill. It is never empty.
func (r *reply) space() []byte {
	if len(r.buf) == cap(r.buf) && r.chunked && r.end > 0 && r.end < r.next {
		// Drop the parsed lines after the body, so that small chunks and trailers need no further memory.
		kept := copy(r.buf[r.end:], r.buf[r.next:])
		r.buf, r.next = r.buf[:r.end+kept], r.end
	}
	if len(r.buf) == cap(r.buf) {
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), r.buf...)
	}
	return r.buf[len(r.buf):cap(r.buf)]
}

// received parses the next n bytes, which were read into space, and reports whether the reply is complete. A reply
// after which the server closes the connection is an error here, because the next request would fail without the
// reason.
func (r *reply) received(n int) (done bool, err error) {
	r.buf = r.buf[:len(r.buf)+n]
	for r.expected != replyComplete {
		enough, err := r.parse()
		if err != nil || !enough {
			return false, err
		}
	}
	switch {
	case r.next < len(r.buf):
		return false, errMalformed // the client never sends two requests at a time
	case r.closing && r.status == http.StatusOK:
		return true, errClosing
	}
	return true, nil
}

// incomplete returns the error of a read that did not complete the reply.
func (r *reply) incomplete(readErr error) error {
	if errors.Is(readErr, io.EOF) && len(r.buf) > 0 {
		return io.ErrUnexpectedEOF
	}
	return readErr
}

// parse advances by one part. It reports false if the received bytes do not contain the whole part.
func (r *reply) parse() (enough bool, err error) {
	switch r.expected {
	case expectBody:
		r.end = min(r.start+r.length, len(r.buf))
		r.next = r.end
		if r.end-r.start < r.length {
			return false, nil
		}
		r.expected = replyComplete
		return true, nil
	case expectChunkData:
		if len(r.buf)-r.next < r.chunk {
			return false, nil
		}
		if r.end == r.start { // the data of the first chunk stays where it is
			r.start, r.end = r.next, r.next
		}
		r.end += copy(r.buf[r.end:], r.buf[r.next:r.next+r.chunk])
		r.next += r.chunk
		r.expected = expectChunkEnd
		return true, nil
	}
	line, found := r.line()
	if !found {
		if len(r.buf)-r.next > maxHead {
			return false, errMalformed
		}
		return false, nil
	}
	return true, r.parseLine(line)
}

// line returns the next line without its end.
func (r *reply) line() (line []byte, found bool) {
	rest := r.buf[r.next:]
	i := bytes.IndexByte(rest, '\n')
	if i < 0 {
		return nil, false
	}
	r.next += i + 1
	return bytes.TrimRight(rest[:i], "\r"), true
}

func (r *reply) parseLine(line []byte) error {
	switch r.expected {
	case expectStatus:
		return r.parseStatus(line)
	case expectField:
		switch {
		case r.next > maxHead:
			return errMalformed
		case len(line) == 0:
			return r.endHead()
		}
		return r.parseField(line)
	case expectChunkSize:
		return r.parseChunkSize(line)
	case expectChunkEnd:
		if len(line) != 0 {
			return errMalformed
		}
		r.expected = expectChunkSize
	case expectTrailer:
		if len(line) == 0 {
			r.expected = replyComplete
		}
	}
	return nil
}

// parseStatus parses "HTTP/1.1 200 OK". The reason phrase may be missing.
func (r *reply) parseStatus(line []byte) (err error) {
	const version = "HTTP/1.1 "
	if len(line) < len(version)+3 || string(line[:len(version)]) != version {
		return errMalformed
	}
	if r.status, err = strconv.Atoi(string(line[len(version) : len(version)+3])); err != nil {
		return errMalformed
	}
	r.length, r.expected = -1, expectField
	return nil
}

// parseField records the three relevant header fields.
func (r *reply) parseField(line []byte) error {
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
		r.length = n
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		r.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		r.closing = bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// endHead decides how the end of the body is found.
func (r *reply) endHead() error {
	r.start, r.end = r.next, r.next
	switch {
	case r.status == http.StatusNoContent || r.status == http.StatusNotModified:
		r.expected = replyComplete
	case r.chunked:
		r.expected = expectChunkSize
	case r.length >= 0:
		r.expected = expectBody
	default:
		// Without a length the body would end with the connection, which could not be kept alive.
		return errClosing
	}
	return nil
}

func (r *reply) parseChunkSize(line []byte) error {
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
	if err != nil || r.end-r.start+int(n) > maxBody {
		return errMalformed
	}
	r.chunk, r.expected = int(n), expectChunkData
	if n == 0 {
		r.expected = expectTrailer
	}
	return nil
}
