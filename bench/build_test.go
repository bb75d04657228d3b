package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestActionsOfABuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "graph.json")
	graph := `[
		{"Mode":"build","Package":"a","Cmd":["compile","asm"],"CmdUser":1500000000,"CmdSys":500000000},
		{"Mode":"build","Package":"b","Cmd":["compile"],"CmdUser":3000000000},
		{"Mode":"build","Package":"cached"},
		{"Mode":"link","Package":"b","Cmd":["link"],"CmdUser":5000000000}]`
	if err := os.WriteFile(path, []byte(graph), 0o600); err != nil {
		t.Fatal(err)
	}
	actions, err := readActions(path)
	if err != nil {
		t.Fatal(err)
	}
	packages := [][]string{{"b", "3.0 s", "30.0 %"}, {"a", "2.0 s", "20.0 %"}}
	if got := slowest(actions).rows; !slices.EqualFunc(got, packages, slices.Equal) {
		t.Errorf("slowest packages: %v, want %v", got, packages)
	}
	totals := buildTotals(actions, 3*time.Minute).rows
	want := [][]string{
		{"cold build", "180.0 s", "≤ 120.0 s", "NOT met"},
		{"processor time of 2 packages", "5.0 s", "", ""},
		{"processor time of the linker", "5.0 s", "", ""},
	}
	if !slices.EqualFunc(totals, want, slices.Equal) {
		t.Errorf("totals: %v, want %v", totals, want)
	}
	if err := os.WriteFile(path, []byte(`[{"Mode":"build","Package":"cached"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readActions(path); err == nil {
		t.Error("a build from the cache was accepted")
	}
}
