package research

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// intent is the decision about a message, from its words and the plan.
type intent struct {
	kinds    []kind
	requests []request
	// lookups are the searches of the first round.
	lookups []lookup
	// answers are the numbers of the earlier answers that a transformation works on; empty means the last one.
	answers []int
}

func (i intent) has(k kind) bool { return slices.Contains(i.kinds, k) }

// answerWithModel decides what kind of message it is, carries out the actions that it asks for, and replies.
func (t *turn) answerWithModel(ctx context.Context) (thread.Answer, error) {
	if err := t.summarize(ctx); err != nil {
		return thread.Answer{}, err
	}
	if firstPerson.MatchString(foldSentence(t.q.Text)) {
		t.showAllMemories()
	}
	g := &gathered{}
	what, err := t.understand(ctx, g)
	if err != nil {
		return thread.Answer{}, err
	}
	if !what.has(kindSources) {
		t.showAllMemories()
	}
	var actions []thread.Action
	if what.has(kindAction) {
		if actions, err = t.act(ctx, what.requests); err != nil {
			return thread.Answer{}, err
		}
	}
	answer, err := t.answerAfter(ctx, actions, len(what.kinds) == 1 && what.has(kindAction),
		func() (thread.Answer, error) { return t.respond(ctx, g, what) })
	if t.memoriesShown {
		answer.MemoriesUsed = t.ready.Memories
	}
	if t.newSummary {
		answer.Summary = t.ready.Summary
	}
	if what.has(kindSources) && g.question != "" && len(t.ready.Talk) > 0 && g.question != t.q.Text {
		answer.Query = g.question
	}
	return answer, err
}

// answerWithoutModel carries out the actions that the message asks for by its words, and answers the rest with quotes,
// or with fixed texts if it is no question.
func (t *turn) answerWithoutModel(ctx context.Context) (thread.Answer, error) {
	_, choosing := chosen(t.q.Text, len(t.ready.Choices))
	choosing = choosing && len(t.ready.Choices) > 0
	if len(t.requests) == 0 && !choosing {
		if answer, done, err := t.talkWithoutModel(ctx); done || err != nil {
			return answer, err
		}
		return t.answerWithQuotes(ctx)
	}
	actions, err := t.act(ctx, t.requests)
	if err != nil {
		return thread.Answer{}, err
	}
	only := choosing || t.rest == "" || guessKind(t.rest, false).smallTalk
	return t.answerAfter(ctx, actions, only, func() (thread.Answer, error) { return t.answerWithQuotes(ctx) })
}

// answerAfter replies to the message after its actions, whose outcomes precede the reply. If it asks for nothing but
// actions, the outcomes are the reply.
func (t *turn) answerAfter(
	ctx context.Context, actions []thread.Action, only bool, respond func() (thread.Answer, error),
) (thread.Answer, error) {
	outcome := t.actionTexts().describe(actions)
	if only {
		outcome = cmp.Or(outcome, t.actionTexts().nothing)
		t.run.Delta(outcome)
		return thread.Answer{Text: outcome, Actions: actions, Checks: wholeText(outcome)}, nil
	}
	if outcome != "" {
		outcome += "\n\n"
		t.run.Delta(outcome)
	}
	answer, err := respond()
	if outcome == "" {
		return answer, err
	}
	if told := core.AsError(err); err != nil && ctx.Err() == nil && told.Kind != core.KindInternal {
		// The actions are done, so the turn has not failed.
		answer, err = thread.Answer{Text: told.Detail, Partial: true}, nil
	}
	answer.Actions = actions
	shift := utf8.RuneCountInString(outcome)
	for i := range answer.Checks {
		answer.Checks[i].Start += shift
		answer.Checks[i].End += shift
	}
	answer.Checks = append(wholeText(strings.TrimSpace(outcome)), answer.Checks...)
	answer.Text = outcome + answer.Text
	return answer, err
}

// wholeText returns the check of a text by this package, which states nothing that a source could back.
func wholeText(text string) []thread.Check {
	if text == "" {
		return nil
	}
	return []thread.Check{{End: utf8.RuneCountInString(text), State: thread.Talk}}
}

// respond replies to everything in a message but actions.
func (t *turn) respond(ctx context.Context, g *gathered, what intent) (thread.Answer, error) {
	earlier := t.earlierAnswers(what.answers)
	switch {
	case what.has(kindTransformation) && len(earlier) > 0 && !what.has(kindSources):
		return t.transform(ctx, earlier)
	case what.has(kindSources), what.has(kindTransformation) && len(earlier) > 0:
		if what.has(kindTransformation) {
			for _, q := range material(earlier) {
				g.add([]evidence{{q.Quote, leastRelevance}})
			}
		}
		return t.answerFromSources(ctx, g, what)
	}
	answer, declined, err := t.converse(ctx)
	if declined {
		// The message needs facts after all.
		return t.answerFromSources(ctx, g, what)
	}
	return answer, err
}

// answerFromSources answers from the sources: with a report in research turns, except if earlier answers are needed.
func (t *turn) answerFromSources(ctx context.Context, g *gathered, what intent) (thread.Answer, error) {
	if t.q.Research && !what.has(kindTransformation) {
		return t.answerWithReport(ctx, g, what)
	}
	return t.answerInRounds(ctx, g, what)
}

