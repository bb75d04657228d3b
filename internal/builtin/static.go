package builtin

import (
	"math"
	"sync"
	"sync/atomic"
)

const (
	hidden       = 384  // width of the word embeddings and of the ranker
	staticHidden = 1024 // width of the hidden layer of the static vectors

	// wordUnit is the fixed-point unit of word vectors. Values of words stay below 16, and so below 20 bits.
	wordUnit = 1.0 / (1 << 15)
	// sumTokens is the number of tokens whose vectors are added before a 32-bit sum could overflow.
	sumTokens = 1 << 11
)

// word is the static vector of a token: values times 2^shift in units of wordUnit.
type word struct {
	values [Dimensions]int16
	shift  uint64
}

// staticModel computes static vectors. A token's vector v is
//
//	x = normalise(embedding)
//	v = (b·gelu(a·x) + p·x) · w[token]
//
// It is computed when the token is met for the first time and kept, at 576 bytes each. All products are exact in
// integers, and floating-point expressions are written so that the compiler cannot fuse them: see [rounded].
type staticModel struct {
	tokenizer  *tokenizer
	kernel     *kernel
	embeddings []int8 // times a scale, but the scale of a row cancels out
	scales     []float32
	gain, bias []float32
	a, b, p    integerMatrix
	aBias      []float32
	bBias      []float32
	factors    []float32 // w
	words      []atomic.Pointer[word]
	scratch    sync.Pool // of *staticScratch
}

// integerMatrix is a matrix of int16 with a scale for each row.
type integerMatrix struct {
	rows   []int16
	scales []float32
}

type staticScratch struct {
	ids     []uint16
	words   []*word
	sum     [Dimensions]int32
	x       [hidden]float64
	input   [hidden]int16
	sums    [staticHidden]int64
	active  [staticHidden]float64
	actives [staticHidden]int16
	output  [Dimensions]float64
}

func newStaticModel(w *weights, tok *tokenizer, k *kernel) (*staticModel, error) {
	matrix := func(name string, rows, columns int) integerMatrix {
		return integerMatrix{w.int16s(name+".q", rows*columns), w.float32s(name+".s", rows)}
	}
	m := &staticModel{
		tokenizer:  tok,
		kernel:     k,
		embeddings: w.int8s("words.q", vocabularySize*hidden),
		scales:     w.float32s("words.s", vocabularySize),
		gain:       w.float32s("static.ln.w", hidden),
		bias:       w.float32s("static.ln.b", hidden),
		a:          matrix("static.a", staticHidden, hidden),
		b:          matrix("static.b", Dimensions, staticHidden),
		p:          matrix("static.p", Dimensions, hidden),
		aBias:      w.float32s("static.a.b", staticHidden),
		bBias:      w.float32s("static.b.b", Dimensions),
		factors:    w.float32s("static.w", vocabularySize),
		words:      make([]atomic.Pointer[word], vocabularySize),
	}
	m.scratch.New = func() any { return new(staticScratch) }
	return m, w.err
}

func (m *staticModel) embed(text string) []float32 {
	s := m.scratch.Get().(*staticScratch)
	defer m.scratch.Put(s)
	s.ids = m.tokenizer.append(s.ids[:0], text)
	if len(s.ids) == 0 {
		return nil
	}
	if len(s.ids) <= sumTokens {
		clear(s.sum[:])
		m.addWords(s, s.ids)
		return unit(&s.sum)
	}
	var total [Dimensions]int64
	for ids := s.ids; len(ids) > 0; ids = ids[min(sumTokens, len(ids)):] {
		clear(s.sum[:])
		m.addWords(s, ids[:min(sumTokens, len(ids))])
		for i, v := range s.sum {
			total[i] += int64(v)
		}
	}
	s.ids = s.ids[:0:sumTokens] // do not keep the memory of a long text
	return unit(&total)
}

// addWords adds the vectors of at most sumTokens tokens to s.sum.
func (m *staticModel) addWords(s *staticScratch, ids []uint16) {
	s.words = s.words[:0]
	for _, id := range ids {
		w := m.words[id].Load()
		if w == nil {
			w = m.compute(s, int(id))
			m.words[id].Store(w)
		}
		s.words = append(s.words, w)
	}
	m.kernel.addWords(&s.sum, s.words)
}

