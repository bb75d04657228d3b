package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

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

const chunkedReply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" +
	"4;name=value\r\none \r\n5\r\ntwo\r\n\r\n6\r\n three\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"

const chunkedBody = "one two\r\n three"

var framings = map[string]struct{ reply, body string }{
	"length":    {"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world", "hello world"},
	"empty":     {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", ""},
	"chunks":    {chunkedReply, chunkedBody},
	"no chunks": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
	"no reply":  {"HTTP/1.1 204 No Content\r\n\r\n", ""},
}

// receive passes a piece to the parser as a connection would.
func receive(r *reply, piece string) (done bool, err error) {
	for !done && err == nil {
		n := copy(r.space(), piece)
		done, err = r.received(n)
		if piece = piece[n:]; piece == "" {
			break
		}
	}
	return done, err
}

func TestReplyIsParsedWhereverItIsSplit(t *testing.T) {
	t.Parallel()
	for name, tc := range framings {
		for first := range len(tc.reply) {
			for second := first; second < len(tc.reply); second++ {
				r := newReply()
				for range 2 { // the second reply reuses the memory of the first
					r.reset()
					for _, piece := range []string{tc.reply[:first], tc.reply[first:second]} {
						if done, err := receive(&r, piece); done || err != nil {
							t.Fatalf("%s split at %d and %d: %t, %v after %q", name, first, second, done, err, piece)
						}
					}
					done, err := receive(&r, tc.reply[second:])
					if !done || err != nil || string(r.body()) != tc.body {
						t.Fatalf("%s split at %d and %d: %t, %v, body %q", name, first, second, done, err, r.body())
					}
				}
			}
		}
	}
}

func TestReplyLargerThanTheReadBufferIsJoinedFromSmallChunks(t *testing.T) {
	t.Parallel()
	const chunks = 100_000
	r := newReply()
	sent := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("3\r\nabc\r\n", chunks) + "0\r\n" +
		strings.Repeat("X-Trailer: value\r\n", chunks) + "\r\n"
	done, err := receive(&r, sent)
	if !done || err != nil || string(r.body()) != strings.Repeat("abc", chunks) {
		t.Errorf("%t, %v, %d bytes", done, err, len(r.body()))
	}
	if cap(r.buf) > 4*3*chunks {
		t.Errorf("%d bytes of memory for a body of %d", cap(r.buf), 3*chunks)
	}
}

func TestReplyIsLimited(t *testing.T) {
	t.Parallel()
	const head, field = "HTTP/1.1 200 OK\r\n", "X-Field: value\r\n"
	const chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n", maxBody/16, strings.Repeat("x", maxBody/16))
	for name, sent := range map[string]string{
		"line without end":   head + strings.Repeat("x", maxHead+1),
		"many fields":        head + strings.Repeat(field, maxHead/len(field)+1),
		"length":             head + fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBody+1),
		"one chunk":          chunked + fmt.Sprintf("%x\r\n", maxBody+1),
		"many chunks":        chunked + strings.Repeat(chunk, 16) + "1\r\n",
		"chunk size":         chunked + strings.Repeat("0", maxHead+1),
		"bytes after reply":  head + "Content-Length: 2\r\n\r\nabc",
		"bytes after chunks": chunked + "0\r\n\r\nabc",
	} {
		r := newReply()
		if done, err := receive(&r, sent); done || !errors.Is(err, errMalformed) {
			t.Errorf("%s: %t, %v", name, done, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, tc := range framings {
		f.Add([]byte(tc.reply), uint16(20))
	}
	f.Fuzz(func(t *testing.T, sent []byte, split uint16) {
		whole, pieces := newReply(), newReply()
		done, err := receive(&whole, string(sent))
		first := min(int(split), len(sent))
		splitDone, splitErr := receive(&pieces, string(sent[:first]))
		if splitDone && first < len(sent) {
			return // bytes after the reply are an error only if they arrive with it
		}
		if splitErr == nil && !splitDone {
			splitDone, splitErr = receive(&pieces, string(sent[first:]))
		}
		if done != splitDone || !errors.Is(splitErr, err) {
			t.Fatalf("whole: %t, %v; split at %d: %t, %v", done, err, first, splitDone, splitErr)
		}
		if done && !bytes.Equal(whole.body(), pieces.body()) {
			t.Fatalf("whole: %q; split at %d: %q", whole.body(), first, pieces.body())
		}
	})
}
