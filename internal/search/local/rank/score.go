package rank

import (
	"math"

	"carrel/internal/search/local/segment"
)

// points is a fixed-point score. Integer sums do not depend on their order, so every node computes the same score to
// the last bit.
type points int64

// one is the score 1.0.
const one points = 1 << 32

func (s points) float() float64 { return float64(s) / float64(one) }

// saturation computes the BM25 term frequency factor f·(k1+1)/(f + k1·(1-b+b·length/average)): each further occurrence
// counts less, and all count less in a longer unit.
type saturation struct {
	flat, slope float64 // the norm of a unit is flat + slope·length
}

func newSaturation(average float64) saturation {
	s := saturation{flat: segment.K1 * (1 - segment.B)}
	if average > 0 {
		s.slope = segment.K1 * segment.B / average
	} else {
		s.flat = segment.K1 // no unit has a length
	}
	return s
}

// The conversion keeps the compiler from fusing the multiplication and the addition, which would round differently.
func (s saturation) norm(length uint32) float64 { return s.flat + float64(s.slope*float64(length)) }

// score returns the score of a term frequency in a unit of this norm. Gain is the upper limit of the term's score.
func score(gain float64, frequency uint8, norm float64) points {
	f := float64(frequency)
	return points(gain * f / (f + norm))
}

// bound returns an upper limit of the scores in a block, from the block's bound (see segment.Postings). Shrink accounts
// for the difference between the average lengths of the segment and of the query's sources; the added point covers
// rounding.
func bound(gain float64, quotient float32, shrink float64) points {
	return points(gain/(1+float64(quotient)*shrink)) + 1
}

// idf returns the weight of a term by the number of units that hold it. It is positive even for a term that all units
// hold.
func idf(units, holders int) float64 {
	n, h := float64(units), float64(holders)
	return math.Log(1 + (n-h+0.5)/(h+0.5))
}

// massOne is the weight 1.0 in the sums that decide whether a document is counted. They are integers for the same
// reason as points, and small because there is one sum per document.
const massOne = 1 << 16

func mass(count int, idf float64) uint32 { return uint32(math.Round(float64(count) * idf * massOne)) }
