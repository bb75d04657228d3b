package research

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// Access decides who may use an agent.
type Access interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Library is the stored documents of an agent. Its methods do not check access.
type Library interface {
	SourcesOf(ctx context.Context, userID, agentID string) ([]source.Source, error)
	// IndexWarnings returns a warning for each source whose documents are not all indexed.
	IndexWarnings(sources []source.Source) []source.Warning
	// FindPassages returns the documents that match a text, best first, each with its best passage.
	FindPassages(ctx context.Context, sources []source.Source, text string, limit int) ([]search.Hit, error)
	// DocumentsIn returns the documents with these ids, in any order.
	DocumentsIn(ctx context.Context, sources []source.Source, ids []string) ([]source.Document, error)
	// DocumentOf returns a document. One outside of the agent's sources is not_found.
	DocumentOf(ctx context.Context, userID, agentID, documentID string) (source.Document, error)
	// Statistics counts the passages of the sources that hold each term.
	Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error)
}

// TextCheckerDeps are the dependencies of a TextChecker.
type TextCheckerDeps struct {
	Access  Access
	Agents  Agents
	Library Library
	Clock   core.Clock
	// Model may have no models; texts are then judged by rules only.
	Model model.Provider `dep:"optional"`
	// Payer may be nil if there are no spending caps.
	Payer ModelPayer `dep:"optional"`
	// Ranker returns the ranker that orders evidence in English; nil orders it by words.
	Ranker func(ctx context.Context) quote.Ranker `dep:"optional"`
	Log    *slog.Logger                           `dep:"optional"`
}

// TextCheckerOptions are the settings of a TextChecker.
type TextCheckerOptions struct {
	// Prices are the costs of model calls.
	Prices model.Prices
	// NoJudge turns off the model's judgement.
	NoJudge bool
	// Time limits the model's judgement of a text; 0 means a minute.
	Time time.Duration
	// MaxRunning is how many texts are compared with documents at a time; others wait. 0 means one for each processor,
	// and at least two. The model's judgement does not count.
	MaxRunning int
}

// TextChecker judges the sentences of a user's text by the documents of an agent: for each sentence it finds evidence,
// and judges the sentence by it with the rules for answers. A model, if there is one, judges the sentences that the
// rules leave open. It is safe for concurrent use.
type TextChecker struct {
	TextCheckerDeps
	options TextCheckerOptions
	running chan struct{}
}

// NewTextChecker returns a checker.
func NewTextChecker(d TextCheckerDeps, o TextCheckerOptions) *TextChecker {
	core.RequireDeps(d)
	o.Time, o.MaxRunning = cmp.Or(o.Time, time.Minute), cmp.Or(o.MaxRunning, max(2, runtime.GOMAXPROCS(0)))
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Model == nil {
		d.Model, _ = model.New(model.Options{API: model.None}, d.Clock) // never fails
	}
	return &TextChecker{TextCheckerDeps: d, options: o, running: make(chan struct{}, o.MaxRunning)}
}

// Draft is a text to check.
type Draft struct {
	Text string
	// SourceIDs and DocumentIDs limit the documents that are evidence; empty means all.
	SourceIDs, DocumentIDs []string
	// Markdown requests CheckedText.Markdown.
	Markdown bool
}

// CheckedText is the result of checking a text.
type CheckedText struct {
	Sentences []CheckedSentence
	// Counts is the number of sentences in each state.
	Counts map[thread.CheckState]int
	// Incomplete is why the model did not judge all open sentences, or nil.
	Incomplete *Incomplete
	Warnings   []source.Warning
	// Markdown is the text with notes, if it was requested.
	Markdown string
	// Usage is nil if no model was called.
	Usage *thread.Usage
}

// Incomplete is a reason why sentences stayed cited.
type Incomplete struct{ Code, Detail string }

