package sqlite

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
)

// TestTemporaryBlocksKeepTheirPages checks that a block without neighbours does not cost a page fault, and so no system
// call, each time it is allocated.
func TestTemporaryBlocksKeepTheirPages(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := open(t, filepath.Join(t.TempDir(), "test.db"))
	const blocks = 1000
	for size := 16; size <= 16<<10; size *= 2 {
		before := pageFaults(t)
		for range blocks {
			block := libc.Xmalloc(c.tls, types.Size_t(size))
			bytesAt(block, size)[0] = 1
			libc.Xfree(c.tls, block)
		}
		if faults := pageFaults(t) - before; faults > blocks/10 {
			t.Errorf("%d page faults for %d blocks of %d bytes", faults, blocks, size)
		}
	}
}

// pageFaults returns the number of page faults of this thread that needed no disk.
func pageFaults(t *testing.T) int64 {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(1, &usage); err != nil { // RUSAGE_THREAD
		t.Fatal(err)
	}
	return usage.Minflt
}
