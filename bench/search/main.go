// Command search compares Carrel's search engine with Bleve and SQLite FTS5 in one run: quality, latency and the cost
// of indexing. `search eval` measures the quality only. It is started by bench and by `make eval`; see bench's
// README.md. It is a separate module, because Carrel needs a newer SQLite driver than PocketBase.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"carrel/internal/search"
)

// Exit codes distinguish wrong usage and missing data from failures.
const (
	failed = 1
	unable = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "search:", err)
	stop()
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	if missing := (missingDataError{}); errors.As(err, &missing) {
		return unable
	}
	if usage := (usageError{}); errors.As(err, &usage) {
		return unable
	}
	return failed
}

// usageError is an error in the command line.
type usageError struct{ error }

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "eval":
			return runEval(ctx, args[1:], stdout, stderr)
		case "tune":
			return runTune(ctx, args[1:], stdout, stderr)
		case "languages":
			return runLanguages(ctx, args[1:], stdout, stderr)
		case childCommand:
			return runChild(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	return runCompare(ctx, args, stdout, stderr)
}

// inFolder calls f with a temporary folder and removes it.
func inFolder(parent string, f func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(parent, "carrel-bench-search-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	return f(dir)
}

// runEval measures the quality of Carrel's engine, or of all.
func runEval(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("eval", flag.ContinueOnError)
	f.SetOutput(stderr)
	data := f.String("data", "",
		"`folder` of collections, each a folder with docs.jsonl (or .gz), queries.jsonl and qrels.tsv")
	depth := f.Int("k", 10, "how many results nDCG looks at")
	perQuery := f.Bool("per-query", false, "print every question, too")
	every := f.Int("every", 1, "measure the answers to each `n`th question only")
	peers := f.Bool("peers", false, "judge Bleve and SQLite FTS5, too")
	url := f.String("endpoint", "", "also judge with the vectors of this endpoint: the base `URL` of an "+
		"OpenAI-compatible API; "+keyVariable+" holds its key")
	model := f.String("model", "", "the embedding `model` of the endpoint")
	cluster := f.String("opensearch", "", "also judge the search on the OpenSearch cluster at this base `URL`; "+
		"its new indices carrel-bench-* stay in the cluster")
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if *depth < 1 || *depth > 1000 {
		return usageError{errors.New("-k must be 1 to 1000")}
	}
	if err := checkData(*data, "make eval DATA=folder, or -data folder"); err != nil {
		return err
	}
	if (*url == "") != (*model == "") {
		return usageError{errors.New("-endpoint and -model need each other")}
	}
	engines := judgedKinds(newEndpoint(*url, *model), *cluster, *peers)
	var q quality
	err := inFolder("", func(dir string) (err error) {
		q, err = judge(ctx, *data, dir, allCollections, engines, *depth, &progress{w: stderr})
		return err
	})
	if err != nil {
		return err
	}
	p := page{title: "Quality of answers", notes: q.notes()}
	if *perQuery {
		p.tables = q.questionTables()
	}
	p.tables = append(p.tables, q.tables()...)
	if err := p.writeText(stdout); err != nil {
		return err
	}
	return printAnswers(ctx, *data, *every, stdout, &progress{w: stderr})
}

// judgedKinds returns the engines whose quality is measured, Carrel without vectors first.
func judgedKinds(e *endpoint, cluster string, peers bool) []kind {
	words, _ := kindOf(wordsOnly)
	builtIn, _ := kindOf(ours)
	words.title, builtIn.title = "words", "built-in"
	out := []kind{words, builtIn}
	if e != nil {
		out = append(out, kind{key: "carrel-endpoint", title: "endpoint", make: openEndpoint(e), open: openEndpoint(e)})
	}
	if cluster != "" {
		byWords := openOpenSearch(cluster, 0, nil)
		fused := openOpenSearch(cluster, builtInWeight, search.BuiltInEncoder)
		out = append(out,
			kind{key: "carrel-opensearch-words", title: "OpenSearch, words", make: byWords, open: byWords},
			kind{key: "carrel-opensearch", title: "OpenSearch", make: fused, open: fused})
	}
	if peers {
		out = append(out, slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool {
			return k.key == ours || k.key == wordsOnly
		})...)
	}
	return out
}

// parseFlags parses a command line without positional arguments.
func parseFlags(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return usageError{err}
	}
	if f.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", f.Arg(0))}
	}
	return nil
}
