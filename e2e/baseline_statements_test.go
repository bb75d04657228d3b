package e2e

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// statementCounter is a proxy in front of PostgreSQL that counts the statements of its clients.
type statementCounter struct {
	// url is the database through the proxy.
	url string
	// statements counts executed statements, including BEGIN and COMMIT.
	statements atomic.Int64

	network, address string // of PostgreSQL
}

// countStatements starts a proxy in front of a database. It ends with the test.
func countStatements(t *testing.T, database string) *statementCounter {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &statementCounter{}
	c.network, c.address = pgconn.NetworkAddress(config.Host, config.Port)
	to := url.URL{
		Scheme: "postgres", User: url.User(config.User), Host: listener.Addr().String(), Path: "/" + config.Database,
		RawQuery: "sslmode=disable",
	}
	c.url = to.String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			running.Go(func() { c.forward(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait() // the servers that use the proxy were stopped before
	})
	return c
}

// forward copies messages between a client and PostgreSQL until one of them closes the connection.
func (c *statementCounter) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial(c.network, c.address)
	if err != nil {
		return // the client sees a closed connection
	}
	var replies sync.WaitGroup
	replies.Go(func() {
		_, _ = io.Copy(client, server) // ends with either connection
		_ = client.Close()
	})
	_ = c.copyRequests(server, client) // ends with either connection
	_ = server.Close()
	replies.Wait()
}

// copyRequests copies the messages of the frontend and counts those that execute a statement. A message is a type of
// one byte, which the first message of a connection lacks, then its length and its content.
func (c *statementCounter) copyRequests(to io.Writer, from io.Reader) error {
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[1:]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return err
		}
		length := int64(binary.BigEndian.Uint32(head[len(head)-4:]))
		if length < 4 {
			return errors.New("a message is shorter than its length")
		}
		if !first && strings.ContainsRune("EQ", rune(head[0])) { // Execute, Query
			c.statements.Add(1)
		}
		if _, err := to.Write(head); err != nil {
			return err
		}
		if _, err := io.CopyN(to, from, length-4); err != nil {
			return err
		}
	}
}
