package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestLoadClosesItsFiles is not parallel, because it counts the files of the process.
func TestLoadClosesItsFiles(t *testing.T) {
	addr := rawServer(t, func(c net.Conn) bool {
		_, err := c.Write(constantReply)
		return err == nil
	})
	openFiles := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := openFiles()
	for round := range 20 {
		l := getLoad(addr, anyBody)
		if round%2 == 1 {
			l.request.status = http.StatusTeapot
		}
		if _, err := l.run(t.Context()); (err != nil) != (round%2 == 1) {
			t.Fatal(err)
		}
	}
	// The server closes its side a moment later.
	for wait := time.Now(); openFiles() > before && time.Since(wait) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	if after := openFiles(); after > before {
		t.Errorf("%d files are open, %d before the load", after, before)
	}
}

func startConstantServer(b *testing.B, work time.Duration) (addr string) {
	b.Helper()
	cmd := exec.Command(os.Args[0], constantServerArg, work.String())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func ownUsage(b *testing.B) (u syscall.Rusage) {
	b.Helper()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}

// BenchmarkClientCPUTime measures the CPU time of the client per request. A slower server leaves the client fewer
// replies at a time, and makes it wait more often.
func BenchmarkClientCPUTime(b *testing.B) {
	for _, tc := range []struct {
		connections int
		work        time.Duration
	}{{1, 0}, {32, 0}, {1, 50 * time.Microsecond}, {32, 50 * time.Microsecond}} {
		b.Run(fmt.Sprintf("connections=%d/work=%v", tc.connections, tc.work), func(b *testing.B) {
			addr := startConstantServer(b, tc.work)
			l := load{
				addr: addr, connections: tc.connections, duration: time.Minute, maxRequests: uint64(b.N),
				request: repeatGet(addr, "/", "token", anyBody), counter: new(atomic.Uint64),
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := ownUsage(b)
			if _, err := l.run(b.Context()); err != nil {
				b.Fatal(err)
			}
			after := ownUsage(b)
			for unit, ns := range map[string]int64{
				"client-user-ns/op":   after.Utime.Nano() - before.Utime.Nano(),
				"client-system-ns/op": after.Stime.Nano() - before.Stime.Nano(),
			} {
				b.ReportMetric(float64(ns)/float64(b.N), unit)
			}
			b.ReportMetric(float64(after.Nvcsw-before.Nvcsw)/float64(b.N), "waits/op")
		})
	}
}
