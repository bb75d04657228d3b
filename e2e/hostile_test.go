package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/internal/testkit/hostile"
)

// envHostile uploads every hostile file; without it only those that reach a limit of the whole server.
const envHostile = "CARREL_HOSTILE"

// usage is the resource use of a process: current and peak memory in bytes, and CPU time.
type usage struct {
	rss, most int64
	cpu       time.Duration
}

// usageOf reads the resource use from /proc, where that exists.
func usageOf(t *testing.T, pid int) (u usage, known bool) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	stat, statErr := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || statErr != nil {
		t.Log("memory and CPU are not measured: there is no /proc here")
		return u, false
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64) // other lines have no number
		switch name {
		case "VmRSS":
			u.rss = kb << 10
		case "VmHWM":
			u.most = kb << 10
		}
	}
	// The program name is in parentheses and may contain anything; user and system time are 12 and 13 fields after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, f := range fields[11:13] {
		ticks, _ := strconv.ParseInt(f, 10, 64) // the kernel writes numbers
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	return u, true
}

// upload adds a file to a new source and returns the path of the source.
func (w *installation) upload(t *testing.T, name string, content []byte) string {
	t.Helper()
	one := w.below("/sources") + "/" +
		w.do(t, "POST", w.below("/sources"), fmt.Sprintf(`{"name": %q, "language": "en"}`, name)).text("source", "id")
	body, kind := form(name, string(content))
	w.send(t, call{method: "POST", path: one + "/files", body: body, key: w.key}.with("Content-Type", kind), http.StatusOK)
	return one
}

// imported waits for the end of a source's import and returns it.
func (w *installation) imported(t *testing.T, one string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		got := w.do(t, "GET", one, "")
		if state := got.text("source", "import", "state"); state != "queued" && state != "running" {
			return got
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("the import of %s does not end", one)
	return reply{}
}

// reasonOf returns the reason why a file was refused, as the web app shows it.
func reasonOf(got reply) string { return got.text("source", "import", "errors", 0, "reason") }

// TestHostileUploadsReportTheLimitTheyExceed uploads hostile files to a real server. With CARREL_HOSTILE set it uploads
// all of them and prints the cost of each.
func TestHostileUploadsReportTheLimitTheyExceed(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	for _, c := range hostile.Cases() {
		if c.File != "newlines.zip" && os.Getenv(envHostile) == "" {
			continue
		}
		data := c.Make()
		before, _ := usageOf(t, w.server.PID())
		got := w.imported(t, w.upload(t, c.File, data))
		after, known := usageOf(t, w.server.PID())
		errors := fmt.Sprint(got.at("source", "import", "errors"))
		if known {
			t.Logf("%-55s %9d bytes  CPU %6.2fs  RSS %4d MiB, at most %4d MiB  %.160s", c.Name, len(data),
				(after.cpu - before.cpu).Seconds(),
				after.rss>>20, after.most>>20, errors)
		}
		if c.File == "newlines.zip" && reasonOf(got) != "The file unpacks to more than 256 MiB, the limit for its size; "+
			"split it, or ask the operator to raise the setting import-unpacked-mib." {
			t.Errorf("the reason is %q", reasonOf(got))
		}
		if c.Want != "" && !strings.Contains(c.Want, "|") && !strings.Contains(errors, c.Want) &&
			got.at("source", "import", "failed") == 0.0 {
			t.Errorf("%s: want %q, got %s", c.Name, c.Want, errors)
		}
	}
}

// TestFourHostileFilesAtOnceUseLittleMemory limits the memory of a server that reads four of them at the same time.
func TestFourHostileFilesAtOnceUseLittleMemory(t *testing.T) {
	t.Parallel()
	const most = 300 << 20
	files := map[string][]byte{
		"glyphs.pdf": hostile.Glyphs(), "heavy.pdf": hostile.Heavy(),
		"large.pdf": hostile.Large(), "objects.pdf": hostile.Objects(),
		"items.md": hostile.Items(),
	}
	for name, same := range files {
		w := newLibrary(t, testkit.ServerOptions{Env: []string{"CARREL_IMPORTS_PER_USER=4", "CARREL_IMPORTS_PER_NODE=4"}})
		before, known := usageOf(t, w.server.PID())
		if !known {
			t.Skip("memory can't be measured: there is no /proc here")
		}
		var sources [4]string
		var together sync.WaitGroup
		for i := range sources {
			together.Go(func() { sources[i] = w.upload(t, fmt.Sprint(i, "-", name), same) })
		}
		together.Wait()
		for _, one := range sources {
			w.imported(t, one)
		}
		after, _ := usageOf(t, w.server.PID())
		t.Logf("four times %-12s (%7d bytes): RSS %d to at most %d MiB, CPU %.2fs", name, len(same), before.rss>>20,
			after.most>>20, (after.cpu - before.cpu).Seconds())
		if after.most-before.rss > most {
			t.Errorf("four times %s: memory grew by %d MiB", name, (after.most-before.rss)>>20)
		}
		w.server.Stop()
	}
}
