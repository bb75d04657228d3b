package research

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"carrel/internal/research/quote"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// turn is one attempt at an answer. All that it knows comes from the journal, or is made anew from what is there, so
// that every attempt takes the same way.
type turn struct {
	*Agent
	run *task.Run
	q   thread.Question
	// text is the question without what it asks to remember besides.
	text string
	// ends is when this attempt answers with what it has. A turn that was resumed gets its time again: what it waited
	// for a node is not its own doing, and the task has a deadline of its own.
	ends time.Time

	ready     prepared
	query     quote.Query
	found     found
	documents map[string]source.Document
	spent     spent
	// told says that a model was told the memories.
	told bool
	// limits are the turn's own; the journal has them, so that new settings do not lead a resumed turn astray.
	limits Limits
}

func newTurn(a *Agent, r *task.Run, q thread.Question) *turn {
	limits := a.options.Ordinary
	if q.Research {
		limits = a.options.Research
	}
	_, text := wish(q.Text)
	return &turn{
		text: cmp.Or(text, q.Text), Agent: a, run: r, q: q, limits: limits, ends: a.Clock.Now().Add(limits.Time), documents: map[string]source.Document{},
	}
}

// left returns how much of the turn's time there is.
func (t *turn) left() time.Duration { return t.ends.Sub(t.Clock.Now()) }

// late reports whether what is left of the time is needed for the answer.
func (t *turn) late() bool { return t.left() < t.limits.Time/3 }

// step runs a stage and journals what it comes to. What it returns was read from the journal's form also when it
// has just been written, so that no attempt sees more than another.
func step[T any](ctx context.Context, t *turn, kind, label string, fn func(ctx context.Context, s *task.Step) (T, error)) (T, error) {
	var out T
	raw, err := t.run.Step(ctx, kind, label, func(ctx context.Context, s *task.Step) ([]byte, error) {
		v, err := fn(ctx, s)
		if ctx.Err() != nil {
			// Stopped from outside: what was made of it meanwhile is no outcome of the stage.
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("read the step %q: %w", kind, err)
	}
	return out, nil
}

// document returns a document of the agent's sources; ones that were read stay at hand for the attempt.
func (t *turn) document(ctx context.Context, id string) (source.Document, error) {
	if d, ok := t.documents[id]; ok {
		return d, nil
	}
	d, err := t.Documents.DocumentOf(ctx, t.q.UserID, t.q.AgentID, id)
	if err == nil {
		t.documents[id] = d
	}
	return d, err
}

// extractors are kept by language, since one remembers the words that it has read.
type extractors struct{ pools sync.Map }

// use lends an extractor.
func (e *extractors) use(language string, do func(*quote.Extractor)) {
	pool, ok := e.pools.Load(language)
	if !ok {
		pool, _ = e.pools.LoadOrStore(language, &sync.Pool{New: func() any { return quote.New(language) }})
	}
	x := pool.(*sync.Pool).Get().(*quote.Extractor)
	defer pool.(*sync.Pool).Put(x)
	do(x)
}
