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

// turn is one attempt to answer. Its state comes from the journal or is recomputed from it, so that every attempt takes
// the same steps.
type turn struct {
	*Agent
	run *task.Run
	q   thread.Question
	// requests are the actions that the message asks for by its words, and rest is the message without them. text is the
	// question: the rest without a memory that it states.
	requests []request
	rest     string
	text     string
	// ends is when this attempt answers with what it has. A resumed turn gets its full time again, because waiting for
	// a node is not its fault, and the task has a deadline.
	ends time.Time

	ready     prepared
	query     quote.Query
	found     found
	documents map[string]source.Document
	spent     spent
	// memoriesShown is set once a model has been shown the memories.
	memoriesShown bool
	// late is set if less than a third of the time was left after the last model call.
	late bool
	// slow is set if a call has used its share of the time. Quotes are then chosen by words, so that the answer has the
	// rest of the time.
	slow bool
	// section is the section of a report that is worked on, or nil. sectionWords are the questions of all sections.
	section      *section
	sectionWords string
	// newSummary is set if this turn has summarized the conversation.
	newSummary bool
	// limits are read from the journal, so that changed settings do not affect a resumed turn.
	limits Limits
}

func newTurn(a *Agent, r *task.Run, q thread.Question) *turn {
	limits := a.options.Ordinary
	if q.Research {
		limits = a.options.Research
	}
	requests, rest := requestsIn(q.Text)
	_, text := memoryRequest(rest)
	return &turn{
		requests: requests, rest: rest, text: cmp.Or(text, rest, q.Text), Agent: a, run: r, q: q, limits: limits,
		ends:      a.Clock.Now().Add(limits.Time),
		documents: map[string]source.Document{},
	}
}

// left returns the remaining time.
func (t *turn) left() time.Duration { return t.ends.Sub(t.Clock.Now()) }

// mustAnswerNow reports whether less than a third of the time is left, which is needed for the answer.
func (t *turn) mustAnswerNow() bool { return t.left() < t.limits.Time/3 }

// step runs a stage and journals its result. The result is always decoded from its journaled form, so that a first and
// a resumed attempt see the same.
func step[T any](
	ctx context.Context, t *turn, kind, label string, fn func(ctx context.Context, s *task.Step) (T, error),
) (T, error) {
	var out T
	raw, err := t.run.Step(ctx, kind, t.section.label(label), func(ctx context.Context, s *task.Step) ([]byte, error) {
		v, err := fn(ctx, s)
		if ctx.Err() != nil {
			// Cancelled: a result computed meanwhile does not count.
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

// document returns a document of the agent's sources, and caches it for this attempt.
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

// extractors pools extractors by language, because an extractor caches stems.
type extractors struct{ pools sync.Map }

// use calls do with a pooled extractor.
func (e *extractors) use(language string, do func(*quote.Extractor)) {
	pool, ok := e.pools.Load(language)
	if !ok {
		pool, _ = e.pools.LoadOrStore(language, &sync.Pool{New: func() any { return quote.New(language) }})
	}
	x := pool.(*sync.Pool).Get().(*quote.Extractor)
	defer pool.(*sync.Pool).Put(x)
	do(x)
}
