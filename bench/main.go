// Command bench puts Carrel beside its peers on the machine it runs on: the same
// requests, the same client, in turns, in one run. `bench` or `bench requests`
// compares requests with PocketBase, `bench turns` durable turns with River and
// DBOS, `bench tokens` the token endpoint with oidc-provider, `bench mcp` the MCP endpoint with a bare server of its SDK, `bench agent` times answers, `bench ingest` how sources are filled, `bench search` compares search with Bleve and SQLite FTS5, and `bench eval` judges
// its answers. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
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

// runTimeout ends a run in which something hangs.
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
	// Children die with the thread that started them (see dieWithParent), and
	// only the main thread lives as long as the program.
	runtime.LockOSThread()
	exitOn(run(os.Args[1:]))
}

// run makes one of the comparisons.
func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "agent":
			return runAgent(args[1:])
		case "ingest":
			return runIngest(args[1:])
		case "mcp":
			return runMCP(args[1:])
		case "tokens":
			return runTokens(args[1:])
		case "turns":
			return runTurns(args[1:])
		case "search":
			return runSearch(args[1:])
		case "eval":
			return runSearch(args)
		case "requests":
			return runRequests(args[1:])
		}
	}
	return runRequests(args)
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

// settings are the flags.
type settings struct {
	options
	carrel   string
	only     string
	markdown string
	dir      string
}

func parse(args []string) (settings, error) {
	s := settings{options: options{progress: os.Stderr, counted: 3000, busy: loadAverage()}}
	var picked string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&s.carrel, "carrel", "../bin/carrel", "the built Carrel `binary`")
	f.StringVar(&s.only, "only", "", "measure one `server` alone: carrel or pocketbase")
	f.StringVar(&picked, "scenarios", "list,read,create", "which `scenarios` to run")
	f.IntVar(&s.connections, "connections", 32, "keep-alive connections")
	f.IntVar(&s.rounds, "rounds", 20, "rounds per scenario and server")
	f.DurationVar(&s.duration, "duration", 500*time.Millisecond, "length of a round")
	f.IntVar(&s.starts, "starts", 10, "how often each server is started for the start time")
	f.IntVar(&s.rows, "rows", 300, "rows in each collection before the run")
	f.StringVar(&s.markdown, "markdown", "", "also write the report to this Markdown `file`")
	f.StringVar(&s.dir, "dir", "", "`folder` for the temporary data (default: the system's); a durable create measures its disk")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	for _, sc := range scenarios {
		if slices.Contains(strings.Split(picked, ","), sc.key) {
			s.scenarios = append(s.scenarios, sc)
		}
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case len(s.scenarios) != len(strings.Split(picked, ",")):
		return s, errors.New("--scenarios takes list, read, create, separated by commas")
	case s.only != "" && s.only != "carrel" && s.only != "pocketbase":
		return s, errors.New("--only takes carrel or pocketbase")
	case s.connections < 1 || s.connections > 1000 || s.rounds < 1 || s.rounds > 100 || s.starts < 1 || s.starts > 100:
		return s, errors.New("--connections must be 1 to 1000, --rounds and --starts 1 to 100")
	case s.rows < pageSize || s.rows > 100_000:
		return s, fmt.Errorf("--rows must be %d to 100000: a list has %d", pageSize, pageSize)
	case s.duration <= 0 || s.duration > time.Minute:
		return s, errors.New("--duration must be above 0 and at most 1m")
	}
	return s, nil
}

// runRequests compares requests with PocketBase.
func runRequests(args []string) error {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return printed(s.dir, s.markdown, func(ctx context.Context, dir string) (page, error) {
		servers, err := s.servers(dir)
		if err != nil {
			return page{}, err
		}
		rep, err := measure(ctx, s.options, servers)
		if err != nil {
			return page{}, err
		}
		return rep.page(), nil
	})
}

// printed makes one run of everything and prints what it found. A missed target
// is printed, not an error: on a busy machine it would fail builds at random.
func printed(parent, markdown string, measure func(ctx context.Context, dir string) (page, error)) error {
	// Nothing is left to tidy up when printing begins: a reader that closes the
	// pipe ends the program.
	p, err := inFolder(parent, measure)
	if err != nil {
		return err
	}
	if markdown != "" {
		if err := writeMarkdownFile(p, markdown); err != nil {
			return err
		}
	}
	return p.writeText(os.Stdout)
}

// inFolder measures in a temporary folder, and for as long as it may take.
func inFolder(parent string, measure func(ctx context.Context, dir string) (page, error)) (p page, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
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

// servers are the ones to measure; Carrel first, which makes it the one that
// is divided by the other.
func (s settings) servers(dir string) ([]server, error) {
	var out []server
	if s.only != "pocketbase" {
		binary, err := carrelBinary(s.carrel)
		if err != nil {
			return nil, err
		}
		out = append(out, &carrel{binary: binary, dir: dir, rows: s.rows})
	}
	if s.only != "carrel" {
		out = append(out, &pocketBase{dir: dir, rows: s.rows})
	}
	return out, nil
}

// carrelBinary is where the binary lies, for a process in any folder.
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
