package rank

import (
	"math/rand/v2"
	"testing"

	"carrel/internal/search/local/segment"
)

func TestProductsOfFourBitsAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, dims := range []int{1, 2, 3, 63, 64, 65, 128, 192, 256, 257, 384, 512} {
		for range 50 {
			x, y := make([]float32, dims), make([]float32, dims)
			for i := range x {
				x[i], y[i] = float32(random.NormFloat64()), float32(random.NormFloat64())
			}
			if random.IntN(4) == 0 { // all extremes
				for i := range x {
					x[i], y[i] = float32(1-2*random.IntN(2)), 1
				}
			}
			_, bytes, _ := segment.Quantise(x, segment.FourBits, nil, nil)
			q := quantise(y)
			v := segment.Vectors{Dims: dims, Bits: segment.FourBits}
			want := int32(0)
			for i := range dims {
				want += int32(v.Value(bytes, i)) * int32(q.bytes[i])
			}
			if fast, plain := dotFour(bytes, &q), dotFourPlain(bytes, q.bytes); fast != want || plain != want {
				t.Fatalf("%d dimensions: %d and %d, want %d", dims, fast, plain, want)
			}
		}
	}
}

func BenchmarkDotFour(b *testing.B) {
	x, y := make([]byte, 128), make([]float32, 256)
	for i := range y {
		y[i] = float32(i%17) - 8
	}
	q := quantise(y)
	b.Run("fast", func(b *testing.B) {
		for b.Loop() {
			dotFour(x, &q)
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			dotFourPlain(x, q.bytes)
		}
	})
}
