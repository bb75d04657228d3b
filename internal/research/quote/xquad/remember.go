package xquad

import "carrel/internal/research/quote"

// remembering is a ranker that remembers the logits of the last question, of which an evaluation asks several times.
type remembering struct {
	quote.Ranker
	question string
	logits   map[quote.Candidate]float64
}

// Rank implements quote.Ranker.
func (r *remembering) Rank(question string, candidates []quote.Candidate) []float64 {
	if question != r.question || r.logits == nil {
		r.question, r.logits = question, make(map[quote.Candidate]float64)
	}
	var unknown []quote.Candidate
	for _, c := range candidates {
		if _, known := r.logits[c]; !known {
			unknown = append(unknown, c)
		}
	}
	if len(unknown) > 0 {
		logits := r.Ranker.Rank(question, unknown)
		if len(logits) != len(unknown) {
			return nil
		}
		for i, c := range unknown {
			r.logits[c] = logits[i]
		}
	}
	out := make([]float64, len(candidates))
	for i, c := range candidates {
		out[i] = r.logits[c]
	}
	return out
}
