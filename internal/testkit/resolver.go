package testkit

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// FakeResolver returns a resolver that resolves every name to these addresses, one per query; the last one repeats.
// Without addresses no name exists.
func FakeResolver(t testing.TB, answers ...[4]byte) *net.Resolver {
	t.Helper()
	resolver, _ := CountingResolver(t, answers...)
	return resolver
}

// CountingResolver is FakeResolver with a function that returns the number of queries.
func CountingResolver(t testing.TB, answers ...[4]byte) (_ *net.Resolver, queries func() int) {
	t.Helper()
	var asked, all atomic.Int32
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			// A pipe is a stream, so messages are prefixed with their length (RFC 1035, 4.2.2).
			var size [2]byte
			if _, err := io.ReadFull(server, size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(server, query); err != nil {
				return
			}
			all.Add(1)
			reply := unknownName(query)
			if len(answers) > 0 {
				reply = answerTo(query, func() [4]byte { return answers[min(int(asked.Add(1)), len(answers))-1] })
			}
			_, _ = server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
		}()
		return client, nil
	}}
	return resolver, func() int { return int(all.Load()) }
}

// unknownName returns an NXDOMAIN reply to a DNS query (RFC 1035, 4.1.1).
func unknownName(query []byte) []byte {
	reply := answerTo(query, func() [4]byte { return [4]byte{} })
	const header = 12
	end := header
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	reply = reply[:end+5]
	reply[3] |= 3
	reply[7] = 0
	return reply
}

// answerTo returns a reply to a DNS query: one A record, or none for other types.
func answerTo(query []byte, address func() [4]byte) []byte {
	const header = 12
	end := header
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[header : end+5]
	isA := question[len(question)-3] == 1
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if isA {
		a := address()
		reply[7] = 1
		reply = append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, a[0], a[1], a[2], a[3])
	}
	return reply
}

// DNSServer starts a DNS server on loopback (TCP) that resolves every name to 127.0.0.1, and returns its address.
func DNSServer(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() { answerLoopback(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// answerLoopback answers the DNS queries of a connection with 127.0.0.1.
func answerLoopback(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := answerTo(query, func() [4]byte { return [4]byte{127, 0, 0, 1} })
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	}
}
