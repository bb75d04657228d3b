package rank

import (
	"math"

	"carrel/internal/search/segment"
)

// points is a score in fixed point. Sums of whole numbers do not depend on their order, so that a document scores
// the same to the last bit whichever of its terms are added first, on every node.
type points int64

// one is the score 1.
const one points = 1 << 32

func (s points) float() float64 { return float64(s) / float64(one) }

// saturation says what a term's frequency is worth in units of a length: each further occurrence adds less, and less
// in a longer unit. It is BM25's f·(k1+1)/(f + k1·(1-b+b·length/average)), the constant parts computed once.
type saturation struct {
	flat, slope float64 // the norm of a unit is flat + slope·length
}

func newSaturation(average float64) saturation {
	s := saturation{flat: segment.K1 * (1 - segment.B)}
	if average > 0 {
		s.slope = segment.K1 * segment.B / average
	} else {
		s.flat = segment.K1 // nothing has a length to compare
	}
	return s
}

// norm is written so that no machine may fuse the multiplication with the addition, which would round differently.
func (s saturation) norm(length uint32) float64 { return s.flat + float64(s.slope*float64(length)) }

// score is what a frequency in a unit of this norm is worth, gain being the most that the term can be worth.
func score(gain float64, frequency uint8, norm float64) points {
	f := float64(frequency)
	return points(gain * f / (f + norm))
}

// bound is more than any posting of a block scores, by the block's bound (see segment.Postings). Shrink is what the
// difference between the segment's average length and the query's may do to it; one point covers rounding.
func bound(gain float64, quotient float32, shrink float64) points {
	return points(gain/(1+float64(quotient)*shrink)) + 1
}

// idf is the weight of a term that this many of the units hold. It is positive even for one that all hold.
func idf(units, holders int) float64 {
	n, h := float64(units), float64(holders)
	return math.Log(1 + (n-h+0.5)/(h+0.5))
}

// massOne is the weight 1 in the sums that decide whether a document is worth counting: whole numbers for the same
// reason as points, small ones because there is a sum for each document.
const massOne = 1 << 16

func mass(count int, idf float64) uint32 { return uint32(math.Round(float64(count) * idf * massOne)) }
