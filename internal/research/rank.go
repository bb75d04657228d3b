package research

import (
	"cmp"
	"context"
	"slices"

	"carrel/internal/builtin"
	"carrel/internal/language"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
)

// ranker returns the ranker of sentences for the turn's question, or nil if they are ranked by words: the built-in one
// was trained on English and ranks worse than words in other languages.
func (t *turn) ranker(ctx context.Context) quote.Ranker {
	if t.Ranker == nil {
		return nil
	}
	for _, code := range []string{t.ready.language(t.found.Places), analysis.Guess(t.text)} {
		if cmp.Or(code, language.Default) != language.Default {
			return nil
		}
	}
	return t.Ranker(ctx)
}

// rankedSentences is how many sentences the ranker reads to order passages for the model.
const rankedSentences = 24

// rankPassages moves the passages with the sentences that most likely answer the question to the front. The others stay
// in the order of the search, and so do all if the ranker is too slow or does not know their language.
func (t *turn) rankPassages(ctx context.Context, question string, passages []quote.Passage) []quote.Passage {
	r := t.ranker(ctx)
	if r == nil || !builtin.Fast() || len(passages) < 2 || !isEnglish(analysis.Guess(question)) {
		return passages
	}
	counted := &passageRanker{Ranker: r}
	var order []int
	t.extractors.use(t.ready.language(t.found.Places), func(x *quote.Extractor) {
		ranked := x.Ranked(counted).Rank(x.Ask(question, quote.Talk{}, nil), passages, t.statistics())
		for _, s := range ranked[:min(len(ranked), counted.read)] {
			if !slices.Contains(order, s.Passage) {
				order = append(order, s.Passage)
			}
		}
	})
	out := make([]quote.Passage, 0, len(passages))
	for _, at := range order {
		out = append(out, passages[at])
	}
	for at, p := range passages {
		if !slices.Contains(order, at) {
			out = append(out, p)
		}
	}
	return out
}

// passageRanker is a ranker of sentences for the order of passages. It counts the sentences that it has ranked.
type passageRanker struct {
	quote.Ranker
	read int
}

// Most implements quote.Ranker.
func (r *passageRanker) Most() int { return rankedSentences }

// Rank implements quote.Ranker.
func (r *passageRanker) Rank(question string, candidates []quote.Candidate) []float64 {
	logits := r.Ranker.Rank(question, candidates)
	r.read = len(logits)
	return logits
}
