package app

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Memory is given back when this much of it is kept for nothing, and when no more than that was asked for since the last
// look: whoever is busy needs it again at once, and to collect it takes time from them.
const (
	worthReturning = 8 << 20
	littleAsked    = 256 << 20
)

// quiet gives memory back to the system while little happens. The collector runs when there is something to do; after a
// burst (an import, a thousand clients that connect) what it has left behind would stay for hours.
type quiet struct {
	asked uint64
}

// look gives back what is not needed, if it is quiet.
func (q *quiet) look() {
	const asked, objects, live, free = 0, 1, 2, 3
	s := []metrics.Sample{
		asked:   {Name: "/gc/heap/allocs:bytes"},
		objects: {Name: "/memory/classes/heap/objects:bytes"},
		live:    {Name: "/gc/heap/live:bytes"},
		free:    {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	since := s[asked].Value.Uint64() - q.asked
	q.asked = s[asked].Value.Uint64()
	garbage := max(s[objects].Value.Uint64(), s[live].Value.Uint64()) - s[live].Value.Uint64()
	if since < littleAsked && garbage+s[free].Value.Uint64() > worthReturning {
		// Each collection halves the stacks that are mostly empty: those of clients that wait were large when they came.
		for range 2 {
			runtime.GC()
		}
		debug.FreeOSMemory()
	}
}
