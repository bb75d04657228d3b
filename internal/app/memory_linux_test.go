package app

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// fileMemory returns the resident bytes of mapped files.
func fileMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// Not parallel: other tests would map pages again.
func TestPagesOfTheProgramAreReleased(t *testing.T) { //nolint:paralleltest // see above
	before := fileMemory(t)
	releaseExecutable()
	after := fileMemory(t)
	if after > before-4<<20 {
		t.Errorf("%d bytes of files are in memory after %d", after, before)
	}
	// Code and constants are read from the file again.
	if text := strings.ToUpper(strconv.Quote("still running\n")); text != `"STILL RUNNING\N"` {
		t.Errorf("read %s", text)
	}
}
