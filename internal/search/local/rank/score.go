package rank

import "carrel/internal/search/scoring"

// points is the score of a candidate.
type points = scoring.Points

// one is the score 1.0.
const one = scoring.One

// bound returns an upper limit of the scores in a block, from the block's bound (see segment.Postings). Shrink accounts
// for the difference between the average lengths of the segment and of the query's sources; the added point covers
// rounding.
func bound(gain float64, quotient float32, shrink float64) points {
	return points(gain/(1+float64(quotient)*shrink)) + 1
}
