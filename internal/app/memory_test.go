package app

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// Not parallel: allocations of other tests would count as a busy server.
func TestUnusedMemoryIsReturnedWhileIdle(t *testing.T) { //nolint:paralleltest // see above
	kept := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64() + s[1].Value.Uint64()
	}
	var m memoryReturner
	leave := func(n int) {
		for range n {
			sink = make([]byte, 1<<20)
		}
		sink = nil
	}
	defer runtime.KeepAlive(make([]byte, 4*maxAllocated)) // a ballast like the server's delays the collector
	runtime.GC()
	m.check() // sets the baseline
	leave(5 * maxAllocated >> 22)
	before := kept()
	m.check()
	if after := kept(); after < before/2 {
		t.Errorf("a busy server kept only %d of %d bytes", after, before)
	}
	leave(4 * minReturn >> 20)
	before = kept()
	m.check()
	if after := kept(); after+minReturn > before {
		t.Errorf("%d of %d bytes were kept", after, before)
	}
}

// sink keeps the compiler from removing allocations.
var sink []byte
