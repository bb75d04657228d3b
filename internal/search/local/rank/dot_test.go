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

func TestNearCodesAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 7, 1000, 1024} {
		codes, code := make([]uint64, 4*n), []uint64{random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}
		for i := range codes {
			codes[i] = random.Uint64()
		}
		copy(codes, code) // distance 0
		for _, limit := range []int{0, 100, 128, 256} {
			var fast, plain [1024]uint16
			if x, y := nearCodes(codes, code, limit, &fast), nearCodesPlain(codes, code, limit, &plain); x != y ||
				fast != plain || x == 0 || limit == 256 && x != n {
				t.Fatalf("%d codes within %d bits of %d, and %d without the instruction", x, limit, n, y)
			}
		}
	}
}

func BenchmarkNearCodes(b *testing.B) {
	codes, code := make([]uint64, 4*1024), []uint64{1 << 62, 1 << 61, ^uint64(0), 5}
	var near [1024]uint16
	b.Run("fast", func(b *testing.B) {
		for b.Loop() {
			nearCodes(codes, code, 60, &near)
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			nearCodesPlain(codes, code, 60, &near)
		}
	})
}
