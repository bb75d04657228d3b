package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// agentSettings are the flags of `bench agent`.
type agentSettings struct {
	runFlags
	corpusFlags
	turns, modelTurns int
	first, token      time.Duration
}

// warmTurns run before anything is measured: the first turns read the index from disk.
const warmTurns = 20

func parseAgent(args []string) (*agentSettings, error) {
	s := &agentSettings{}
	f := s.newFlags("bench agent", "")
	s.register(f, 100_000, "to answer from")
	f.IntVar(&s.turns, "turns", 300, "turns without a model")
	f.IntVar(&s.modelTurns, "model-turns", 10, "turns with a model; 0 skips them")
	f.DurationVar(&s.first, "first", 300*time.Millisecond, "time to the model's first token")
	f.DurationVar(&s.token, "token", 10*time.Millisecond, "time for each further token")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	switch {
	case s.turns < 10 || s.turns > 5000 || s.modelTurns < 0 || s.modelTurns > 100:
		return s, errors.New("--turns must be 10 to 5000, --model-turns 0 to 100")
	case s.first < 0 || s.token < 0 || s.first > time.Minute || s.token > time.Second:
		return s, errors.New("--first must be 0 to 1m, --token 0 to 1s")
	}
	return s, s.check()
}

// measureAgent imports the documents once and measures turns without a model, and
// with a model of known speed.
func measureAgent(ctx context.Context, s *agentSettings, dir string) (page, error) {
	rep := &agentReport{settings: *s, when: time.Now()}
	c := &carrel{binary: s.carrel, dir: dir}
	questions, err := prepareAgent(ctx, s, c, rep)
	if err != nil {
		return page{}, err
	}
	if err := rep.withoutModel(ctx, c, questions); err != nil {
		return page{}, fmt.Errorf("without a model: %w", err)
	}
	if s.modelTurns > 0 {
		if err := rep.withModel(ctx, c, questions); err != nil {
			return page{}, err
		}
	}
	return rep.page(), nil
}

// prepareAgent creates an account with an agent that has the documents, and returns
// questions about them.
func prepareAgent(ctx context.Context, s *agentSettings, c *carrel, rep *agentReport) ([]string, error) {
	file := filepath.Join(c.dir, "documents.jsonl")
	questions, kept, err := writeCorpus(s.corpusFlags, s.turns, file)
	if err != nil {
		return nil, err
	}
	rep.documents = kept
	fmt.Fprintf(s.progress, "importing %d documents…\n", kept)
	return questions, c.importDocuments(ctx, file)
}

// importDocuments creates an account with an agent that has the documents of a file, and removes the file.
func (c *carrel) importDocuments(ctx context.Context, file string) error {
	if err := c.signUp(ctx); err != nil {
		return err
	}
	var added struct {
		Indexed bool `json:"indexed"`
	}
	if err := c.admin(ctx, &added, "source", "add", "--agent", c.agent, "--name", "Bench",
		"--language", "en", "--default", file); err != nil {
		return err
	}
	if !added.Indexed {
		return errors.New("the documents were not indexed")
	}
	return os.Remove(file)
}

// withoutModel measures answers that consist of quotes, and a search for the same questions as the baseline of a turn.
func (r *agentReport) withoutModel(ctx context.Context, c *carrel, questions []string) error {
	s := r.settings
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	// Each turn has its own thread, because earlier answers of a thread would influence it.
	if err := c.makeThreads(ctx, in, warmTurns+2*s.turns); err != nil {
		return err
	}
	answered := &answers{}
	turns := askInThreads(in.addr, c.messagePaths(), c.key, questions, answered.check)
	searches := searchFor(in.addr, c.path("search"), c.key, questions)
	fmt.Fprintln(s.progress, "measuring: turns without a model…")
	var counter, searched atomic.Uint64
	one := func(q request, n *atomic.Uint64, count int) load {
		return load{addr: in.addr, connections: 1, duration: runTimeout, maxRequests: uint64(count), request: q, counter: n}
	}
	if _, err := one(turns, &counter, warmTurns).run(ctx); err != nil {
		return err
	}
	if _, err := one(searches, &searched, s.turns).run(ctx); err != nil {
		return err
	}
	*answered = answers{}
	if r.turns, err = in.counted(ctx, one(turns, &counter, s.turns)); err != nil {
		return err
	}
	if r.searches, err = in.counted(ctx, one(searches, &searched, s.turns)); err != nil {
		return err
	}
	r.answered = *answered
	r.resident, err = in.residentBytes()
	return err
}

