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
	// batchSize is how many documents an engine is given at a time.
	batchSize = 2000
	// timesOpened is how often an index is opened; the median counts.
	timesOpened = 3
	// fewest is how many questions are asked however long they take.
	fewest = 30
	// pageOfHits is how many hits are asked for.
	pageOfHits = 10
	// childCommand tells this program that it is to measure one engine.
	childCommand = "measure-one"
)

// workload is a way to ask the same questions.
type workload struct {
	key, title string
	request    request // all but the text
}

var workloads = []workload{
	{key: "plain", title: "plain", request: request{limit: pageOfHits}},
	{key: "years", title: "of 2015–2020", request: request{limit: pageOfHits, from: 2015, to: 2020}},
	{key: "counts", title: "with counts", request: request{limit: pageOfHits, counts: true}},
}

// task is what a child process is asked to do. Building and serving are two
// tasks, because what a process holds after building says nothing about what a
// server that opens the index would hold.
type task struct {
	Build     bool // or serve what was built
	Engine    string
	Dir       string
	Documents string // the file
	Size      int
	Questions []string
	Budget    time.Duration // for one workload
}

// built is what making an index took.
type built struct {
	Took   time.Duration // in the engine alone, without the making of documents
	Bytes  int64
	Memory memory
}

// served is what answering from an index took.
type served struct {
	Open   time.Duration // median
	First  time.Duration // the very first answer
	Runs   []asked
	Memory memory
}

// asked are the times of one workload, ascending.
type asked struct {
	Workload string
	Times    []time.Duration
}

// rate is documents a second.
func (b built) rate(size int) float64 { return float64(size) / b.Took.Seconds() }

// inChild does a task in a process of its own, so that the memory of one engine
// is not counted for another, and reads what it found out into result.
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
	// Its end tells the child that this process is gone.
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

// cleanEnv leaves out what would tune the runtime of the engines.
func cleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS"}, name)
	})
}

// runChild is the other end of inChild.
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

// build makes an index of t.Size documents and closes it.
func build(ctx context.Context, k kind, t task, p *progress) (b built, err error) {
	p.say("%s: indexing %s documents…", k.title, count(t.Size))
	e, err := k.make(t.Dir)
	if err != nil {
		return b, err
	}
	_, b.Took, err = index(ctx, e, grown(t.Documents, t.Size), p)
	b.Memory = ownMemory()
	if err := errors.Join(err, e.close()); err != nil {
		return b, err
	}
	b.Bytes, err = folderSize(t.Dir)
	return b, err
}

// index adds all documents and returns how many they were and how long the engine
// took for them. Reading and making documents is not part of that: it would be
// the same for every engine, and weigh most on the fastest.
func index(ctx context.Context, e engine, documents iter.Seq2[paper, error], p *progress) (added int, took time.Duration, err error) {
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

// serve opens an index that was built and asks it.
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

// openTimed opens an index a few times and leaves the last open.
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

// askAll asks the questions one after the other, after a round to warm up. A
// quarter of the budget is for that round; what has not been asked when the
// budget is used up is left out, since a slow engine would take hours.
func askAll(ctx context.Context, e engine, w workload, t task, p *progress) ([]time.Duration, error) {
	if _, err := askFor(ctx, e, w, t.Questions, t.Budget/4, 0, p); err != nil {
		return nil, err
	}
	times, err := askFor(ctx, e, w, t.Questions, t.Budget-t.Budget/4, fewest, p)
	slices.Sort(times)
	return times, err
}

// askFor asks questions until the time is over, but at least some.
func askFor(ctx context.Context, e engine, w workload, questions []string, limit time.Duration, atLeast int, p *progress) ([]time.Duration, error) {
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
