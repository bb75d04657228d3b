package builtin

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomFloats(r *rand.Rand, n int, scale float64) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64() * scale)
	}
	return list
}

func largestDifference(a, b []float32) float64 {
	var worst float64
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return d
		}
		worst = max(worst, d)
	}
	return worst
}

// slowProduct computes a product in double precision.
func slowProduct(p product) []float32 {
	dst := slices.Clone(p.dst)
	for i := range p.rows {
		for j := range panelWidth {
			var sum float64
			for k := range p.depth {
				sum += float64(p.a[i*p.aStride+k]) * float64(p.b[k*p.bStride+j])
			}
			dst[i*p.dstStride+j] = float32(sum*float64(p.scale[j]) + float64(p.bias[j]))
		}
	}
	return dst
}

func TestProductsOfAllKernelsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range kernels {
		for range 60 {
			p := product{rows: rowMultiple * (1 + r.IntN(10)), depth: 1 + r.IntN(100)}
			p.dstStride, p.aStride, p.bStride = panelWidth+r.IntN(9), p.depth+r.IntN(9), panelWidth+r.IntN(9)
			p.dst = randomFloats(r, p.rows*p.dstStride, 1) // values between the rows must stay
			p.a = randomFloats(r, (p.rows-1)*p.aStride+p.depth, 1)
			p.b = randomFloats(r, (p.depth-1)*p.bStride+panelWidth, 1)
			p.scale = (*[panelWidth]float32)(randomFloats(r, panelWidth, 1))
			p.bias = (*[panelWidth]float32)(randomFloats(r, panelWidth, 1))
			want := slowProduct(p)
			k.product(p)
			if d := largestDifference(p.dst, want); !(d < 2e-4) {
				t.Fatalf("%s: a product of %d rows and depth %d differs by %v", k.name, p.rows, p.depth, d)
			}
		}
	}
}

func TestProductOutsideItsSlicesPanics(t *testing.T) {
	for _, k := range kernels {
		p := product{
			dst: make([]float32, 4*panelWidth), dstStride: panelWidth, a: make([]float32, 4*3), aStride: 3, rows: 4,
			b: make([]float32, 3*panelWidth-1), bStride: panelWidth, depth: 3, scale: &ones, bias: &zeros,
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", k.name)
				}
			}()
			k.product(p)
		}()
	}
}

func TestElementwiseFunctionsOfAllKernelsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range kernels {
		x := append(randomFloats(r, 4096, 2), 0, 1e-30, -1e-30, 5.7, -5.7, 100, -100, 8)
		got := slices.Clone(x)
		k.gelu(got)
		for i, v := range x {
			want := float64(v) * .5 * (1 + math.Erf(float64(v)/math.Sqrt2))
			if d := math.Abs(float64(got[i]) - want); !(d < 1e-6) {
				t.Fatalf("%s: gelu(%v) = %v, want %v", k.name, v, got[i], want)
			}
		}
		for n := 1; n <= maxInput; n++ {
			x := randomFloats(r, (n+panelWidth-1)/panelWidth*panelWidth, 20)
			testSoftmax(t, k, x, n)
		}
		for range 20 {
			x, add := randomFloats(r, hidden, 3), randomFloats(r, hidden, 2)
			gain, bias := randomFloats(r, hidden, 1), randomFloats(r, hidden, 1)
			want := slices.Clone(x)
			addNormalisePlain(want, add, gain, bias)
			k.addNormalise(x, add, gain, bias)
			if d := largestDifference(x, want); !(d < 1e-5) {
				t.Fatalf("%s: a normalised row differs by %v", k.name, d)
			}
		}
	}
}

func testSoftmax(t *testing.T, k *kernel, x []float32, n int) {
	t.Helper()
	want := make([]float64, n)
	largest, sum := float64(slices.Max(x[:n])), 0.0
	for i, v := range x[:n] {
		want[i] = math.Exp(float64(v) - largest)
		sum += want[i]
	}
	k.softmax(x, n)
	for i, v := range want {
		if d := math.Abs(v/sum - float64(x[i])); !(d < 1e-6) {
			t.Fatalf("%s: softmax of %d values differs by %v", k.name, n, d)
		}
	}
}

func TestIntegerFunctionsOfAllKernelsAreEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, k := range kernels {
		for _, width := range []int{128, 384, 1024} {
			rows, x := make([]int16, 3*width), make([]int16, blockWords*width)
			for i := range rows {
				rows[i] = int16(r.IntN(2*8191+1) - 8191)
			}
			for i := range x {
				x[i] = int16(r.IntN(2*math.MaxInt16+1) - math.MaxInt16)
			}
			for i := range width { // the largest sums
				rows[i], rows[width+i], x[i%(width/2)], x[len(x)-1-i] = 8191, -8191, math.MaxInt16, -math.MaxInt16
			}
			got, want := make([]int64, 3*blockWords), make([]int64, 3*blockWords)
			k.dots(got, rows, x)
			dotsPlain(want, rows, x)
			if !slices.Equal(got, want) {
				t.Errorf("%s: products of width %d are %v, want %v", k.name, width, got, want)
			}
		}
		for n := range 9 {
			words := make([]*word, n)
			for i := range words {
				words[i] = &word{shift: uint64(r.IntN(5))}
				for j := range words[i].values {
					words[i].values[j] = int16(r.IntN(1<<16) - 1<<15)
				}
			}
			got := [Dimensions]int32{0: 7, 255: -7}
			want := got
			k.addWords(&got, words)
			addWordsPlain(&want, words)
			if got != want {
				t.Errorf("%s: the sum of %d words differs", k.name, n)
			}
		}
		src := make([]int8, 8*panelWidth)
		for i := range src {
			src[i] = int8(i)
		}
		got, want := make([]float32, len(src)), make([]float32, len(src))
		k.widen(got, src)
		widenPlain(want, src)
		if !slices.Equal(got, want) {
			t.Errorf("%s: widened integers differ", k.name)
		}
	}
}
