package format

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/format/budget"
	"carrel/internal/testkit/hostile"
)

const (
	// hostileFile names the file that a child process of the test reads; hostileFull selects the default limits.
	hostileFile = "CARREL_TEST_HOSTILE_FILE"
	hostileFull = "CARREL_TEST_HOSTILE_FULL"
	// hostileHeap is twice the memory limit of one document, because garbage counts as well.
	hostileHeap = 320 << 20
	// hostileCPU is a backstop far above what any file needs on an idle machine; the work counters are the actual
	// limit.
	hostileCPU = 2 * time.Minute
)

// hostileLimits are small, so that the suite is quick under the race detector.
var hostileLimits = budget.Limits{
	Unpacked: 48 << 20, Entries: 100_000, Depth: 4, Work: 80e6, Memory: 160 << 20, Time: time.Hour,
}

// hostileResult is the outcome of a hostile file.
type hostileResult struct {
	Documents int
	Text      int
	Reasons   []string
	Used      budget.Usage
	Heap      uint64
	CPU       time.Duration
}

// readHostile reads a file with the server's settings and prints the outcome.
func readHostile(path string) {
	debug.SetGCPercent(50) // as the server sets it
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := cpuTime()
	limits := hostileLimits
	if os.Getenv(hostileFull) != "" {
		limits = budget.Default
	}
	var r hostileResult
	note := func(err error) {
		if told, is := errors.AsType[*core.Error](err); is {
			err = errors.New(told.Detail)
		}
		if len(r.Reasons) == 3 {
			r.Reasons = r.Reasons[:2] // the first two and the last are enough
		}
		r.Reasons = append(r.Reasons, err.Error())
	}
	library, err := OpenWithin(context.Background(), path, Limits{Limits: limits, Pool: budget.NewPool(limits.Memory)})
	if err != nil {
		note(err)
	} else {
		library.spent = func(u budget.Usage) { r.Used = u }
		for d, err := range library.Documents(context.Background(), nil) {
			if err != nil {
				note(err)
				continue
			}
			r.Documents++
			r.Text += len(d.Text)
		}
	}
	runtime.ReadMemStats(&after)
	r.Heap, r.CPU = after.HeapSys-min(before.HeapSys, after.HeapSys), cpuTime()-began
	_ = json.NewEncoder(os.Stdout).Encode(r) // the parent notices a missing result
}

// inChild reads a file in its own process, so that memory can be measured.
func inChild(t *testing.T, path string) (r hostileResult) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), hostileFile+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	return r
}

func TestHostileFilesAreRefusedWithinTheirBudget(t *testing.T) {
	t.Parallel()
	limits := hostileLimits
	if os.Getenv(hostileFull) != "" {
		limits = budget.Default
	}
	for _, c := range hostile.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			data := c.Make()
			path := filepath.Join(t.TempDir(), c.File)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			r := inChild(t, path)
			t.Logf("%-55s %8d bytes  CPU %5.2fs  heap %3d MiB  unpacked %4d MiB  steps %5d M (%4.1f ns)  held %3d MiB  %d "+
				"documents  %.150q", c.Name, len(data), r.CPU.Seconds(),
				r.Heap>>20, r.Used.Unpacked>>20, r.Used.Work/1e6,
				float64(r.CPU.Nanoseconds())/float64(r.Used.Work+1), r.Used.Memory>>20, r.Documents, strings.Join(r.Reasons, " | "))
			if reasons := strings.Join(
				r.Reasons, "\n",
			); !slices.ContainsFunc(strings.Split(c.Want, "|"), func(want string) bool {
				return strings.Contains(reasons, want)
			}) {
				t.Errorf("want %q, got %.300q", c.Want, r.Reasons)
			}
			full := os.Getenv(hostileFull) != ""
			if read := c.Want == "" ||
				full && strings.HasPrefix(c.Want, "|"); read && (r.Documents == 0 || r.Text > 6<<20) {
				t.Errorf("%d documents with %d bytes of text came of it", r.Documents, r.Text)
			}
			// A file that exceeds a limit has overspent by one step at most.
			size := int64(len(data))
			const step = 64 << 20
			if most := max(limits.Unpacked, 20*size) + step; r.Used.Unpacked > most {
				t.Errorf("unpacked %d bytes of %d", r.Used.Unpacked, most)
			}
			if most := limits.Work + 1008*size + step*workXML; r.Used.Work > most {
				t.Errorf("took %d steps of %d", r.Used.Work, most)
			}
			if r.Used.Memory > limits.Memory+step || r.Heap > hostileHeap {
				t.Errorf("held %d MiB, and the heap grew by %d MiB", r.Used.Memory>>20, r.Heap>>20)
			}
			if r.CPU > hostileCPU {
				t.Errorf("took %s of CPU", r.CPU)
			}
		})
	}
}