// CheckedSentence is a sentence of the text. Its offsets count code points of the text as it was given.
type CheckedSentence struct {
	thread.Check
	// Evidence are quotes on the subject of the sentence. The ones that decided come first.
	Evidence []Evidence
}

// Stance is the relation of evidence to a sentence.
type Stance string

// The stances. Related evidence is on the subject, but was not judged or does not decide.
const (
	Supports    Stance = "supports"
	Contradicts Stance = "contradicts"
	Related     Stance = "related"
)

// Evidence is a verbatim quote on the subject of a sentence.
type Evidence struct {
	thread.Citation
	Stance Stance
}

var draftRule = core.TextRule{Min: 1, Max: 20_000}

// CheckText checks a text. A source that the agent does not have is invalid, and a document outside of the agent's
// sources is not_found.
func (c *TextChecker) CheckText(
	ctx context.Context, actor core.Actor, agentID string, d Draft,
) (CheckedText, error) {
	if err := c.Access.Allow(ctx, actor, core.OpCheckText, agentID); err != nil {
		return CheckedText{}, err
	}
	if detail := draftRule.Check(d.Text); detail != "" {
		return CheckedText{}, core.InvalidField("/text", detail)
	}
	a, err := c.Agents.Agent(ctx, actor.UserID, agentID)
	if err != nil {
		return CheckedText{}, err
	}
	t, err := c.compare(ctx, actor, agentID, d)
	if err != nil {
		return CheckedText{}, err
	}
	if models := c.Model.Models(); len(models) > 0 && !c.options.NoJudge {
		if err := t.judgeWithModel(ctx, cmp.Or(a.Model, models[0])); err != nil {
			return CheckedText{}, err
		}
	}
	return t.result(d.Markdown), nil
}

// compare judges the sentences of a text by rules, when fewer than MaxRunning texts are being compared.
func (c *TextChecker) compare(ctx context.Context, actor core.Actor, agentID string, d Draft) (*textCheck, error) {
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t, err := c.open(ctx, actor, agentID, d)
	if err != nil {
		return nil, err
	}
	if err := t.gather(ctx, d.DocumentIDs); err != nil {
		return nil, err
	}
	return t, t.judge(ctx)
}

// textCheck is the check of one text.
type textCheck struct {
	*TextChecker
	actor     core.Actor
	agentID   string
	text      string
	language  string
	sources   []source.Source
	sentences []CheckedSentence
	claims    []*claim
	readers   map[string]*passageReader // by language of the sources

	incomplete *Incomplete
	spent      spent
	model      string
}

// open splits the text into claims and selects the sources.
func (c *TextChecker) open(ctx context.Context, actor core.Actor, agentID string, d Draft) (*textCheck, error) {
	t := &textCheck{TextChecker: c, actor: actor, agentID: agentID, text: d.Text}
	all, err := c.Library.SourcesOf(ctx, actor.UserID, agentID)
	if err != nil {
		return nil, err
	}
	t.sources = all
	if len(d.SourceIDs) > 0 {
		t.sources = nil
		for _, src := range all {
			if slices.Contains(d.SourceIDs, src.ID) {
				t.sources = append(t.sources, src)
			}
		}
		for _, id := range d.SourceIDs {
			if !slices.ContainsFunc(t.sources, func(src source.Source) bool { return src.ID == id }) {
				return nil, core.InvalidField("/sourceIds", "This agent has no such source.")
			}
		}
	}
	t.split()
	return t, nil
}

// result collects the sentences.
func (t *textCheck) result(withMarkdown bool) CheckedText {
	out := CheckedText{
		Sentences: t.sentences, Counts: make(map[thread.CheckState]int), Incomplete: t.incomplete,
		Warnings: t.Library.IndexWarnings(t.sources),
	}
	for _, s := range t.sentences {
		out.Counts[s.State]++
	}
	if t.spent.Calls > 0 {
		out.Usage = t.spent.usage(t.model)
	}
	if withMarkdown {
		out.Markdown = annotate(t.text, t.sentences)
	}
	return out
}
