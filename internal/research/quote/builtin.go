package quote

import (
	"context"

	"carrel/internal/builtin"
)

// Candidates that the built-in ranker is given, with and without vector instructions, to take a similar time.
const (
	mostCandidates     = 14
	mostCandidatesSlow = 2
)

// Builtin returns the built-in ranker. It was trained on English texts. When the context ends, it keeps the order by
// words.
func Builtin(ctx context.Context) Ranker { return builtinRanker{ctx} }

type builtinRanker struct {
	ctx context.Context // of the one question
}

// Most implements Ranker.
func (builtinRanker) Most() int {
	if builtin.Fast() {
		return mostCandidates
	}
	return mostCandidatesSlow
}

// Similarities implements Ranker.
func (builtinRanker) Similarities(question string, texts []string) []float64 {
	vectors := builtin.Embed(append([]string{question}, texts...)...)
	asked := vectors[0]
	if asked == nil {
		return nil
	}
	out := make([]float64, len(texts))
	for i, vector := range vectors[1:] {
		for d, x := range vector {
			out[i] += float64(x) * float64(asked[d])
		}
	}
	return out
}

// Rank implements Ranker.
func (r builtinRanker) Rank(question string, candidates []Candidate) []float64 {
	sentences := make([]builtin.Sentence, len(candidates))
	for i, c := range candidates {
		sentences[i] = builtin.Sentence(c)
	}
	logits, err := builtin.Rank(r.ctx, question, sentences)
	if err != nil {
		return nil
	}
	return logits
}
