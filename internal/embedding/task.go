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
	// kindName is the name of this work among the tasks, and taskKey what makes it one at a time in the installation.
	kindName = "embed"
	taskKey  = "embed"
	// deadline is how long a task may wait for an endpoint that does not answer. The next one goes on then.
	deadline = 30 * 24 * time.Hour
	// maxSteps bounds the journal of a task. What is left then is another task's.
	maxSteps = 500
	// checkEvery is how often a server looks whether something lacks vectors.
	checkEvery = time.Minute
)

// Kind is the kind of task that makes vectors, to be registered with the engine.
func (s *Service) Kind() task.Kind { return task.Kind{Name: kindName, Run: s.run, Deadline: deadline} }

// Run looks for work at once and then every minute, until the context ends. Imports call Check besides, so that nobody
// waits for that minute.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		if err := s.Check(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not see whether documents lack vectors; it is tried again", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Check has a task made when something lacks vectors and there is none yet. It costs next to nothing when nothing has
// changed.
func (s *Service) Check(ctx context.Context) error {
	_, err := s.store.ActiveTask(ctx, taskKey)
	if !core.IsKind(err, core.KindNotFound) {
		return err // nil where one is at it
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
		return nil // nothing there, and nothing known to note it for
	}
	after, err := s.store.EmbeddedThrough(ctx, space)
	if err != nil || after >= through {
		return err
	}
	// What changed needs no new vectors. The next look starts here.
	return s.store.PutEmbeddings(ctx, space, nil, through, s.clock.Now())
}

func (s *Service) submit(ctx context.Context) error {
	_, err := s.tasks.Submit(ctx, task.Spec{ID: core.NewID("emb"), Kind: kindName, Key: taskKey})
	return err
}

// maxRead bounds how much text of documents is read at once.
const maxRead = 4 << 20

// missing returns up to n documents that are to be looked at, those of some users left out, and the place in the change
// log up to which it looked.
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

// batch is what one step did, as the journal keeps it.
type batch struct {
	// Documents are complete with this step. Passages were paid for, Reused had a vector in another document, and
	// Refused are not taken by the model.
	Documents int `json:"documents,omitempty"`
	Passages  int `json:"passages,omitempty"`
	Reused    int `json:"reused,omitempty"`
	Refused   int `json:"refused,omitempty"`
	Tokens    int `json:"tokens,omitempty"`
	// Done says that nothing was left to do.
	Done bool `json:"done,omitempty"`
	// Retry is when to go on after a failure.
	Retry *time.Time `json:"retry,omitempty"`
}

// progress is what a task has done so far. It follows from the journal alone, so that it is the same in every attempt.
type progress struct {
	batch
	// size is how many texts the next request may have: halved when one fails, and slowly grown again.
	size int
	// failures counts the failures in a row.
	failures int
}

const (
	fullSize = 96
	moreSize = 8 // after a request that went well
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

// run makes vectors, a batch a step, until nothing lacks one. What a step pays for is stored within it: one that is cut
// off and done again finds what it had stored.
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
	// Another one that a crash between here and the end may bring finds nothing to do.
	return task.Outcome{}, s.submit(ctx)
}

// step does one batch in a step of the task. A failure of the endpoint, or of the database, is part of what the step
// returns: it is tried again in another step.
func (s *Service) step(ctx context.Context, r *task.Run, p progress) (batch, error) {
	label := fmt.Sprintf("Vectors for %d passages so far", p.Passages+p.Reused)
	out, err := r.Step(ctx, "batch", label, func(ctx context.Context, _ *task.Step) ([]byte, error) {
		b, err := s.batch(ctx, p.size)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx) // cut off; another run goes on
		}
		s.tell(ctx, err)
		if err != nil {
			at := s.clock.Now().Add(pause(p.failures+1, err)).Truncate(time.Millisecond) // as exact as the queue keeps it
			b.Done, b.Retry = false, &at
		}
		return json.Marshal(b)
	})
	if err != nil {
		return batch{}, err
	}
	var b batch
	if err := json.Unmarshal(out, &b); err != nil {
		return batch{}, fmt.Errorf("read a step of embedding: %w", err)
	}
	return b, nil
}

const (
	// firstPause is doubled with every failure in a row, up to maxPause. An endpoint may ask for up to maxRetryAfter.
	firstPause    = 5 * time.Second
	maxPause      = 15 * time.Minute
	maxRetryAfter = 6 * time.Hour
)

// pause returns how long to wait after so many failures in a row: up to a tenth longer than planned, so that
// installations that failed together do not come back together.
func pause(failures int, err error) time.Duration {
	wait := min(firstPause<<min(failures-1, 10), maxPause)
	var failure *model.EmbeddingError
	if errors.As(err, &failure) {
		wait = max(wait, min(failure.RetryAfter, maxRetryAfter))
	}
	return wait + rand.N(wait/10) //nolint:gosec // nobody gains by guessing it
}

// tell logs that something began to fail, or works again: once, not at every try.
func (s *Service) tell(ctx context.Context, err error) {
	switch {
	case err != nil && s.failing.CompareAndSwap(false, true):
		s.log.WarnContext(ctx, "documents wait for their vectors and are found by words alone; it is tried again until it works",
			"model", s.Model(), "error", err)
	case err == nil && s.failing.CompareAndSwap(true, false):
		s.log.InfoContext(ctx, "documents get their vectors again", "model", s.Model())
	}
}

// emit tells the readers of the task how far it is.
func (s *Service) emit(r *task.Run, p progress) {
	sum := p.batch
	sum.Retry = nil
	payload, _ := json.Marshal(sum) // numbers always marshal
	r.Emit("progress", payload)
}

// done ends the task and says what it did, if it did anything.
func (s *Service) done(ctx context.Context, p progress) (task.Outcome, error) {
	p.Done = true
	result, err := json.Marshal(p.batch)
	if err != nil {
		return task.Outcome{}, err
	}
	if p.Documents > 0 {
		s.log.InfoContext(ctx, "every document has its vectors", "model", s.Model(), "documents", p.Documents, "passages", p.Passages,
			"reused", p.Reused, "refused", p.Refused, "tokens", p.Tokens, "dollars", s.price*float64(p.Tokens)/1e6)
	}
	return task.Outcome{Result: result}, nil
}
