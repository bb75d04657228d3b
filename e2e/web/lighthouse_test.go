package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"carrel/internal/testkit"
)

// lighthouseRuns is the number of runs per page. Performance varies between runs; the median counts.
const lighthouseRuns = "5"

// goodPerformance is the target of the median. It is only printed, because on a busy machine it measures the machine.
const goodPerformance = 90

// TestLighthouse audits the sign-in and chat pages with Lighthouse. Only make lighthouse runs it.
func TestLighthouse(t *testing.T) {
	t.Parallel()
	if os.Getenv("CARREL_WEB_LIGHTHOUSE") == "" {
		t.Skip("pages are judged by make lighthouse")
	}
	testkit.SkipUnless(t, "chromium")
	const clients = "../clients"
	if _, err := os.Stat(clients + "/node_modules/.bin/node"); err != nil {
		t.Fatal("the clients are not installed: make setup")
	}
	cmd := exec.CommandContext(t.Context(), "node_modules/.bin/node", "lighthouse.mjs", lighthouseRuns, "/sign-in", "/chat")
	cmd.Dir, cmd.Env, cmd.Stderr = clients, webEnv(t), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("lighthouse: %v\n%s", err, out)
	}
	pages := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); pages++ {
		var page struct {
			Path          string   `json:"path"`
			Performance   int      `json:"performance"`
			Accessibility int      `json:"accessibility"`
			BestPractices int      `json:"best-practices"`
			Runs          []int    `json:"runs"`
			Failed        []string `json:"failed"`
		}
		if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		t.Logf("%-9s accessibility %d, best practices %d, performance %d (median of %v; %d or more is good)",
			page.Path, page.Accessibility, page.BestPractices, page.Performance, page.Runs, goodPerformance)
		if page.Accessibility < 100 || page.BestPractices < 100 {
			t.Errorf("%s: %q", page.Path, page.Failed)
		}
	}
	if pages != 2 {
		t.Errorf("%d pages were judged, want 2", pages)
	}
}

// TestScrolling scrolls a long thread and prints the lengths of the long tasks. Only make scrolling runs it.
func TestScrolling(t *testing.T) {
	t.Parallel()
	if os.Getenv("CARREL_WEB_SCROLLING") == "" {
		t.Skip("a long thread is scrolled by make scrolling")
	}
	testkit.SkipUnless(t, "node", "chromium")
	cmd := exec.CommandContext(t.Context(), "node", "e2e/scrolling.mjs")
	cmd.Dir, cmd.Env = "../../web", webEnv(t)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("scrolling: %v", err)
	}
}