// answerInRounds gathers quotes in rounds and has the model write the answer from them.
func (t *turn) answerInRounds(ctx context.Context, g *gathered, what intent) (thread.Answer, error) {
	if err := t.gather(ctx, g, t.firstLookups(g, what)); err != nil {
		return thread.Answer{}, err
	}
	if len(g.evidence) == 0 {
		return t.answerWithoutEvidence(ctx, g)
	}
	return t.conclude(ctx, g)
}

// firstLookups returns the searches of the plan, or a search for the words of the message.
func (t *turn) firstLookups(g *gathered, what intent) []lookup {
	if len(what.lookups) == 0 {
		what.lookups = []lookup{t.ownLookup()}
		g.lookups = slices.Clone(what.lookups)
	}
	return what.lookups
}

// answerWithoutEvidence answers if no quote was found. A message without content words that was planned as a search is
// then a conversation.
func (t *turn) answerWithoutEvidence(ctx context.Context, g *gathered) (thread.Answer, error) {
	nothing := len(g.passages) == 0 && g.failure == nil && t.found.Failed == 0
	if nothing && guessKind(t.text, len(t.ready.Talk) > 0).has(kindConversation) {
		answer, declined, err := t.converse(ctx)
		if !declined {
			return answer, err
		}
	}
	return t.conclude(ctx, g)
}

// conclude answers from what was gathered.
func (t *turn) conclude(ctx context.Context, g *gathered) (thread.Answer, error) {
	switch {
	case t.found.Searches > 0 && t.found.Failed == t.found.Searches:
		return thread.Answer{}, t.found.Error.err()
	case len(g.evidence) > 0:
		return t.compose(ctx, g)
	case g.failure != nil:
		return t.quote(ctx, g.passages, nil, quoteReason{Failure: g.failure})
	}
	return t.quote(ctx, g.passages, nil, quoteReason{Unanswered: len(g.passages) > 0})
}

// gather searches, reads and chooses quotes, and plans further searches, until there are enough quotes, no new passages
// are found, or a limit is reached. All decisions depend on the journal, so that a resumed turn repeats them.
func (t *turn) gather(ctx context.Context, g *gathered, lookups []lookup) error {
	for round := 1; round <= t.limits.Rounds; round++ {
		if round > 1 {
			var err error
			if lookups, err = t.planMore(ctx, g); err != nil {
				return err
			}
		}
		lookups = lookups[:min(len(lookups), t.limits.Searches-t.found.Searches)]
		if len(lookups) == 0 {
			return nil
		}
		places, err := t.search(ctx, lookups)
		if err != nil {
			return err
		}
		if places = g.next(places, t.limits.Documents, t.q.Research); len(places) == 0 {
			return nil
		}
		passages, err := t.read(ctx, cmp.Or(g.question, t.text), places, t.limits.Passages)
		if err != nil {
			return err
		}
		g.passages = append(g.passages, passages...)
		if g.failure != nil || len(passages) == 0 {
			return nil // the model failed to plan; the passages are quoted instead
		}
		if err := t.chooseEvidence(ctx, g, passages); err != nil {
			return err
		}
		if g.failure != nil || t.slow || g.timeShort || g.exhausted || g.enough(t.limits) {
			return nil
		}
	}
	return nil
}

// understand decides what kind of message it is. A plan is not needed for greetings, for questions about the agent, the
// user or the thread, and for messages that only ask for actions.
func (t *turn) understand(ctx context.Context, g *gathered) (intent, error) {
	what := intent{requests: t.requests}
	earlier := len(t.earlierAnswers(nil)) > 0
	by := guessKind(t.rest, earlier)
	_, choosing := chosen(t.q.Text, len(t.ready.Choices))
	switch {
	case len(t.requests) > 0 && t.rest == "", choosing && len(t.ready.Choices) > 0:
		what.kinds = []kind{kindAction}
		return what, nil
	case by.sure && len(by.kinds) == 1 && by.has(kindConversation):
		what.kinds = by.kinds
	default:
		p, err := t.planFirst(ctx, g)
		if err != nil {
			return intent{}, err
		}
		what.kinds, what.lookups, what.answers = decideKinds(p.kinds, by), p.lookups, p.answers
		for _, r := range p.requests {
			known := slices.ContainsFunc(what.requests, func(o request) bool { return o.Kind == r.Kind })
			if !known && userAsksFor(r, t.q.Text) {
				what.requests = append(what.requests, r)
			}
		}
	}
	what.kinds = slices.DeleteFunc(slices.Clone(what.kinds), func(k kind) bool { return k == kindAction })
	if len(what.requests) > 0 {
		what.kinds = append(what.kinds, kindAction)
	}
	if len(what.kinds) == 0 {
		what.kinds = by.kinds // an action that the user did not ask for
	}
	if severalAnswers.MatchString(foldSentence(t.rest)) && len(what.answers) == 0 {
		for _, e := range lastAnswered(t.ready.Talk, 2) {
			what.answers = append(what.answers, e+1)
		}
	}
	return what, nil
}

// ownLookup searches for the words of the message.
func (t *turn) ownLookup() lookup {
	return lookup{Text: clip(cmp.Or(t.query.Text, t.text), longestQuery)}
}

// quoteOfCitation returns a citation as a quote.
func quoteOfCitation(c thread.Citation) quote.Quote {
	return quote.Quote{
		DocumentID: c.DocumentID, SourceID: c.SourceID, Title: c.Title, Year: c.Year, Page: c.Page,
		Text: c.Quote, Start: c.Start, End: c.End,
	}
}
