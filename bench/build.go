package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	coldBuildTarget = 2 * time.Minute
	// slowestPackages is the number of packages in the report.
	slowestPackages = 10
)

// buildSettings are the flags of `bench build`.
type buildSettings struct {
	runFlags
	source  string
	program string
}

func parseBuild(args []string) (*buildSettings, error) {
	s := &buildSettings{}
	s.withoutCarrel = true
	f := s.newFlags("bench build", "")
	f.StringVar(&s.source, "source", "..", "`folder` of the source, such as a clone of another version")
	f.StringVar(&s.program, "package", "./cmd/carrel", "the `package` to build")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	if !strings.HasPrefix(s.program, "./") {
		return s, errors.New("--package must start with ./, such as ./cmd/carrel")
	}
	return s, nil
}

// buildAction is an action of the go command, as -debug-actiongraph prints it. Cmd lists the commands that it ran; it
// is empty if the result came from the cache.
type buildAction struct {
	Mode    string
	Package string
	Cmd     []string
	CmdUser time.Duration
	CmdSys  time.Duration
}

func (a buildAction) cpu() time.Duration { return a.CmdUser + a.CmdSys }

// measureBuild builds Carrel with an empty build cache. The modules are downloaded before.
func measureBuild(ctx context.Context, s *buildSettings, dir string) (page, error) {
	when := time.Now()
	goCommand := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = s.source
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOCACHE="+filepath.Join(dir, "cache"))
		cmd.Stderr = s.progress
		return cmd
	}
	fmt.Fprintln(s.progress, "downloading modules…")
	if err := goCommand("mod", "download").Run(); err != nil {
		return page{}, fmt.Errorf("go mod download: %w", err)
	}
	fmt.Fprintln(s.progress, "building with an empty cache…")
	graph, program := filepath.Join(dir, "graph.json"), filepath.Join(dir, "program")
	build := goCommand("build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-debug-actiongraph", graph,
		"-o", program, s.program)
	start := time.Now()
	if err := build.Run(); err != nil {
		return page{}, fmt.Errorf("go build: %w", err)
	}
	took := time.Since(start)
	actions, err := readActions(graph)
	if err != nil {
		return page{}, err
	}
	var size string
	if info, err := os.Stat(program); err == nil { // absent if the package is not a program
		size = "; the program has " + megabytes(info.Size())
	}
	return newPage("Building with an empty cache",
		s.conditions(when, "`go build` with CGO_ENABLED=0, after the modules were downloaded"+size+"."),
		buildTotals(actions, took), slowest(actions)), nil
}

// readActions returns the actions that ran a command.
func readActions(path string) ([]buildAction, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var actions []buildAction
	if err := json.Unmarshal(data, &actions); err != nil {
		return nil, fmt.Errorf("the graph of the go command: %w", err)
	}
	actions = slices.DeleteFunc(actions, func(a buildAction) bool { return len(a.Cmd) == 0 })
	if len(actions) == 0 {
		return nil, errors.New("the go command ran no compiler: the cache was not empty")
	}
	return actions, nil
}

// buildTotals has the time of the build, and the processor time of compiling and linking.
func buildTotals(actions []buildAction, took time.Duration) table {
	var compiling, linking time.Duration
	packages := 0
	for _, a := range actions {
		if a.Mode == "link" {
			linking += a.cpu()
			continue
		}
		compiling += a.cpu()
		packages++
	}
	t := newTargetTable()
	t.addTarget("cold build", seconds(took), "≤ "+seconds(coldBuildTarget), took <= coldBuildTarget)
	t.rows = append(t.rows,
		[]string{fmt.Sprintf("processor time of %d packages", packages), seconds(compiling), "", ""},
		[]string{"processor time of the linker", seconds(linking), "", ""})
	return t
}

// slowest has the packages that took the most processor time.
func slowest(actions []buildAction) table {
	var all time.Duration
	byPackage := map[string]time.Duration{}
	for _, a := range actions {
		all += a.cpu()
		if a.Mode != "link" {
			byPackage[a.Package] += a.cpu()
		}
	}
	names := make([]string, 0, len(byPackage))
	for name := range byPackage {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(byPackage[b], byPackage[a]), cmp.Compare(a, b))
	})
	t := table{
		title: fmt.Sprintf("The %d slowest packages", min(slowestPackages, len(names))),
		head:  []string{"package", "processor time", "of the build"},
	}
	for _, name := range names[:min(slowestPackages, len(names))] {
		cpu := byPackage[name]
		t.rows = append(t.rows, []string{name, seconds(cpu), fmt.Sprintf("%.1f %%", 100*cpu.Seconds()/all.Seconds())})
	}
	return t
}

// seconds formats a duration of a build.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