// counted runs a load and returns its latencies, CPU time and allocations.
func (in *instance) counted(ctx context.Context, l load) (summary, error) {
	before, err := scrape(ctx, in.metricsAddr, metricMallocs)
	if err != nil {
		return summary{}, err
	}
	taken, used, err := in.round(ctx, l)
	if err != nil {
		return summary{}, err
	}
	after, err := scrape(ctx, in.metricsAddr, metricMallocs)
	out := summarise([]sample{taken}, used)
	out.allocations = (after - before) / float64(max(1, out.requests))
	return out, err
}

// withModel measures the time that Carrel adds to its model.
func (r *agentReport) withModel(ctx context.Context, c *carrel, questions []string) error {
	s := r.settings
	m, err := newPacedModel(s.first, s.token)
	if err != nil {
		return err
	}
	defer m.close()
	c.more = []string{"CARREL_MODEL=openai", "CARREL_MODEL_BASE_URL=" + m.url, "CARREL_MODEL_NAME=paced"}
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	if err := c.makeThreads(ctx, in, s.modelTurns+1); err != nil {
		return err
	}
	complete := countOf(`"status":"complete"`, 1)
	ask := askInThreads(in.addr, c.messagePaths(), c.key, questions, complete)
	fmt.Fprintln(s.progress, "measuring: turns with a model…")
	var counter atomic.Uint64
	for i := range s.modelTurns + 1 {
		m.reset()
		taken, err := load{
			addr:        in.addr,
			connections: 1,
			duration:    time.Minute,
			maxRequests: 1,
			request:     ask,
			counter:     &counter,
		}.run(ctx)
		if err != nil {
			return err
		}
		calls, inModel, err := m.usage()
		if err != nil {
			return err
		}
		if i == 0 {
			continue // warm-up: opens connections and reads the index from disk
		}
		turn := modelTurn{turn: taken.latencies[0], model: inModel, calls: calls}
		if calls == 0 || turn.turn <= turn.model {
			return fmt.Errorf("a turn of %v has %d calls of %v", turn.turn, calls, inModel)
		}
		r.models = append(r.models, turn)
	}
	return nil
}

// answers counts the kinds of answers.
type answers struct{ quoted, all int }

func (a *answers) check(body []byte) error {
	var reply struct {
		Status string `json:"status"`
		Text   string `json:"text"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	if reply.Status != "complete" || reply.Text == "" {
		return errors.New("no answer")
	}
	a.all++
	if strings.Contains(reply.Text, "\n> ") {
		a.quoted++
	}
	return nil
}

// askInThreads posts the n-th question to the n-th thread.
func askInThreads(addr string, paths []string, key string, questions []string, check func([]byte) error) request {
	return request{check: check, append: func(dst []byte, n uint64) []byte {
		body, _ := json.Marshal(map[string]string{"text": questions[n%uint64(len(questions))]}) // strings always marshal
		return append(append(dst, buildPostHead(addr, paths[(n-1)%uint64(len(paths))], key, len(body))...), body...)
	}}
}

// searchFor searches for the n-th question.
func searchFor(addr, path, key string, questions []string) request {
	return request{check: countOf(`"results":`, 1), append: func(dst []byte, n uint64) []byte {
		body, _ := json.Marshal(map[string]any{"query": questions[n%uint64(len(questions))], "numResults": 20})
		return append(append(dst, buildPostHead(addr, path, key, len(body))...), body...)
	}}
}
