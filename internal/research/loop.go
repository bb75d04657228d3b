package research

import (
	"context"

	"carrel/internal/thread"
)

// answerWithModel gathers quotes in rounds and has the model write the answer from them.
func (t *turn) answerWithModel(ctx context.Context) (thread.Answer, error) {
	g := &gathered{}
	if err := t.gather(ctx, g); err != nil {
		return thread.Answer{}, err
	}
	answer, err := t.conclude(ctx, g)
	if t.memoriesShown {
		answer.MemoriesUsed = t.ready.Memories
	}
	if g.question != "" && len(t.ready.Talk) > 0 && g.question != t.q.Text {
		answer.Query = g.question
	}
	return answer, err
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

// gather plans, searches, reads and chooses quotes until there are enough, no new passages are found, or a limit is
// reached. All decisions depend on the journal, so that a resumed turn repeats them.
func (t *turn) gather(ctx context.Context, g *gathered) error {
	for round := 1; round <= t.limits.Rounds; round++ {
		lookups, err := t.plan(ctx, g, round)
		if err != nil {
			return err
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
		passages, err := t.read(ctx, places)
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
		if g.failure != nil || g.timeShort || g.exhausted || g.enough(t.limits) {
			return nil
		}
	}
	return nil
}
