package embedding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/task"
)

const (
	// kindName is the task kind; taskKey is shared by all tasks, so that one runs at a time.
	kindName = "embed"
	taskKey  = "embed"
	// deadline limits how long a task waits for a failing endpoint. The next task continues.
	deadline = 30 * 24 * time.Hour
	// maxSteps bounds the journal of a task. A task with more work submits another one.
	maxSteps = 500
	// checkEvery is how often a node checks for missing vectors.
	checkEvery = time.Minute
)

// Kind returns the task kind to register with the engine.
func (s *Service) Kind() task.Kind { return task.Kind{Name: kindName, Run: s.run, Deadline: deadline} }

// Run checks for missing vectors at once and then every minute, until the context ends. Imports call Check as well,
// so that new documents need not wait.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		if err := s.Check(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "checking for documents without vectors failed; retrying later", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Check submits a task if vectors are missing and none is active. It is cheap if nothing has changed.
func (s *Service) Check(ctx context.Context) error {
	_, err := s.store.ActiveTask(ctx, taskKey)
	if !core.IsKind(err, core.KindNotFound) {
		return err // nil if a task is active
	}
	space, err := s.space(ctx)
	if err != nil {
		return err
	}
	docs, through, err := s.missing(ctx, space, 1)
	switch {
	case err != nil:
		return err
	case len(docs) > 0:
		return s.submit(ctx)
	case space.Dims == 0:
		return nil // no documents, and no space to record that for
	}
	after, err := s.store.EmbeddedThrough(ctx, space)
	if err != nil || after >= through {
		return err
	}
	// The changed documents need no new vectors. The next check starts here.
	return s.store.PutEmbeddings(ctx, space, nil, through, s.clock.Now())
}

func (s *Service) submit(ctx context.Context) error {
	_, err := s.tasks.Submit(ctx, task.Spec{ID: core.NewID("emb"), Kind: kindName, Key: taskKey})
	return err
}

// maxRead limits the text of documents that is read at once.
const maxRead = 4 << 20

// missing returns up to n documents that may lack vectors, without the documents of some users, and the last position
// in the change log that it covers.
func (s *Service) missing(ctx context.Context, space Space, n int, without ...string) ([]Document, uint64, error) {
	after, err := s.store.EmbeddedThrough(ctx, space)
	if err != nil {
		return nil, 0, err
	}
	head, err := s.store.Head(ctx)
	if err != nil || after >= head {
		return nil, head, err
	}
	docs, err := s.store.UnembeddedDocuments(ctx, space, after, head, n, maxRead, without...)
	return docs, head, err
}

// batch is the result of one step. The journal stores it as JSON.
type batch struct {
	// Documents became complete in this step. Passages were embedded, Reused had a vector in another document, and
	// Refused were not accepted by the model.
	Documents int `json:"documents,omitempty"`
	Passages  int `json:"passages,omitempty"`
	Reused    int `json:"reused,omitempty"`
	Refused   int `json:"refused,omitempty"`
	Tokens    int `json:"tokens,omitempty"`
	// Done is set when no work is left.
	Done bool `json:"done,omitempty"`
	// Retry is the time of the next attempt after a failure.
	Retry *time.Time `json:"retry,omitempty"`
}

// progress is the state of a task. It is derived from the journal alone, so that every attempt computes the same.
type progress struct {
	batch
	// size is the number of texts of the next request: halved on failure, increased slowly on success.
	size int
	// failures counts consecutive failures.
	failures int
}

const (
	fullSize = 96
	moreSize = 8 // added after each success
)

func (p *progress) add(b batch) {
	p.Documents += b.Documents
	p.Passages += b.Passages
	p.Reused += b.Reused
	p.Refused += b.Refused
	p.Tokens += b.Tokens
	if b.Retry != nil {
		p.failures++
		p.size = max(1, p.size/2)
		return
	}
	p.failures = 0
	p.size = min(fullSize, p.size+moreSize)
}

