package research_test

import (
	"context"
	"sync"

	quotepkg "carrel/internal/research/quote"
)

// rankedPair is a question with a candidate. Its logit does not depend on other candidates.
type rankedPair struct {
	question  string
	candidate quotepkg.Candidate
}

// rankedPairs holds the logits of the built-in ranker for all tests of this package, which ask the same questions of
// the same documents. Without it, the ranker takes more than half of their processor time.
var rankedPairs sync.Map

// rememberingRanker is the built-in ranker with the logits in rankedPairs.
type rememberingRanker struct {
	quotepkg.Ranker
	ctx context.Context
}

func newRememberingRanker(ctx context.Context) quotepkg.Ranker {
	return rememberingRanker{quotepkg.Builtin(ctx), ctx}
}

// Rank implements quote.Ranker.
func (r rememberingRanker) Rank(question string, candidates []quotepkg.Candidate) []float64 {
	logits := make([]float64, len(candidates))
	var unknown []quotepkg.Candidate
	var places []int
	for i, c := range candidates {
		if logit, known := rankedPairs.Load(rankedPair{question, c}); known {
			logits[i] = logit.(float64)
		} else {
			unknown, places = append(unknown, c), append(places, i)
		}
	}
	if r.ctx.Err() != nil || len(candidates) == 0 {
		return r.Ranker.Rank(question, candidates) // no order when the context has ended
	}
	if len(unknown) == 0 {
		return logits
	}
	found := r.Ranker.Rank(question, unknown)
	if len(found) != len(unknown) {
		return nil
	}
	for i, c := range unknown {
		logits[places[i]] = found[i]
		rankedPairs.Store(rankedPair{question, c}, found[i])
	}
	return logits
}