// unit returns the unit vector of a sum, or nil if the sum is zero. The sum of squares is exact up to 2^53, and every
// operation rounds once.
func unit[T int32 | int64](sum *[Dimensions]T) []float32 {
	var squares float64
	for _, v := range sum {
		squares += rounded(float64(v) * float64(v))
	}
	if squares == 0 {
		return nil
	}
	length := math.Sqrt(squares)
	vector := make([]float32, Dimensions)
	for i, v := range sum {
		vector[i] = float32(float64(v) / length)
	}
	return vector
}

// rounded keeps the compiler from fusing a product with the sum that it is part of: Go only fuses products that are not
// converted explicitly, and fused operations round differently.
func rounded(product float64) float64 { return float64(product) }

// compute returns the vector of a token.
func (m *staticModel) compute(s *staticScratch, id int) *word {
	m.normalise(s, id)
	inputScale := quantise(s.input[:], s.x[:])
	m.kernel.dots(s.sums[:], m.a.rows, s.input[:])
	for i := range s.active {
		s.active[i] = gelu(rounded(rounded(float64(s.sums[i])*float64(m.a.scales[i]))*inputScale) + float64(m.aBias[i]))
	}
	activeScale := quantise(s.actives[:], s.active[:])
	m.kernel.dots(s.sums[:Dimensions], m.b.rows, s.actives[:])
	for i := range s.output {
		v := rounded(rounded(float64(s.sums[i])*float64(m.b.scales[i])) * activeScale)
		s.output[i] = v + float64(m.bBias[i])
	}
	m.kernel.dots(s.sums[:Dimensions], m.p.rows, s.input[:])
	for i := range s.output {
		v := rounded(rounded(float64(s.sums[i])*float64(m.p.scales[i])) * inputScale)
		s.output[i] = rounded((s.output[i] + v) * float64(m.factors[id]))
	}
	return fixedPoint(&s.output)
}

// normalise sets s.x to the normalised embedding of a token. Sums of 8-bit integers are exact.
func (m *staticModel) normalise(s *staticScratch, id int) {
	const epsilon = 1e-5
	row := m.embeddings[id*hidden : (id+1)*hidden]
	var sum, squares int64
	for _, q := range row {
		sum += int64(q)
		squares += int64(q) * int64(q)
	}
	scale := float64(m.scales[id])
	variance := float64(squares*hidden-sum*sum) / (hidden * hidden)
	factor := scale / math.Sqrt(rounded(rounded(variance*scale)*scale)+epsilon)
	mean := float64(sum) / hidden
	for i, q := range row {
		centred := rounded((float64(q) - mean) * factor)
		s.x[i] = rounded(centred*float64(m.gain[i])) + float64(m.bias[i])
	}
}

// quantise rounds values to 16-bit integers, and returns the scale that restores them.
func quantise(dst []int16, values []float64) float64 {
	var largest float64
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		clear(dst)
		return 0
	}
	factor := math.MaxInt16 / largest
	for i, v := range values {
		dst[i] = int16(round(v * factor))
	}
	return largest / math.MaxInt16
}

// round rounds to the nearest integer. Unlike math.Round it is inlined.
func round(x float64) int32 {
	return int32(rounded(x) + math.Copysign(.5, x))
}

// fixedPoint rounds a vector to 16 bits a value, with the least shift that is sufficient for the largest.
func fixedPoint(values *[Dimensions]float64) *word {
	var largest float64
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	w := new(word)
	unit := wordUnit
	for largest/unit >= math.MaxInt16 {
		unit *= 2
		w.shift++
	}
	for i, v := range values {
		w.values[i] = int16(round(v / unit))
	}
	return w
}

const (
	geluLimit = 6.0
	geluSteps = 4096
)

// normalCDF holds the distribution function of the normal distribution from 0 to geluLimit. Rounded to 32 bits it does
// not depend on how a processor computes math.Erf.
var normalCDF = sync.OnceValue(func() *[geluSteps + 2]float32 {
	var table [geluSteps + 2]float32
	for i := range table {
		x := float64(i) * geluLimit / geluSteps
		table[i] = float32(.5 * (1 + math.Erf(x/math.Sqrt2)))
	}
	return &table
})

// gelu returns x times the normal distribution function, to about 1e-7.
func gelu(x float64) float64 {
	at := math.Abs(x) * (geluSteps / geluLimit)
	if at >= geluSteps {
		return max(x, 0)
	}
	table := normalCDF()
	i := int(at)
	low, high := float64(table[i]), float64(table[i+1])
	p := low + rounded((at-float64(i))*(high-low))
	if x < 0 {
		p = 1 - p
	}
	return x * p
}
