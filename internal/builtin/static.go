package builtin

import (
	"math"
	"slices"
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

// wordBlock holds the vectors of tokens with consecutive numbers, which are computed together. The vocabulary is in the
// order of frequency, so a text that needs one of them will be followed by texts that need the others.
type wordBlock [blockWords]word

const (
	blockWords = 4
	// groupBlocks is the number of blocks that are computed at once, and tileRows the number of rows of a matrix that are
	// multiplied with all of them, because a matrix does not fit into the first caches of a processor.
	groupBlocks = 4
	groupWords  = groupBlocks * blockWords
	tileRows    = 16
)

// staticModel computes static vectors. A token's vector v is
//
//	x = normalise(embedding)
//	v = (b·gelu(a·x) + p·x) · w[token]
//
// It is computed when a token of its block is met for the first time and kept, at 576 bytes each. All products are
// exact in integers, and floating-point expressions are written so that the compiler cannot fuse them: see [rounded].
type staticModel struct {
	tokenizer  *tokenizer
	kernel     *kernel
	embeddings []int8 // times a scale, but the scale of a row cancels out
	scales     []float32
	gain, bias []float64
	a, b, p    integerMatrix
	aBias      []float64
	bBias      []float64
	factors    []float32 // w
	blocks     []atomic.Pointer[wordBlock]
	scratch    sync.Pool // of *staticScratch
}

// integerMatrix is a matrix of int16 with a scale for each row.
type integerMatrix struct {
	rows   []int16
	scales []float64
}

type staticScratch struct {
	ids     []uint16
	ends    []int // of the tokens of each text
	known   knownWords
	missing []uint16 // blocks
	words   []*word
	sum     [Dimensions]int32

	// of a word
	x [hidden]float64
	// of a group of words
	inputs       [groupWords * hidden]int16
	inputScales  [groupWords]float64
	active       [groupWords * staticHidden]float64
	actives      [groupWords * staticHidden]int16
	activeScales [groupWords]float64
	outputs      [groupWords * Dimensions]float64
	direct       [groupWords * Dimensions]float64
}

func newStaticModel(w *weights, tok *tokenizer, k *kernel) (*staticModel, error) {
	// Values are converted once: a conversion in a loop would make each step wait for the last one.
	float64s := func(name string, n int) []float64 {
		var out []float64
		for _, v := range w.float32s(name, n) {
			out = append(out, float64(v))
		}
		return out
	}
	matrix := func(name string, rows, columns int) integerMatrix {
		return integerMatrix{w.int16s(name+".q", rows*columns), float64s(name+".s", rows)}
	}
	m := &staticModel{
		tokenizer:  tok,
		kernel:     k,
		embeddings: w.int8s("words.q", vocabularySize*hidden),
		scales:     w.float32s("words.s", vocabularySize),
		gain:       float64s("static.ln.w", hidden),
		bias:       float64s("static.ln.b", hidden),
		a:          matrix("static.a", staticHidden, hidden),
		b:          matrix("static.b", Dimensions, staticHidden),
		p:          matrix("static.p", Dimensions, hidden),
		aBias:      float64s("static.a.b", staticHidden),
		bBias:      float64s("static.b.b", Dimensions),
		factors:    w.float32s("static.w", vocabularySize),
		blocks:     make([]atomic.Pointer[wordBlock], (vocabularySize+blockWords-1)/blockWords),
	}
	m.scratch.New = func() any { return new(staticScratch) }
	return m, w.err
}

func (m *staticModel) embed(texts []string) [][]float32 {
	s := m.scratch.Get().(*staticScratch)
	defer m.scratch.Put(s)
	s.ids, s.ends = s.ids[:0], s.ends[:0]
	for _, text := range texts {
		s.ids = m.tokenizer.append(s.ids, text, &s.known)
		s.ends = append(s.ends, len(s.ids))
	}
	m.computeMissing(s)
	vectors := make([][]float32, len(texts))
	first := 0
	for i, end := range s.ends {
		vectors[i] = m.mean(s, s.ids[first:end])
		first = end
	}
	if cap(s.ids) > maxKeptTokens {
		s.ids = nil // do not keep the memory of long texts
	}
	return vectors
}

// maxKeptTokens is the number of tokens for which the memory is kept.
const maxKeptTokens = 1 << 16

// computeMissing computes the blocks of s.ids that are not known yet. Two goroutines may compute the same.
func (m *staticModel) computeMissing(s *staticScratch) {
	s.missing = s.missing[:0]
	for _, id := range s.ids {
		if m.blocks[id/blockWords].Load() == nil {
			s.missing = append(s.missing, id/blockWords)
		}
	}
	if len(s.missing) == 0 {
		return
	}
	slices.Sort(s.missing)
	s.missing = slices.Compact(s.missing)
	for group := range slices.Chunk(s.missing, groupBlocks) {
		m.compute(s, group)
	}
	if cap(s.missing) > maxKeptTokens {
		s.missing = nil
	}
}

// mean returns the unit vector of tokens.
func (m *staticModel) mean(s *staticScratch, ids []uint16) []float32 {
	if len(ids) <= sumTokens {
		clear(s.sum[:])
		m.addWords(s, ids)
		return unit(&s.sum)
	}
	var total [Dimensions]int64
	for part := range slices.Chunk(ids, sumTokens) {
		clear(s.sum[:])
		m.addWords(s, part)
		for i, v := range s.sum {
			total[i] += int64(v)
		}
	}
	return unit(&total)
}

// addWords adds the vectors of at most sumTokens tokens to s.sum.
func (m *staticModel) addWords(s *staticScratch, ids []uint16) {
	s.words = s.words[:0]
	for _, id := range ids {
		s.words = append(s.words, &m.blocks[id/blockWords].Load()[id%blockWords])
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

// compute computes a group of at most groupBlocks blocks.
func (m *staticModel) compute(s *staticScratch, blocks []uint16) {
	n := len(blocks) * blockWords
	token := func(i int) int {
		return min(int(blocks[i/blockWords])*blockWords+i%blockWords, vocabularySize-1) // the last block is not full
	}
	for i := range n {
		m.normalise(s, token(i))
		s.inputScales[i] = quantise(s.inputs[i*hidden:][:hidden], s.x[:])
	}
	inputs, scales := s.inputs[:n*hidden], s.inputScales[:n]
	m.multiply(s.active[:n*staticHidden], &m.a, inputs, scales)
	for i := range n {
		active := s.active[i*staticHidden:][:staticHidden]
		addGELU(active, m.aBias)
		s.activeScales[i] = quantise(s.actives[i*staticHidden:][:staticHidden], active)
	}
	m.multiply(s.outputs[:n*Dimensions], &m.b, s.actives[:n*staticHidden], s.activeScales[:n])
	m.multiply(s.direct[:n*Dimensions], &m.p, inputs, scales)
	for j, number := range blocks {
		block := new(wordBlock)
		for i := range block {
			at := j*blockWords + i
			output, direct := s.outputs[at*Dimensions:][:Dimensions], s.direct[at*Dimensions:][:Dimensions]
			factor := float64(m.factors[token(at)])
			for d, v := range output {
				output[d] = rounded((v + m.bBias[d] + direct[d]) * factor)
			}
			block[i] = fixedPoint(output)
		}
		m.blocks[number].Store(block)
	}
}

// multiply sets dst to the products of a matrix with vectors, each with its scale.
func (m *staticModel) multiply(dst []float64, a *integerMatrix, vectors []int16, scales []float64) {
	var sums [blockWords * tileRows]int64
	width := len(vectors) / len(scales)
	for row := 0; row < len(a.scales); row += tileRows {
		tile, tileScales := a.rows[row*width:][:tileRows*width], a.scales[row:][:tileRows]
		for first := 0; first < len(scales); first += blockWords {
			m.kernel.dots(sums[:], tile, vectors[first*width:][:blockWords*width])
			for i, scale := range scales[first:][:blockWords] {
				out := dst[(first+i)*len(a.scales)+row:][:tileRows]
				for j, sum := range sums[i*tileRows:][:tileRows] {
					out[j] = rounded(rounded(float64(sum)*tileScales[j]) * scale)
				}
			}
		}
	}
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
		s.x[i] = rounded(centred*m.gain[i]) + m.bias[i]
	}
}

// quantise rounds values to 16-bit integers, and returns the scale that restores them.
func quantise(dst []int16, values []float64) float64 {
	largest := largestOf(values)
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

// largestOf returns the largest magnitude. Magnitudes are in the order of their bits, which are compared faster.
func largestOf(values []float64) float64 {
	const sign = 1 << 63
	var largest uint64
	for _, v := range values {
		largest = max(largest, math.Float64bits(v)&^sign)
	}
	return math.Float64frombits(largest)
}

// round rounds to the nearest integer. Unlike math.Round it is inlined.
func round(x float64) int32 {
	return int32(rounded(x) + math.Copysign(.5, x))
}

// fixedPoint rounds a vector to 16 bits a value, with the least shift that is sufficient for the largest.
func fixedPoint(values []float64) word {
	largest := largestOf(values)
	var w word
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

// normalCDF holds the distribution function of the normal distribution from 0 to geluLimit, and how much it grows until
// the next step. Rounded to 32 bits it does not depend on how a processor computes math.Erf.
var normalCDF = sync.OnceValue(func() *cdfTable {
	var table cdfTable
	cdf := func(step int) float64 {
		x := float64(step) * geluLimit / geluSteps
		return float64(float32(.5 * (1 + math.Erf(x/math.Sqrt2))))
	}
	for i := range table {
		table[i] = [2]float64{cdf(i), cdf(i+1) - cdf(i)}
	}
	return &table
})

type cdfTable [geluSteps + 1][2]float64

// addGELU adds a bias to each value, and replaces it with the value times its normal distribution function, to about
// 1e-7.
func addGELU(values, bias []float64) {
	cdf := normalCDF()
	bias = bias[:len(values)]
	for i, v := range values {
		values[i] = gelu(cdf, v+bias[i])
	}
}

func gelu(cdf *cdfTable, x float64) float64 {
	at := math.Abs(x) * (geluSteps / geluLimit)
	entry := &cdf[min(int(at), geluSteps)] // the last one is 1 and does not grow
	p := entry[0] + rounded((at-math.Floor(at))*entry[1])
	// 1-p for negative values: both differences are exact.
	return x * (.5 + math.Copysign(p-.5, x))
}
