// Package research answers one question of a conversation from the sources of an agent: the loop around a model, or
// around none.
//
// One promise holds either way: whatever carries a mark [n] is backed by words that really stand in document n, and
// code has checked it. Without a model the answer is those words themselves. With one it is written from quotes that
// were found in their documents letter by letter, and held to them afterwards; where the model fails, the quotes are
// the answer.
//
// Every stage is a step of the turn's task. A crash resumes at the stage, and what was paid for is in the journal.
//
// What sources say is never believed to be anything but text: it reaches a model only between fences that it cannot
// close, the model has no tools, and no link leaves it that is not a document's own.
package research

import (
	"context"
	"log/slog"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// Deps are what an agent works with.
type Deps struct {
	Search       Search
	Documents    Documents
	Conversation Conversation
	Memories     Memories
	Agents       Agents
	// Spend may be nil where nothing is capped.
	Spend Spend
	// Model may be nil, or one without models: answers are quotes then.
	Model model.Provider
	Clock core.Clock
	Log   *slog.Logger
}

// Options are what an operator may set.
type Options struct {
	// Prices say what the calls of models cost.
	Prices model.Prices
	// Ordinary and Research bound a turn of each kind; what is zero gets its default.
	Ordinary, Research Limits
}

// Limits bound a turn.
type Limits struct {
	// Time is how long the loop may take before it answers with what it has.
	Time time.Duration
	// Rounds of planning, searching and reading, and Searches in all of them.
	Rounds, Searches int
	// Documents are read in a round, and Passages of them shown to the model.
	Documents, Passages int
	// Quotes are kept to write from. Enough of them from EnoughDocuments end the search.
	Quotes, Enough, EnoughDocuments int
	// Tokens are what all calls together may take; at four fifths of it the answer is written.
	Tokens int
	// AnswerTokens bounds the answer.
	AnswerTokens int
}

// Defaults of the limits.
var (
	ordinaryLimits = Limits{
		Time: 90 * time.Second, Rounds: 3, Searches: 12, Documents: 8, Passages: 12,
		Quotes: 8, Enough: 3, EnoughDocuments: 2, Tokens: 100_000, AnswerTokens: 1500,
	}
	researchLimits = Limits{
		Time: 10 * time.Minute, Rounds: 8, Searches: 32, Documents: 12, Passages: 24,
		Quotes: 24, Enough: 16, EnoughDocuments: 8, Tokens: 600_000, AnswerTokens: 4000,
	}
)

func (l Limits) or(d Limits) Limits {
	if l.Time == 0 {
		l.Time = d.Time
	}
	for _, n := range []struct{ have, want *int }{
		{&l.Rounds, &d.Rounds},
		{&l.Searches, &d.Searches},
		{&l.Documents, &d.Documents},
		{&l.Passages, &d.Passages},
		{&l.Quotes, &d.Quotes},
		{&l.Enough, &d.Enough},
		{&l.EnoughDocuments, &d.EnoughDocuments},
		{&l.Tokens, &d.Tokens},
		{&l.AnswerTokens, &d.AnswerTokens},
	} {
		if *n.have == 0 {
			*n.have = *n.want
		}
	}
	return l
}

// Agent answers questions. It implements thread.Answerer, and may be used from many goroutines.
type Agent struct {
	Deps
	options    Options
	extractors extractors
}

var _ thread.Answerer = (*Agent)(nil)

// New returns an agent.
func New(d Deps, o Options) *Agent {
	o.Ordinary, o.Research = o.Ordinary.or(ordinaryLimits), o.Research.or(researchLimits)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Model == nil {
		d.Model, _ = model.New(model.Options{API: model.None}, d.Clock) // which can't fail
	}
	return &Agent{Deps: d, options: o}
}

// Answer answers a question from the sources of its agent.
func (a *Agent) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	t := newTurn(a, r, q)
	answer, err := t.answer(ctx)
	answer.Usage = t.usage()
	return answer, err
}

// answer chooses the way.
func (t *turn) answer(ctx context.Context) (thread.Answer, error) {
	if err := t.prepare(ctx); err != nil {
		return thread.Answer{}, err
	}
	if done, answer, err := t.remember(ctx); done || err != nil {
		return answer, err
	}
	if t.ready.Model == "" {
		return t.answerWithQuotes(ctx)
	}
	return t.answerWithModel(ctx)
}
