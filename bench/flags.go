package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// runFlags are the flags of every comparison, and the load of the machine before the run.
type runFlags struct {
	carrel   string // path of the binary
	markdown string
	dir      string

	progress   io.Writer
	loadBefore string
	// timeout ends a run that hangs; 0 means runTimeout.
	timeout time.Duration
	// withoutCarrel is set if the run does not need the Carrel binary.
	withoutCarrel bool
}

func (r *runFlags) shared() *runFlags { return r }

// newFlags returns the flag set of a comparison with the flags that all of them have. diskNote is appended to the usage
// of --dir.
func (r *runFlags) newFlags(name, diskNote string) *flag.FlagSet {
	r.progress, r.loadBefore = os.Stderr, loadAverage()
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&r.carrel, "carrel", "../bin/carrel", "the built Carrel `binary`")
	f.StringVar(&r.markdown, "markdown", "", "also write the report to this Markdown `file`")
	f.StringVar(&r.dir, "dir", "", "`folder` for temporary data (default: the system's)"+diskNote)
	return f
}

// loadFlags are the flags of a load that is applied in rounds.
type loadFlags struct {
	connections int
	rounds      int
	duration    time.Duration
}

func (l *loadFlags) register(f *flag.FlagSet, defaults loadFlags, connections string) {
	f.IntVar(&l.connections, "connections", defaults.connections, connections)
	f.IntVar(&l.rounds, "rounds", defaults.rounds, "rounds per server and scenario")
	f.DurationVar(&l.duration, "duration", defaults.duration, "length of a round")
}

// check returns an error for values outside of the allowed range.
func (l loadFlags) check(maxConnections int, maxDuration time.Duration) error {
	switch {
	case l.connections < 1 || l.connections > maxConnections:
		return fmt.Errorf("--connections must be 1 to %d", maxConnections)
	case l.rounds < 1 || l.rounds > 100:
		return errors.New("--rounds must be 1 to 100")
	case l.duration <= 0 || l.duration > maxDuration:
		return fmt.Errorf("--duration must be above 0 and at most %s", maxDuration)
	}
	return nil
}

// corpusFlags select the documents of a run.
type corpusFlags struct {
	data      string
	corpus    string
	documents int
}

func (c *corpusFlags) register(f *flag.FlagSet, documents int, use string) {
	f.StringVar(&c.data, "data", "", "`folder` of collections; without it documents are generated")
	f.StringVar(&c.corpus, "corpus", "acl", "the `collection` in --data "+use)
	f.IntVar(&c.documents, "documents", documents, "number of documents")
}

func (c corpusFlags) check() error {
	if c.documents < 100 || c.documents > 1_000_000 {
		return errors.New("--documents must be 100 to 1000000")
	}
	return nil
}

// origin describes the documents for the conditions of a report.
func (c corpusFlags) origin() string {
	if c.data == "" {
		return "generated"
	}
	return "from the collection " + c.corpus
}

// parseFlags parses a command line without positional arguments.
func parseFlags(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return nil
}

// compare parses the flags, measures in a temporary folder, and prints the report. --help is not an error.
func compare[S interface{ shared() *runFlags }](
	args []string, parse func([]string) (S, error), measure func(context.Context, S, string) (page, error),
) error {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	run := s.shared()
	if !run.withoutCarrel {
		if run.carrel, err = carrelBinary(run.carrel); err != nil {
			return err
		}
	}
	return printReport(run, func(ctx context.Context, dir string) (page, error) {
		return measure(ctx, s, dir)
	})
}
