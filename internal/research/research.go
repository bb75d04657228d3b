// Package research answers a question of a conversation from the sources of an agent, with or without a model.
//
// Every citation [n] is backed by words that are in document n, which code has verified. Without a model the answer
// consists of these words. With a model it is written from verbatim quotes and checked against them; if the model
// fails, the quotes are the answer.
//
// A research turn with a model answers with a report: the model outlines it, and its sections are searched together and
// written and checked one by one. An interrupted report keeps its finished sections.
//
// With a model, a message can also be a conversation, a transformation of earlier answers, or a request for an action.
// None of them searches.
//
// Every stage is a step of the turn's task, so that a turn resumes after a crash without repeating paid calls.
//
// Text from sources is untrusted: it reaches a model only in fences that it cannot close, the model has no tools, and
// replies contain only links to documents.
package research

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// Deps are the dependencies of an Agent.
type Deps struct {
	Search       Search
	Documents    Documents
	Conversation Conversation
	Memories     Memories
	// Favourites may be nil if there are none.
	Favourites Favourites
	Agents     Agents
	// Spend may be nil if there are no spending caps.
	Spend Spend
	// Model may be nil or have no models; answers are then quotes.
	Model model.Provider
	// Ranker returns the ranker of sentences in English; nil ranks them by words.
	Ranker func(ctx context.Context) quote.Ranker
	Clock  core.Clock
	Log    *slog.Logger
}

// Options are the settings of an Agent.
type Options struct {
	// Prices are the costs of model calls.
	Prices model.Prices
	// Ordinary and Research limit the two kinds of turns; zero fields get their defaults.
	Ordinary, Research Limits
	// NoJudge turns off the model's judgement of sentences in ordinary turns. Research turns always have it.
	NoJudge bool
	// ProgressInterval is how often a running model call reports its progress; 0 means every 5 seconds.
	ProgressInterval time.Duration
}

// Limits limit a turn.
type Limits struct {
	// Time is how long the turn may take; then it answers with what it has.
	Time time.Duration
	// Rounds of planning, searching and reading, and Searches in all of them.
	Rounds, Searches int
	// Documents is how many documents a round reads, and Passages how many passages the model is shown.
	Documents, Passages int
	// Quotes is how many quotes the answer is written from. Enough quotes from EnoughDocuments documents end the
	// search.
	Quotes, Enough, EnoughDocuments int
	// Tokens is the budget of all calls; after four fifths of it the answer is written.
	Tokens int
	// AnswerTokens limits the answer, and History the earlier conversation that the model is shown.
	AnswerTokens, History int
}

// Default limits.
var (
	ordinaryLimits = Limits{
		Time: 90 * time.Second, Rounds: 3, Searches: 12, Documents: 8, Passages: 12,
		Quotes: 8, Enough: 3, EnoughDocuments: 2, Tokens: 100_000, AnswerTokens: 1500, History: 4000,
	}
	researchLimits = Limits{
		Time: 10 * time.Minute, Rounds: 8, Searches: 32, Documents: 12, Passages: 24,
		Quotes: 24, Enough: 16, EnoughDocuments: 8, Tokens: 600_000, AnswerTokens: 4000, History: 8000,
	}
)

func (l Limits) orDefaults(d Limits) Limits {
	return Limits{
		Time:            cmp.Or(l.Time, d.Time),
		Rounds:          cmp.Or(l.Rounds, d.Rounds),
		Searches:        cmp.Or(l.Searches, d.Searches),
		Documents:       cmp.Or(l.Documents, d.Documents),
		Passages:        cmp.Or(l.Passages, d.Passages),
		Quotes:          cmp.Or(l.Quotes, d.Quotes),
		Enough:          cmp.Or(l.Enough, d.Enough),
		EnoughDocuments: cmp.Or(l.EnoughDocuments, d.EnoughDocuments),
		Tokens:          cmp.Or(l.Tokens, d.Tokens),
		AnswerTokens:    cmp.Or(l.AnswerTokens, d.AnswerTokens),
		History:         cmp.Or(l.History, d.History),
	}
}

// Agent answers questions. It implements thread.Answerer and is safe for concurrent use.
type Agent struct {
	Deps
	options     Options
	extractors  extractors
	suggestions suggestions
}

var _ thread.Answerer = (*Agent)(nil)

// New returns an agent.
func New(d Deps, o Options) *Agent {
	o.Ordinary, o.Research = o.Ordinary.orDefaults(ordinaryLimits), o.Research.orDefaults(researchLimits)
	o.ProgressInterval = cmp.Or(o.ProgressInterval, progressInterval)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Model == nil {
		d.Model, _ = model.New(model.Options{API: model.None}, d.Clock) // never fails
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

func (t *turn) answer(ctx context.Context) (thread.Answer, error) {
	if err := t.prepare(ctx); err != nil {
		return thread.Answer{}, err
	}
	if done, answer, err := t.remember(ctx); done || err != nil {
		return answer, err
	}
	if t.ready.Model == "" {
		return t.answerWithoutModel(ctx)
	}
	return t.answerWithModel(ctx)
}
