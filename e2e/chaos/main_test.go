// Package chaos kills, pauses and starves real servers under load, and then checks that no acknowledged work is
// missing, was done twice, or never ended.
//
// The short form runs with all other tests. CHAOS=long (make chaos) selects the long form; CHAOS_ROUNDS sets the number
// of rounds. Every run logs its random seed; CHAOS_SEED repeats the kills and the load of a run, as far as timing
// allows.
package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func TestMain(m *testing.M) {
	// The tests mostly wait for leases, so more of them than there are cores run in parallel. The flag -parallel takes
	// precedence.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testkit.Main(cleaning{m})
}

// cleaning removes the program that the tests built.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer func() { _ = os.RemoveAll(built.dir) }() // best effort
	return c.M.Run()
}

// built is the server under test. The first test that needs it builds it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the server with scripted turns.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "carrel-chaos-*") //nolint:usetesting // it outlives the test
		if built.err != nil {
			return
		}
		cmd := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false",
			"-o", path(), "carrel/e2e/chaos/server")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build carrel/e2e/chaos/server: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return path()
}

func path() string { return filepath.Join(built.dir, "carrel") }

func long() bool { return os.Getenv("CHAOS") == "long" }

// pick returns the value for the short or the long form.
func pick(short, lasting int) int {
	if long() {
		return lasting
	}
	return short
}

// rounds returns the number of rounds of a test.
func rounds(t *testing.T, short, lasting int) int {
	t.Helper()
	if set := os.Getenv("CHAOS_ROUNDS"); set != "" {
		n, err := strconv.Atoi(set)
		if err != nil {
			t.Fatalf("CHAOS_ROUNDS: %v", err)
		}
		return n
	}
	return pick(short, lasting)
}

// dice is a random number generator for one goroutine.
type dice struct{ *rand.Rand }

// seeds returns a source of dice. The numbers depend only on the seed and the names.
func seeds(t *testing.T) func(name string) dice {
	t.Helper()
	seed := rand.Uint64()
	if set := os.Getenv("CHAOS_SEED"); set != "" {
		var err error
		if seed, err = strconv.ParseUint(set, 10, 64); err != nil {
			t.Fatalf("CHAOS_SEED: %v", err)
		}
	}
	t.Logf("CHAOS_SEED=%d", seed)
	return func(name string) dice {
		stream := uint64(14695981039346656037) // FNV-1a
		for _, b := range []byte(name) {
			stream = (stream ^ uint64(b)) * 1099511628211
		}
		return dice{rand.New(rand.NewPCG(seed, stream))}
	}
}

func (d dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)+1))
}

// chance returns true with a probability in percent.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// pause sleeps, or returns early when the test ends.
func pause(t *testing.T, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// await polls until a condition holds. The timeout is generous: it ends a hanging test and measures nothing.
func await(t *testing.T, what string, bound time.Duration, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !is(); pause(t, 10*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", bound, what)
		}
	}
}
