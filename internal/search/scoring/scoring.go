// Package scoring computes the scores of passages and documents from term frequencies, positions and embeddings. All
// engines rank by it.
package scoring

import "math"

// The parameters of BM25, and the weight of a word in the title.
const (
	K1          = 1.2
	B           = 0.75
	TitleWeight = 3
)

// RerankDepth is how many of the best documents are reranked by the proximity of the query's words. Two and four times
// as many do not improve the first ten.
const RerankDepth = 50

// Points is a fixed-point score. Integer sums do not depend on their order, so every node computes the same score to
// the last bit.
type Points int64

// One is the score 1.0.
const One Points = 1 << 32

// Float returns the score as a number.
func (s Points) Float() float64 { return float64(s) / float64(One) }

// Saturation computes the BM25 term frequency factor f·(k1+1)/(f + k1·(1-b+b·length/average)): each further occurrence
// counts less, and all count less in a longer passage.
type Saturation struct {
	flat, slope float64 // the norm of a passage is flat + slope·length
}

// NewSaturation returns the saturation for passages of this average length.
func NewSaturation(average float64) Saturation {
	s := Saturation{flat: K1 * (1 - B)}
	if average > 0 {
		s.slope = K1 * B / average
	} else {
		s.flat = K1 // no passage has a length
	}
	return s
}

// Norm returns the part of the factor that depends on the length of a passage.
//
// The conversion keeps the compiler from fusing the multiplication and the addition, which would round differently.
func (s Saturation) Norm(length uint32) float64 { return s.flat + float64(s.slope*float64(length)) }

// Score returns the score of a term frequency in a passage of this norm. Gain is the upper limit of the term's score.
func Score(gain float64, frequency uint8, norm float64) Points {
	f := float64(frequency)
	return Points(gain * f / (f + norm))
}

// Gain returns the upper limit of the score of a term that occurs count times in the query.
func Gain(count int, idf float64) float64 { return float64(count) * idf * (K1 + 1) * float64(One) }

// IDF returns the weight of a term by the number of passages that hold it. It is positive even for a term that all
// passages hold.
func IDF(passages, holders int) float64 {
	n, h := float64(passages), float64(holders)
	return math.Log(1 + (n-h+0.5)/(h+0.5))
}

// massOne is the weight 1.0 in the sums that decide whether a document is counted. They are integers for the same
// reason as Points, and small because there is one sum per document.
const massOne = 1 << 16

// Mass returns the weight of a term that occurs count times in the query.
func Mass(count int, idf float64) uint32 { return uint32(math.Round(float64(count) * idf * massOne)) }

// Spread scales numbers to 0..1. NaN, an unknown value, becomes 0.
func Spread(x []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, v := range x {
		switch {
		case math.IsNaN(v):
			x[i] = 0
		case high > low:
			x[i] = (v - low) / (high - low)
		default:
			x[i] = 1
		}
	}
}

// Fuse combines the scores of documents by words and by embedding, both scaled by Spread, and returns their fused
// scores. The sum is scaled to the best score by words, so that the scores can be compared with those of sources
// without embeddings. It changes both slices.
func Fuse(words, dense []float64, weight float64) []Points {
	scale := float64(One)
	best := 0.0
	for _, w := range words {
		best = max(best, w)
	}
	if best > 0 {
		scale *= best
	}
	Spread(words)
	Spread(dense)
	out := make([]Points, len(words))
	for i := range words {
		// The conversions keep the compiler from fusing the operations, which would round differently.
		out[i] = Points((float64((1-weight)*words[i]) + float64(weight*dense[i])) * scale)
	}
	return out
}
