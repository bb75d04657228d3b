package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestResidentMemoryIsReadFromTheStatusPage(t *testing.T) {
	t.Parallel()
	got, err := parseStatus([]byte("Name:\tcarrel\nVmPeak:\t 9 kB\nVmRSS:\t   20480 kB\nThreads:\t9\n"), "VmRSS:")
	if err != nil || got != 20<<20 {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := parseStatus([]byte("Name:\tcarrel\n"), "VmRSS:"); err == nil {
		t.Error("a page without VmRSS gave no error")
	}
}

func TestCPUTimeIsReadAfterAnUnusualProgramName(t *testing.T) {
	t.Parallel()
	own, waited, parent, err := parseStat([]byte("12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 30 20 20 0 9 0 100\n"))
	if err != nil || own != 2*time.Second || waited != time.Second/2 || parent != "1" {
		t.Errorf("%v, %v, %q, %v", own, waited, parent, err)
	}
	if _, _, _, err := parseStat([]byte("12")); err == nil {
		t.Error("garbage gave no error")
	}
}

func TestMetricIsFoundByItsWholeName(t *testing.T) {
	t.Parallel()
	page := []byte("# TYPE go_memstats_mallocs_total counter\ngo_memstats_mallocs_total_old " +
		"1\ngo_memstats_mallocs_total 1.5e+06\n")
	got, err := parseMetric(page, metricMallocs)
	if err != nil || got != 1.5e6 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseMetric(page, "go_other"); err == nil {
		t.Error("a missing metric gave no error")
	}
}

func TestProcessThatExitsImmediatelyIsReportedWithItsOutput(t *testing.T) {
	t.Parallel()
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "echo the disk is full >&2; exit 3")
	_, err = startProcess(t.Context(), "victim", filepath.Join(t.TempDir(), "log"), "http://"+addr+"/", cmd)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
}

func TestChildrenDoNotInheritTuning(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "CARREL_DATABASE"} {
		t.Setenv(name, "1")
	}
	env := cleanEnv("CARREL_RATE_LIMITS=off")
	for _, kv := range env {
		if strings.HasPrefix(kv, "GOGC=") || strings.HasPrefix(kv, "GOMEMLIMIT=") || strings.HasPrefix(kv, "GOMAXPROCS=") ||
			strings.HasPrefix(kv, "CARREL_DATABASE=") {
			t.Errorf("inherited %s", kv)
		}
	}
	if !slices.Contains(env, "CARREL_RATE_LIMITS=off") {
		t.Error("what was asked for is missing")
	}
}
