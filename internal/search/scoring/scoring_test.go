package scoring

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNearnessEqualsComparingAllPositions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []int {
			out := rapid.SliceOfNDistinct(rapid.IntRange(1, 120), 0, 40, rapid.ID).Draw(t, label)
			slices.Sort(out)
			return out
		}
		first, second := draw("first"), draw("second")
		adjacent, within := 0, 0
		for _, x := range first {
			for _, y := range second {
				if y == x+1 {
					adjacent++
				}
				if y-x <= nearDistance && x-y <= nearDistance {
					within++
				}
			}
		}
		gotAdjacent, gotWithin := Near(first, second)
		if int(gotAdjacent) != min(adjacent, 255) || int(gotWithin) != min(within, 255) {
			t.Fatalf("%d adjacent and %d near, want %d and %d", gotAdjacent, gotWithin, adjacent, within)
		}
	})
}

// Each further occurrence counts, but less; a longer passage counts less; a rarer term counts more.
func TestScoresGrowWithFrequencyAndRarity(t *testing.T) {
	t.Parallel()
	s := NewSaturation(100)
	gain := 5 * float64(One)
	last, step := Points(0), Points(1<<62)
	for f := uint8(1); f < 255; f++ {
		now := Score(gain, f, s.Norm(100))
		if now <= last || now-last > step {
			t.Fatalf("frequency %d scores %d after %d", f, now, last)
		}
		last, step = now, now-last
	}
	if limit := Points(gain); last >= limit {
		t.Errorf("the score %d is above its limit %d", last, limit)
	}
	if short, long := Score(gain, 3, s.Norm(10)), Score(gain, 3, s.Norm(1000)); short <= long {
		t.Errorf("a short passage scores %d, a long one %d", short, long)
	}
	for holders := 1; holders < 1000; holders++ {
		if IDF(1000, holders) <= IDF(1000, holders+1) || IDF(1000, holders+1) <= 0 {
			t.Fatalf("%d holders weigh %f, one more %f", holders, IDF(1000, holders), IDF(1000, holders+1))
		}
	}
	if got := NewSaturation(0).Norm(0); got != K1 {
		t.Errorf("passages without length have the norm %f", got)
	}
}
