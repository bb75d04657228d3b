package app

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// It is not parallel: what others ask for would be taken for a busy server.
func TestMemoryIsGivenBackWhileItIsQuiet(t *testing.T) { //nolint:paralleltest // see above
	kept := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64() + s[1].Value.Uint64()
	}
	var q quiet
	leave := func(n int) {
		for range n {
			sink = make([]byte, 1<<20)
		}
		sink = nil
	}
	defer runtime.KeepAlive(make([]byte, 4*littleAsked)) // as the server's: the collector lets garbage be for a while
	runtime.GC()
	q.look() // from here on it is known what was asked for
	leave(5 * littleAsked >> 22)
	before := kept()
	q.look()
	if after := kept(); after < before/2 {
		t.Errorf("%d of %d bytes are left though it is busy", after, before)
	}
	leave(4 * worthReturning >> 20)
	before = kept()
	q.look()
	if after := kept(); after+worthReturning > before {
		t.Errorf("%d of %d bytes are left", after, before)
	}
}

// sink keeps the compiler from leaving allocations out.
var sink []byte
