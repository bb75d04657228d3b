// Command bench compares Carrel with similar software in one run on one machine,
// with the same client, in alternating rounds:
//
//   - bench requests (the default): requests, with PocketBase
//   - bench turns: durable turns, with River and DBOS
//   - bench tokens: the OAuth token endpoint, with oidc-provider
//   - bench mcp: the MCP endpoint, with a minimal server of its SDK
//   - bench agent: the time of an answer
//   - bench check: the time to check a text, with searches for its sentences
//   - bench ingest: imports, with SQLite FTS5
//   - bench search: search, with Bleve and SQLite FTS5
//   - bench eval: the quality of search results
//   - bench growth: the cost of operations by the size of the data
//   - bench mixed: the times of many users at once, also during imports, with PocketBase
//   - bench soak: memory, files and tables of a server that is used for an hour
//
// See README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// runTimeout ends a run that hangs.
const runTimeout = 20 * time.Minute

func main() {
	if mine, err := runPocketBase(os.Args[1:]); mine {
		exitOn(err)
		return
	}
	if mine, err := runBareMCP(os.Args[1:]); mine {
		exitOn(err)
		return
	}
	// Children are killed when the thread that started them ends (see dieWithParent), and only the main thread lives
	// as long as the program.
	runtime.LockOSThread()
	exitOn(run(os.Args[1:]))
}

// run runs the comparison named by the first argument, by default requests.
func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "agent":
			return compare(args[1:], parseAgent, measureAgent)
		case "check":
			return compare(args[1:], parseCheck, measureCheck)
		case "build":
			return compare(args[1:], parseBuild, measureBuild)
		case "growth":
			return compare(args[1:], parseGrowth, measureGrowth)
		case "ingest":
			return compare(args[1:], parseIngest, measureIngest)
		case "mcp":
			return compare(args[1:], parseMCP, measureMCP)
		case "mixed":
			return compare(args[1:], parseMixed, measureMixed)
		case "soak":
			return compare(args[1:], parseSoak, measureSoak)
		case "tokens":
			return compare(args[1:], parseTokens, measureTokens)
		case "turns":
			return compare(args[1:], parseTurns, measureTurns)
		case "search":
			return runSearch(args[1:])
		case "eval":
			return runSearch(args)
		case "requests":
			args = args[1:]
		}
	}
	return compare(args, parse, measureRequests)
}

func exitOn(err error) {
	if code := exitCode(0); errors.As(err, &code) {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the flags of `bench requests`.
type settings struct {
	runFlags
	options
	only string
}

func parse(args []string) (*settings, error) {
	s := &settings{options: options{counted: 3000}}
	var picked string
	f := s.newFlags("bench", "; a durable create measures its disk")
	s.register(f, loadFlags{32, 20, 500 * time.Millisecond}, "keep-alive connections")
	f.StringVar(&s.only, "only", "", "measure one `server` only: carrel or pocketbase")
	f.StringVar(&picked, "scenarios", "list,read,create", "the `scenarios` to run")
	f.IntVar(&s.starts, "starts", 10, "number of starts to measure the start time")
	f.IntVar(&s.rows, "rows", 300, "rows in each collection before the run")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	s.withoutCarrel = s.only == "pocketbase"
	for _, sc := range scenarios {
		if slices.Contains(strings.Split(picked, ","), sc.key) {
			s.scenarios = append(s.scenarios, sc)
		}
	}
	switch {
	case len(s.scenarios) != len(strings.Split(picked, ",")):
		return s, errors.New("--scenarios takes list, read, create, separated by commas")
	case s.only != "" && s.only != "carrel" && s.only != "pocketbase":
		return s, errors.New("--only takes carrel or pocketbase")
	case s.starts < 1 || s.starts > 100:
		return s, errors.New("--starts must be 1 to 100")
	case s.rows < pageSize || s.rows > 100_000:
		return s, fmt.Errorf("--rows must be %d to 100000: a list has %d", pageSize, pageSize)
	}
	return s, s.check(1000, time.Minute)
}

// measureRequests compares requests with PocketBase.
func measureRequests(ctx context.Context, s *settings, dir string) (page, error) {
	rep, err := measure(ctx, s.runFlags, s.options, s.servers(dir))
	if err != nil {
		return page{}, err
	}
	return rep.page(), nil
}

// printReport measures and prints the report. A missed target is not an error: on a
// busy machine it would fail builds at random.
func printReport(run *runFlags, measure func(ctx context.Context, dir string) (page, error)) error {
	// The temporary folder is removed before printing, because a reader that closes
	// the pipe ends the program.
	p, err := inFolder(run.dir, cmp.Or(run.timeout, runTimeout), measure)
	if err != nil {
		return err
	}
	if run.markdown != "" {
		if err := writeMarkdownFile(p, run.markdown); err != nil {
			return err
		}
	}
	return p.writeText(os.Stdout)
}

// inFolder measures in a temporary folder, within the timeout.
func inFolder(
	parent string, timeout time.Duration, measure func(ctx context.Context, dir string) (page, error),
) (p page, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	dir, err := os.MkdirTemp(parent, "carrel-bench-")
	if err != nil {
		return page{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return page{}, err
	}
	p, err = measure(ctx, dir)
	if warning := volatileDisk(dir); warning != "" {
		p.conditions = append(p.conditions, warning)
	}
	return p, err
}

// servers returns the servers to measure. Carrel is first: ratios divide the first
// by the second.
func (s *settings) servers(dir string) []server {
	var out []server
	if s.only != "pocketbase" {
		out = append(out, &carrel{binary: s.carrel, dir: dir, rows: s.rows})
	}
	if s.only != "carrel" {
		out = append(out, &pocketBase{dir: dir, rows: s.rows})
	}
	return out
}

// carrelBinary returns the absolute path of the binary.
func carrelBinary(path string) (string, error) {
	binary, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("no Carrel binary (build it with `make build`, or name it with --carrel): %w", err)
	}
	return binary, nil
}

func writeMarkdownFile(p page, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(p.writeMarkdown(f), f.Close())
}