// run is the body of the task: one batch per step until no vectors are missing. Each step stores what it paid for, so
// that a repeated step finds its vectors.
func (s *Service) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	p := progress{size: fullSize}
	for range s.maxSteps {
		b, err := s.step(ctx, r, p)
		if err != nil {
			return task.Outcome{}, err
		}
		p.add(b)
		if b.Done {
			return s.done(ctx, p)
		}
		s.emit(r, p)
		if b.Retry != nil && s.clock.Now().Before(*b.Retry) {
			return task.RetryAt(*b.Retry), nil
		}
	}
	// A duplicate task, submitted again after a crash at this point, finds nothing to do.
	return task.Outcome{}, s.submit(ctx)
}

// step runs one batch as a step of the task. A failure of the endpoint or the database is a result of the step, and
// another step retries.
func (s *Service) step(ctx context.Context, r *task.Run, p progress) (batch, error) {
	label := fmt.Sprintf("Vectors for %d passages so far", p.Passages+p.Reused)
	out, err := r.Step(ctx, "batch", label, func(ctx context.Context, _ *task.Step) ([]byte, error) {
		b, err := s.runBatch(ctx, p.size)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx) // interrupted; another attempt repeats the step
		}
		s.logFailure(ctx, err)
		if err != nil {
			at := s.clock.Now().Add(backoff(p.failures+1, err)).Truncate(time.Millisecond) // the precision of the queue
			b.Done, b.Retry = false, &at
		}
		return json.Marshal(b)
	})
	if err != nil {
		return batch{}, err
	}
	var b batch
	if err := json.Unmarshal(out, &b); err != nil {
		return batch{}, fmt.Errorf("decode a step of embedding: %w", err)
	}
	return b, nil
}

const (
	// The backoff doubles from firstPause to maxPause with consecutive failures. An endpoint may request up to
	// maxRetryAfter.
	firstPause    = 5 * time.Second
	maxPause      = 15 * time.Minute
	maxRetryAfter = 6 * time.Hour
)

// backoff returns the wait after consecutive failures, with up to 10 % jitter, so that installations that failed
// together do not retry together.
func backoff(failures int, err error) time.Duration {
	wait := min(firstPause<<min(failures-1, 10), maxPause)
	var failure *model.EmbeddingError
	if errors.As(err, &failure) {
		wait = max(wait, min(failure.RetryAfter, maxRetryAfter))
	}
	return wait + rand.N(wait/10) //nolint:gosec // not a secret
}

// logFailure logs the start and the end of a failure, not every attempt.
func (s *Service) logFailure(ctx context.Context, err error) {
	switch {
	case err != nil && s.failing.CompareAndSwap(false, true):
		s.log.WarnContext(ctx, "computing vectors failed; new documents are found by words alone until a retry succeeds",
			"model", s.Model(), "error", err)
	case err == nil && s.failing.CompareAndSwap(true, false):
		s.log.InfoContext(ctx, "computing vectors works again", "model", s.Model())
	}
}

// emit publishes the progress of the task.
func (s *Service) emit(r *task.Run, p progress) {
	sum := p.batch
	sum.Retry = nil
	payload, _ := json.Marshal(sum) // has only numbers
	r.Emit("progress", payload)
}

// done returns the outcome of the task.
func (s *Service) done(ctx context.Context, p progress) (task.Outcome, error) {
	p.Done = true
	result, err := json.Marshal(p.batch)
	if err != nil {
		return task.Outcome{}, err
	}
	if p.Documents > 0 {
		s.log.InfoContext(ctx, "all documents have vectors", "model", s.Model(),
			"documents", p.Documents, "passages", p.Passages, "reused", p.Reused, "refused", p.Refused,
			"tokens", p.Tokens, "dollars", s.price*float64(p.Tokens)/1e6)
	}
	return task.Outcome{Result: result}, nil
}
