// Package chaos kills, pauses and starves real servers under load, and then looks whether anything that was
// acknowledged is missing, was done twice, or never ended.
//
// The short form runs with all other tests. CHAOS=long (make chaos) is the long one; CHAOS_ROUNDS sets the number of
// rounds of either. Every run draws a seed and tells it; CHAOS_SEED sets it, for the same kills and the same load,
// as far as the machine plays along.
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
	// The tests wait for leases more than they work, so that more of them than there are cores go well together.
	// Given as a flag, -parallel still counts.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testkit.Main(cleaning{m})
}

// cleaning removes the program that the tests have built.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer func() { _ = os.RemoveAll(built.dir) }() // a courtesy
	return c.M.Run()
}

// built is the server under test, built by the first test that asks.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the server with scripted turns.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "carrel-chaos-*"); built.err != nil { //nolint:usetesting // it outlives the test
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

// long says that this is the long form.
func long() bool { return os.Getenv("CHAOS") == "long" }

// pick returns the size of something in the short or the long form.
func pick(short, lasting int) int {
	if long() {
		return lasting
	}
	return short
}

// rounds returns how many rounds a test goes.
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

// dice are random numbers for one goroutine.
type dice struct{ *rand.Rand }

// seeds returns a source of dice. What it draws depends on the seed and the names alone.
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

// between draws a duration.
func (d dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)+1))
}

// chance says yes so many times of a hundred.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// pause waits, or returns early when the test is over.
func pause(t *testing.T, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// await polls until something is so. The bound is generous: it is there to end the test, not to measure.
func await(t *testing.T, what string, bound time.Duration, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !is(); pause(t, 10*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", bound, what)
		}
	}
}
