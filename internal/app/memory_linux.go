package app

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// releaseExecutable drops the pages of the program file that are mapped into memory. The start touches most of them,
// and the system keeps them until it needs memory. Those that are used again are mapped again from its cache.
func releaseExecutable() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // only read
	var start, end uintptr
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 6 && fields[5] == own && (fields[1] == "r-xp" || fields[1] == "r--p"):
			start, end = addresses(fields[0])
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"):
			start, end = 0, 0 // another mapping
		case len(fields) == 3 && fields[0] == "Anonymous:":
			// Pages that were changed, such as by relocation, could not be read from the file again.
			if end > start && fields[1] == "0" {
				//nolint:gosec // a mapping of this process, which is neither written nor kept
				pages := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), start)), end-start)
				_ = unix.Madvise(pages, unix.MADV_DONTNEED) // it only saves memory
			}
			start, end = 0, 0
		}
	}
}

// addresses parses the first field of a mapping, such as 00400000-018e0000.
func addresses(field string) (start, end uintptr) {
	from, to, _ := strings.Cut(field, "-")
	low, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return 0, 0
	}
	high, err := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil {
		return 0, 0
	}
	return uintptr(low), uintptr(high)
}
