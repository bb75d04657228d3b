package testkit

import (
	"errors"
	"net"
	"strconv"
	"testing"
)

func TestAReservedPortIsNotReservedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	addr := ReserveAddr(t)
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < firstPort || port >= lastPort {
		t.Fatalf("the port is %s, %v", text, err)
	}
	release, err := reservePort(dir, port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reservePort(dir, port); !errors.Is(err, errPortTaken) {
		t.Errorf("a reserved port is reserved again: %v", err)
	}
	release()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := reservePort(dir, port); !errors.Is(err, errPortTaken) {
		t.Errorf("a port in use is reserved: %v", err)
	}
}
