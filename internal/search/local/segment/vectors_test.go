package segment

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestVectorsRoundTripApproximately(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SampledFrom([]int{1, 5, 63, 64, 65, 130}).Draw(t, "dims")
		bits := rapid.SampledFrom([]int{EightBits, FourBits}).Draw(t, "bits")
		docs := someDocs(dims).Draw(t, "documents")
		s := mustOpen(t, build(t, Options{Model: "m", Dims: dims, Bits: bits, Surface: surfaceOf}, docs))
		m := newModel(docs)
		checkAgainst(t, s, m)
		v, err := s.Vectors()
		if err != nil {
			t.Fatalf("vectors: %v", err)
		}
		name, n := s.Model()
		if n > 0 && v.Bits != bits {
			t.Fatalf("%d bits, want %d", v.Bits, bits)
		}
		if v.Dims != n || (n == 0) != (v.Scales == nil) || (n == dims) != (name == "m") {
			t.Fatalf("model %q %d, vectors of %d", name, n, v.Dims)
		}
		for unit, u := range m.units {
			checkVector(t, s, v, unit, u.Vector)
		}
	})
}

func checkVector(tb rapid.TB, s *Segment, v Vectors, unit int, want []float32) {
	tb.Helper()
	var highest float32
	for _, x := range want {
		highest = max(highest, x, -x)
	}
	if highest/127 == 0 { // zero or almost zero
		if v.Dims > 0 && v.Scales[unit] != 0 {
			tb.Fatalf("unit %d has a vector", unit)
		}
		return
	}
	words := (v.Dims + 63) / 64
	code := v.Codes[unit*words:][:words]
	bytes, err := s.Vector(uint32(unit))
	if err != nil {
		tb.Fatal(err)
	}
	for i, x := range want {
		got := float64(v.Value(bytes, i)) * float64(v.Scales[unit])
		// Values of four bits are cut off above fourBitRange of the largest, and scaled to restore the length.
		within := map[int]float64{EightBits: float64(v.Scales[unit]) * 0.51, FourBits: float64(highest) * 0.35}[v.Bits]
		if math.Abs(got-float64(x)) > within {
			tb.Fatalf("value %d of unit %d: %v, want %v", i, unit, got, x)
		}
		if set := code[i/64]>>(i%64)&1 == 1; set != (x > 0) {
			tb.Fatalf("sign %d of unit %d: %v for %v", i, unit, set, x)
		}
	}
}

func TestVectorWithoutDirectionIsNone(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, vector := range [][]float32{{0, 0}, {nan, 1}, {1, nan}, {inf, 1}, {1, -inf}, {0, math.SmallestNonzeroFloat32}} {
		codes, bytes, scale := Quantise(vector, EightBits, nil, nil)
		if scale != 0 || codes[0] != 0 || bytes[0] != 0 || bytes[1] != 0 {
			t.Errorf("%v: %v %v %v", vector, codes, bytes, scale)
		}
		s := mustOpen(t, build(t, Options{Model: "m", Dims: 2}, []Document{{ID: "1", Units: []Unit{{Vector: vector}}}}))
		if _, dims := s.Model(); dims != 0 {
			t.Errorf("%v makes a segment with vectors", vector)
		}
	}
}

func TestExtremeVectorsStayInRange(t *testing.T) {
	t.Parallel()
	for _, vector := range [][]float32{
		{math.MaxFloat32, -math.MaxFloat32, 0, 1},
		{1e-40, -1e-40, 5e-41, 0}, // too small for an exact scale
		{1, -1, 0.5, -0.5},
	} {
		_, bytes, scale := Quantise(vector, EightBits, nil, nil)
		if scale == 0 || int8(bytes[0]) < 100 || int8(bytes[1]) > -100 {
			t.Errorf("%v: %v × %v", vector, bytes, scale)
		}
	}
}

func TestVectorOfAnotherLengthIsRefused(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Options{Model: "m", Dims: 3})
	b.Add(&Document{ID: "good", Units: []Unit{{Vector: []float32{1, 2, 3}}}})
	b.Add(&Document{ID: "bad", Units: []Unit{{Vector: []float32{1, 2}}}})
	b.Add(&Document{ID: "later", Units: []Unit{{Vector: []float32{1, 2, 3}}}})
	if err := b.Write(newMemory(), "s"); err == nil {
		t.Fatal("written")
	}
}

func TestFourBitsAreTheNearest(t *testing.T) {
	t.Parallel()
	for i := -2000; i <= 2000; i++ {
		v := float32(i) / 100
		want := max(-7, min(7, math.RoundToEven(float64(v)*0.5)))
		if q, square := fourBits(v, 0.5); float64(q) != want || square != int(want*want) {
			t.Fatalf("%v in units of 2 is %d with the square %d, want %v", v, q, square, want)
		}
	}
}
