package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the flags of a comparison.
type settings struct {
	data      string
	corpus    string
	documents string // file of the corpus
	sizes     []int
	engines   []kind // engines whose speed is measured
	questions int
	budget    time.Duration
	markdown  string
	svg       string
	dir       string
}

// maxSize is the limit of the id format of copies.
const maxSize = 20_000_000

// comparison is the result of a run.
type comparison struct {
	settings  settings
	questions []string
	results   []result // by size, then engine
	quality   quality
	when      time.Time
	took      time.Duration
	busy      string // the load average before the run
}

// result is one engine with one number of documents.
type result struct {
	kind   kind
	size   int
	built  built
	served served
}

// times returns the latencies of a workload.
func (r result) times(workload string) []time.Duration {
	for _, run := range r.served.Runs {
		if run.Workload == workload {
			return run.Times
		}
	}
	return nil
}

func parseCompare(args []string, stderr io.Writer) (s settings, err error) {
	var sizes, engines string
	var quick bool
	f := flag.NewFlagSet("search", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.data, "data", "", "`folder` of collections")
	f.StringVar(&s.corpus, "corpus", "acl", "the `collection` whose documents speed is measured with")
	f.StringVar(&sizes, "sizes", "110k,1m", "how many documents to index, e.g. `110k,1m`")
	f.StringVar(&engines, "engines", "carrel,bleve,fts5", "which `engines` to measure; also: carrel-words, bleve-fields")
	f.IntVar(&s.questions, "queries", maxQuestions, "how many questions to ask")
	f.DurationVar(&s.budget, "budget", 45*time.Second, "how long an engine may take for one workload at one size")
	f.BoolVar(&quick, "quick", false, "a short run that proves nothing: 2,000 documents, 30 questions")
	f.StringVar(&s.markdown, "markdown", "", "also write the report to this Markdown `file`")
	f.StringVar(&s.svg, "svg", "", "also draw the report into this SVG `file`")
	f.StringVar(&s.dir, "dir", "", "`folder` for the temporary indexes (default: the system's)")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	if quick {
		// Explicit flags take precedence.
		quickly := map[string]string{"sizes": "2k", "queries": "30", "budget": "2s"}
		f.Visit(func(given *flag.Flag) { delete(quickly, given.Name) })
		for name, value := range quickly {
			if err := f.Set(name, value); err != nil {
				return s, err
			}
		}
	}
	if s.questions < 1 || s.questions > maxQuestions || s.budget <= 0 {
		return s, usageError{fmt.Errorf("-queries must be 1 to %d and -budget above 0", maxQuestions)}
	}
	if s.sizes, err = parseSizes(sizes); err != nil {
		return s, usageError{err}
	}
	if s.engines, err = parseEngines(engines); err != nil {
		return s, usageError{err}
	}
	if err := checkData(s.data, "-data folder"); err != nil {
		return s, err
	}
	var ok bool
	if s.documents, ok = documentsFile(filepath.Join(s.data, s.corpus)); !ok {
		return s, missingDataError{fmt.Sprintf(
			"no documents to measure with: %s holds neither docs.jsonl nor docs.jsonl.gz", filepath.Join(s.data, s.corpus))}
	}
	s.documents, err = filepath.Abs(s.documents)
	return s, err
}

// parseSizes parses sizes such as 110k,1m.
func parseSizes(list string) ([]int, error) {
	var sizes []int
	for text := range strings.SplitSeq(list, ",") {
		digits, factor := strings.ToLower(text), 1
		if short, ok := strings.CutSuffix(digits, "k"); ok {
			digits, factor = short, 1000
		} else if short, ok := strings.CutSuffix(digits, "m"); ok {
			digits, factor = short, 1_000_000
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > maxSize/factor {
			return nil, fmt.Errorf("-sizes takes numbers of documents such as 110k,1m, not %q", text)
		}
		sizes = append(sizes, n*factor)
	}
	return sizes, nil
}

// parseEngines parses engine keys and sorts them in the order of kinds.
func parseEngines(list string) ([]kind, error) {
	keys := strings.Split(list, ",")
	for _, key := range keys {
		if _, ok := kindOf(key); !ok {
			return nil, fmt.Errorf(
				"-engines takes carrel, carrel-words, bleve, bleve-fields and fts5, separated by commas, not %q", key)
		}
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(keys, k.key) }), nil
}

// judged returns the engines whose quality is measured: the given ones, and Bleve's other layout.
func (s settings) judged() []kind {
	keys := make([]string, 0, len(s.engines)+1)
	for _, k := range s.engines {
		keys = append(keys, k.key)
	}
	if slices.Contains(keys, "bleve") {
		keys = append(keys, "bleve-fields")
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(keys, k.key) })
}

// runCompare measures and prints the report.
func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parseCompare(args, stderr)
	if err != nil {
		return err
	}
	c := comparison{settings: s, when: time.Now(), busy: loadAverage()}
	// The temporary folder is removed before printing, because a reader that closes the pipe ends the program.
	if err := inFolder(s.dir, func(dir string) error { return c.measure(ctx, dir, stderr) }); err != nil {
		return err
	}
	c.took = time.Since(c.when)
	p := c.page()
	if err := writeFile(s.markdown, p.writeMarkdown); err != nil {
		return err
	}
	if err := writeFile(s.svg, c.plot().write); err != nil {
		return err
	}
	return p.writeText(stdout)
}

// writeFile writes a file if the name is not empty.
func writeFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func (c *comparison) measure(ctx context.Context, dir string, stderr io.Writer) (err error) {
	p := &progress{w: stderr}
	p.say("drawing questions from %s…", c.settings.corpus)
	if c.questions, err = drawQuestions(papers(c.settings.documents), c.settings.questions); err != nil {
		return err
	}
	for _, size := range c.settings.sizes {
		for _, k := range c.settings.engines {
			r, err := c.measureOne(ctx, k, size, dir, stderr)
			if err != nil {
				return err
			}
			c.results = append(c.results, r)
		}
	}
	c.quality, err = judge(ctx, c.settings.data, dir, collections, c.settings.judged(), 10, p)
	return err
}

// measureOne builds an index in one process, serves it from another, and removes it, because the disk may not have
// space for all.
func (c *comparison) measureOne(
	ctx context.Context, k kind, size int, parent string, stderr io.Writer,
) (r result, err error) {
	dir, err := os.MkdirTemp(parent, k.key+"-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r = result{kind: k, size: size}
	t := task{Build: true, Engine: k.key, Dir: dir, Documents: c.settings.documents, Size: size}
	if err := inChild(ctx, t, stderr, &r.built); err != nil {
		return r, err
	}
	t.Build, t.Questions, t.Budget = false, c.questions, c.settings.budget
	return r, inChild(ctx, t, stderr, &r.served)
}
