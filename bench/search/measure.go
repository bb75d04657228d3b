package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// batchSize is the number of documents per call of add.
	batchSize = 2000
	// timesOpened is how often an index is opened; the median counts.
	timesOpened = 3
	// fewest is the minimum number of queries, however long they take.
	fewest = 30
	// pageOfHits is the number of requested hits.
	pageOfHits = 10
	// childCommand runs this program as a measuring child.
	childCommand = "measure-one"
)

// workload is a variant of the queries.
type workload struct {
	key, title string
	request    request // without the text
}

var workloads = []workload{
	{key: "plain", title: "plain", request: request{limit: pageOfHits}},
	{key: "years", title: "of 2015–2020", request: request{limit: pageOfHits, from: 2015, to: 2020}},
	{key: "counts", title: "with counts", request: request{limit: pageOfHits, counts: true}},
}

// task is the work of a child process. Building and serving are separate tasks, because a process
// that built the index uses more memory than a server that only opens it.
type task struct {
	Build     bool // build, or serve an existing index
	Engine    string
	Dir       string
	Documents string // the file
	Size      int
	Questions []string
	Budget    time.Duration // for one workload
}

// built is the measurement of building an index.
type built struct {
	Took   time.Duration // time in the engine, without generating documents
	Bytes  int64
	Memory memory
}

// served is the measurement of searching an index.
type served struct {
	Open   time.Duration // median
	First  time.Duration // the first query
	Runs   []asked
	Memory memory
}

// asked holds the sorted latencies of one workload.
type asked struct {
	Workload string
	Times    []time.Duration
}

func (b built) rate(size int) float64 { return float64(size) / b.Took.Seconds() }

// inChild runs a task in its own process, so that the memory of engines is separate, and decodes its result.
func inChild(ctx context.Context, t task, stderr io.Writer, result any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, childCommand, string(raw))
	cmd.Env = cleanEnv(os.Environ())
	cmd.Stderr = stderr
	// Closing the pipe signals the child that this process is gone.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s with %s documents: %w", t.Engine, count(t.Size), err)
	}
	return json.Unmarshal(out, result)
}

// cleanEnv returns the environment without variables that tune the Go runtime.
func cleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS"}, name)
	})
}

// runChild is the child's side of inChild.
func runChild(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var t task
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &t) != nil {
		return usageError{errors.New(childCommand + " is for this program's own use")}
	}
	k, ok := kindOf(t.Engine)
	if !ok {
		return fmt.Errorf("unknown engine %q", t.Engine)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	p := &progress{w: stderr}
	if t.Build {
		result, err := build(ctx, k, t, p)
		return errors.Join(err, json.NewEncoder(stdout).Encode(result))
	}
	result, err := serve(ctx, k, t, p)
	return errors.Join(err, json.NewEncoder(stdout).Encode(result))
}

// expecting is an engine that divides its work by the number of documents to come.
type expecting interface{ expect(n int) }

// build creates an index of t.Size documents and closes it.
func build(ctx context.Context, k kind, t task, p *progress) (b built, err error) {
	p.say("%s: indexing %s documents…", k.title, count(t.Size))
	e, err := k.make(t.Dir)
	if err != nil {
		return b, err
	}
	if x, ok := e.(expecting); ok {
		x.expect(t.Size)
	}
	_, b.Took, err = index(ctx, e, grown(t.Documents, t.Size), p)
	b.Memory = ownMemory()
	if err := errors.Join(err, e.close()); err != nil {
		return b, err
	}
	b.Bytes, err = folderSize(t.Dir)
	return b, err
}

// index adds all documents and returns their number and the time of the engine. Generating documents is not included:
// it is the same for every engine and would affect the fastest most.
func index(
	ctx context.Context, e engine, documents iter.Seq2[paper, error], p *progress,
) (added int, took time.Duration, err error) {
	timed := func(f func() error) error {
		began := time.Now()
		err := f()
		took += time.Since(began)
		return err
	}
	var batch []paper
	flush := func() error {
		err := timed(func() error { return e.add(ctx, batch) })
		added += len(batch)
		batch = make([]paper, 0, batchSize) // the engine may keep the old one
		p.tick("%s documents", count(added))
		return errors.Join(err, ctx.Err())
	}
	for d, err := range documents {
		if err != nil {
			return added, took, err
		}
		if batch = append(batch, d); len(batch) == batchSize {
			if err := flush(); err != nil {
				return added, took, err
			}
		}
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return added, took, err
		}
	}
	if took > time.Second {
		p.say("  finishing the index…")
	}
	err = timed(func() error { return e.finish(ctx) })
	return added, took, err
}

// serve opens an existing index and runs the workloads.
func serve(ctx context.Context, k kind, t task, p *progress) (s served, err error) {
	p.say("%s: asking in %s documents…", k.title, count(t.Size))
	e, opened, err := openTimed(k, t.Dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	s.Open = opened

	began := time.Now()
	if _, err := e.search(ctx, request{text: t.Questions[0], limit: pageOfHits}); err != nil {
		return s, err
	}
	s.First = time.Since(began)
	for _, w := range workloads {
		times, err := askAll(ctx, e, w, t, p)
		if err != nil {
			return s, fmt.Errorf("%s: %w", w.title, err)
		}
		s.Runs = append(s.Runs, asked{w.key, times})
	}
	s.Memory = ownMemory()
	return s, nil
}

// openTimed opens an index several times and leaves the last one open.
func openTimed(k kind, dir string) (e engine, took time.Duration, err error) {
	var times []time.Duration
	for range timesOpened {
		if e != nil {
			if err := e.close(); err != nil {
				return nil, 0, err
			}
		}
		began := time.Now()
		if e, err = k.open(dir); err != nil {
			return nil, 0, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return e, percentile(times, 50), nil
}

// askAll runs the queries in sequence after a warm-up round, which gets a quarter of the budget. Queries beyond the
// budget are skipped, because a slow engine would take hours.
func askAll(ctx context.Context, e engine, w workload, t task, p *progress) ([]time.Duration, error) {
	if _, err := askFor(ctx, e, w, t.Questions, t.Budget/4, 0, p); err != nil {
		return nil, err
	}
	times, err := askFor(ctx, e, w, t.Questions, t.Budget-t.Budget/4, fewest, p)
	slices.Sort(times)
	return times, err
}

// askFor runs queries until the time is over, but at least some.
func askFor(
	ctx context.Context, e engine, w workload, questions []string, limit time.Duration, atLeast int, p *progress,
) ([]time.Duration, error) {
	start := time.Now()
	var times []time.Duration
	for i, text := range questions {
		if i >= atLeast && time.Since(start) > limit {
			break
		}
		r := w.request
		r.text = text
		began := time.Now()
		if _, err := e.search(ctx, r); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		times = append(times, time.Since(began))
		p.tick("%s: %d of %d", w.title, i+1, len(questions))
	}
	return times, nil
}
