package rank

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNearCodesAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 7, 8, 9, 63, 64, 65, 100, 1000, 1016, 1023, 1024} {
		codes, code := make([]uint64, 4*n), []uint64{random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}
		for i := range codes {
			codes[i] = random.Uint64()
		}
		copy(codes, code) // distance 0
		for _, share := range []float64{0, 0.05, 0.5, 1} {
			within := make([]uint64, (n+63)/64)
			for i := range n {
				if random.Float64() < share {
					within[i/64] |= 1 << (i % 64)
				}
			}
			for _, limit := range []int{0, 100, 128, 135, 256} {
				var want []uint16
				for i := range n {
					if within[i/64]>>(i%64)&1 == 1 && distance(codes[4*i:][:4], code) <= limit {
						want = append(want, uint16(i))
					}
				}
				checkNear(t, codes, code, limit, within, want)
			}
		}
	}
}

func checkNear(t *testing.T, codes, code []uint64, limit int, within []uint64, want []uint16) {
	t.Helper()
	var near [nearChunk]uint16
	for name, found := range map[string]int{
		"fast": nearCodes(codes, code, limit, within, &near),
		"all":  nearCodes(codes, code, limit, everyUnit[:], new([nearChunk]uint16)),
	} {
		if name == "fast" {
			got := slices.DeleteFunc(slices.Clone(near[:found]), func(i uint16) bool {
				return within[i/64]>>(i%64)&1 == 0 // allowed without vector instructions
			})
			if !slices.Equal(got, want) || hasNearEight && len(codes) >= 32 && found != len(want) {
				t.Fatalf("%d codes, limit %d: %v, want %v", len(codes)/4, limit, near[:found], want)
			}
		} else if found < len(want) {
			t.Fatalf("%d codes, limit %d: %d of all, fewer than %d", len(codes)/4, limit, found, len(want))
		}
	}
	n := nearCodesPlain(codes, code, limit, within, 0, &near)
	if !slices.Equal(near[:n], want) {
		t.Fatalf("%d codes, limit %d, plain: %v, want %v", len(codes)/4, limit, near[:n], want)
	}
}

func TestScalarNearCodesAgree(t *testing.T) {
	t.Parallel()
	if !hasNearCodes {
		t.Skip("no instruction to count bits")
	}
	random := rand.New(rand.NewPCG(5, 6))
	codes, code := make([]uint64, 4*nearChunk), []uint64{1, 2, 3, 4}
	for i := range codes {
		codes[i] = random.Uint64()
	}
	for _, limit := range []int{0, 120, 128, 256} {
		var fast, plain [nearChunk]uint16
		x := nearCodesFast(&codes[0], nearChunk, &code[0], limit, &fast[0])
		if y := nearCodesPlain(codes, code, limit, everyUnit[:], 0, &plain); x != y || fast != plain {
			t.Errorf("limit %d: %d codes, and %d without the instruction", limit, x, y)
		}
	}
}

func BenchmarkNearCodes(b *testing.B) {
	random := rand.New(rand.NewPCG(7, 8))
	codes, code := make([]uint64, 4*nearChunk), []uint64{1 << 62, 1 << 61, ^uint64(0), 5}
	for i := range codes {
		codes[i] = random.Uint64()
	}
	var near [nearChunk]uint16
	b.Run("fast", func(b *testing.B) {
		for b.Loop() {
			nearCodes(codes, code, 90, everyUnit[:], &near)
		}
	})
	b.Run("scalar", func(b *testing.B) {
		if !hasNearCodes {
			b.Skip("no instruction to count bits")
		}
		for b.Loop() {
			nearCodesFast(&codes[0], nearChunk, &code[0], 90, &near[0])
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			nearCodesPlain(codes, code, 90, everyUnit[:], 0, &near)
		}
	})
}
