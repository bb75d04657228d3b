package scoring

// Weights of proximity relative to the words themselves: a pair of consecutive query words is adjacent in a passage, or
// within nearDistance words.
const (
	nearWeight   = 0.4
	nearAdjacent = 0.67
	nearWithin   = 0.33
	nearDistance = 8
)

// PairGains returns the upper limits of the scores of two consecutive terms of a query for being adjacent and for being
// near each other.
func PairGains(first, second float64) (adjacent, within float64) {
	gain := nearWeight * (first + second) / 2 * (K1 + 1) * float64(One)
	return gain * nearAdjacent, gain * nearWithin
}

// MaxPair returns the highest score that two consecutive terms can reach.
func MaxPair(first, second float64) Points {
	return Points(nearWeight*(first+second)/2*(K1+1)*float64(One)) + 1
}

// Near returns how often a term directly follows another, and how often the two are near each other, given the
// positions of both in ascending order.
func Near(first, second []int) (adjacent, within uint8) {
	const most = 255 // as for frequencies
	a, w := 0, 0
	from := 0
	for _, at := range first {
		for from < len(second) && second[from] < at-nearDistance {
			from++
		}
		for _, other := range second[from:] {
			if other > at+nearDistance {
				break
			}
			w++
			if other == at+1 {
				a++
			}
		}
	}
	return uint8(min(a, most)), uint8(min(w, most))
}
