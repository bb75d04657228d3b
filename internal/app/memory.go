package app

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// gcPercent lets the heap grow by half of the live heap, at least 24 MB with the ballast, before the collector runs.
// During a large import this saves about 80 MB compared with the default of 100.
const gcPercent = 50

// TuneGC sets up the garbage collector for a server. The caller keeps the result alive while the server runs.
//
// The result is 48 MB of ballast that is never written and so occupies no physical memory. It counts as live, which
// keeps the collector from running every few megabytes while the heap is small (a tenth of the work under load). A
// block that reuses freed memory is cleared by the runtime and becomes resident, so TuneGC is called before anything
// else allocates, and the ballast consists of many blocks.
func TuneGC() (ballast [][]byte) {
	debug.SetGCPercent(-1) // the ballast would start collections
	ballast = make([][]byte, 48)
	for i := range ballast {
		ballast[i] = make([]byte, 1<<20)
	}
	debug.SetGCPercent(gcPercent)
	return ballast
}

// Memory is returned to the system if at least minReturn bytes are unused and at most maxAllocated bytes were allocated
// since the last check. A busy server would need the memory again at once.
const (
	minReturn    = 8 << 20
	maxAllocated = 256 << 20
	// minAllocated is far less than a request for an answer allocates, and more than a server without requests.
	minAllocated = 1 << 20
)

// memoryReturner returns unused memory to the system while the server is idle. The garbage collector runs only when the
// program allocates, so garbage left by a burst (an import, a thousand connecting clients) would stay for hours.
type memoryReturner struct {
	allocated uint64
}

// check returns unused memory if the server is idle, and the pages of the program that it may not need again.
func (m *memoryReturner) check() {
	const allocated, objects, live, free = 0, 1, 2, 3
	s := []metrics.Sample{
		allocated: {Name: "/gc/heap/allocs:bytes"},
		objects:   {Name: "/memory/classes/heap/objects:bytes"},
		live:      {Name: "/gc/heap/live:bytes"},
		free:      {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	since := s[allocated].Value.Uint64() - m.allocated
	m.allocated = s[allocated].Value.Uint64()
	garbage := max(s[objects].Value.Uint64(), s[live].Value.Uint64()) - s[live].Value.Uint64()
	if since < maxAllocated && garbage+s[free].Value.Uint64() > minReturn {
		// Each collection halves mostly empty stacks; the stacks of waiting clients grew when they connected.
		for range 2 {
			runtime.GC()
		}
		debug.FreeOSMemory()
	}
	if since < maxAllocated && since > minAllocated {
		releaseExecutable()
	}
}
