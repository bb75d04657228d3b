package testkit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Test servers listen on ports below the range from which systems take ephemeral ports (32768 and up on Linux, 49152 on
// macOS), so that neither a client connection nor a listener on port 0 takes one while its server restarts.
const (
	firstPort = 20000
	lastPort  = 32000
)

// ReserveAddr returns a loopback address that no other test server uses until the test ends, in this process or
// another. A port that was merely free a moment ago may be taken by the time the server listens on it; the test would
// then talk to the server of another test.
func ReserveAddr(t testing.TB) string {
	t.Helper()
	addr, release, err := reserveAddr()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addr
}

// reserveAddr returns a loopback address that is reserved until release is called.
func reserveAddr() (addr string, release func(), err error) {
	// One folder for each user: files of another user could not be opened.
	dir := filepath.Join(os.TempDir(), "carrel-test-ports-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	first := rand.IntN(lastPort - firstPort)
	for i := range lastPort - firstPort {
		port := firstPort + (first+i)%(lastPort-firstPort)
		release, err := reservePort(dir, port)
		if errors.Is(err, errPortTaken) {
			continue
		}
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release, err
	}
	return "", nil, fmt.Errorf("no port from %d to %d is free", firstPort, lastPort)
}

var errPortTaken = errors.New("the port is taken")

// reservePort locks the file of a port, which the kernel unlocks when the process ends, and checks that nothing listens
// on the port.
func reservePort(dir string, port int) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, errPortTaken
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		_ = f.Close()
		return nil, errPortTaken
	}
	return func() { _ = f.Close() }, l.Close()
}
