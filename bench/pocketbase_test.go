package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the children of a run, as bench itself is.
func TestMain(m *testing.M) {
	for _, child := range []func([]string) (bool, error){runPocketBase, runStandIn, runStandInPeers, runConstantServer} {
		if mine, err := child(os.Args[1:]); mine {
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

func TestAWholeShortRunAgainstPocketBase(t *testing.T) {
	t.Parallel()
	o := options{
		loadFlags: loadFlags{connections: 4, rounds: 2, duration: 300 * time.Millisecond},
		starts:    2, rows: 60, counted: 100, scenarios: scenarios,
	}
	rep, err := measure(t.Context(), runFlags{progress: t.Output()}, o,
		[]server{&pocketBase{dir: t.TempDir(), rows: o.rows}})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.results) != len(scenarios) {
		t.Fatalf("%d results", len(rep.results))
	}
	for _, res := range rep.results {
		if s := res.summaries[0]; s.requests == 0 || s.perSecond <= 0 || s.p99 < s.p50 || s.allocations < 1 {
			t.Errorf("%s: %+v", res.scenario.key, s)
		}
		if len(res.ratios) != 0 {
			t.Errorf("%s: a ratio with one server", res.scenario.key)
		}
	}
	if notes := strings.Join(rep.notes, "\n"); !strings.Contains(notes, "synchronous = NORMAL") {
		t.Errorf("notes: %s", notes)
	}
	if c := rep.contestants[0]; len(c.starts) != 2 || c.idle == 0 || c.loaded == 0 {
		t.Errorf("starts %v, idle %d, loaded %d", c.starts, c.idle, c.loaded)
	}
}

func TestPocketBaseWithoutATokenIsRefused(t *testing.T) {
	t.Parallel()
	// The rule of the collection must bite, or the run would not measure
	// authentication at all. PocketBase filters a list and hides a record.
	pb := &pocketBase{dir: t.TempDir(), rows: 60}
	if err := pb.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, err := pb.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer in.stop()
	pb.setup.Token = "not-a-token"
	for _, s := range scenarios {
		r, err := pb.request(in, s.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(t.Context(), in.addr, r, 1); err == nil {
			t.Errorf("%s: answered without a credential", s.key)
		}
	}
}
