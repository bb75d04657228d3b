package builtin

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// Sizes of the ranker.
const (
	layerCount  = 4
	headCount   = 12
	headWidth   = hidden / headCount
	innerWidth  = 4 * hidden // of the feed-forward layers
	panelWidth  = 32
	rowMultiple = 4 // the number of rows of a product is a multiple of it
	maxRows     = maxInput
)

// Kernels for attention use the width of a head as the width of a panel.
var _ [0]struct{} = [headWidth - panelWidth]struct{}{}

// linear is a layer y = W·x + b. Its weights are 8-bit integers in panels, see recipe/convert.py.
type linear struct {
	inputs, outputs int
	panels          []int8
	scales, biases  []float32
}

// gainBias are the parameters of a layer normalisation.
type gainBias struct{ gain, bias []float32 }

type layer struct {
	qkv, output          linear // attention
	up, down             linear // feed-forward
	attended, fedForward gainBias
}

// ranker is a BERT encoder with four layers. Its head reads the first position and the mean of all.
type ranker struct {
	tokenizer      *tokenizer
	kernel         *kernel
	words          []int8
	wordScales     []float32
	positions      []int8
	positionScales []float32
	types          []float32 // of the question and of the sentence
	embedded       gainBias
	layers         [layerCount]layer
	dense          linear
	head           []float32
	headBias       float32
	scratch        sync.Pool // of *rankScratch
}

func newRanker(w *weights, tok *tokenizer, k *kernel) (*ranker, error) {
	linearOf := func(name string, inputs, outputs int) linear {
		return linear{
			inputs, outputs, w.int8s(name+".q", inputs*outputs),
			w.float32s(name+".s", outputs), w.float32s(name+".b", outputs),
		}
	}
	normOf := func(name string) gainBias {
		return gainBias{w.float32s(name+".w", hidden), w.float32s(name+".b", hidden)}
	}
	r := &ranker{
		tokenizer:      tok,
		kernel:         k,
		words:          w.int8s("words.q", vocabularySize*hidden),
		wordScales:     w.float32s("words.s", vocabularySize),
		positions:      w.int8s("positions.q", maxInput*hidden),
		positionScales: w.float32s("positions.s", maxInput),
		types:          w.float32s("types", 2*hidden),
		embedded:       normOf("ln"),
		dense:          linearOf("dense", 2*hidden, hidden),
		head:           w.float32s("head.w", hidden),
		headBias:       w.float32s("head.b", 1)[0],
	}
	for i := range r.layers {
		name := func(part string) string { return fmt.Sprintf("%d.%s", i, part) }
		r.layers[i] = layer{
			qkv:        linearOf(name("qkv"), hidden, 3*hidden),
			output:     linearOf(name("o"), hidden, hidden),
			up:         linearOf(name("f1"), hidden, innerWidth),
			down:       linearOf(name("f2"), innerWidth, hidden),
			attended:   normOf(name("ln1")),
			fedForward: normOf(name("ln2")),
		}
	}
	r.scratch.New = func() any { return newRankScratch() }
	return r, w.err
}

// rankScratch is the memory of one run, about 2.5 MB. Rows after the tokens of an input hold values of earlier runs.
type rankScratch struct {
	x        []float32 // maxRows × hidden
	qkv      []float32 // maxRows × 3·hidden
	inner    []float32 // maxRows × innerWidth
	mixed    []float32 // maxRows × hidden: the sum of a layer before it is added to x
	attended []float32 // maxRows × hidden
	keys     []float32 // headWidth × maxRows: the keys of a head, transposed
	scores   []float32 // maxRows × maxRows
	panel    []float32 // innerWidth × panelWidth
}

func newRankScratch() *rankScratch {
	return &rankScratch{
		x:        make([]float32, maxRows*hidden),
		qkv:      make([]float32, maxRows*3*hidden),
		inner:    make([]float32, maxRows*innerWidth),
		mixed:    make([]float32, maxRows*hidden),
		attended: make([]float32, maxRows*hidden),
		keys:     make([]float32, headWidth*maxRows),
		scores:   make([]float32, maxRows*maxRows),
		panel:    make([]float32, innerWidth*panelWidth),
	}
}

// logit runs the model. It returns false if ctx is cancelled.
func (r *ranker) logit(ctx context.Context, s *rankScratch, in rankInput) (float64, bool) {
	n := len(in.ids)
	rows := (n + rowMultiple - 1) / rowMultiple * rowMultiple
	r.embed(s, in)
	for i := range r.layers {
		l := &r.layers[i]
		r.apply(s, &l.qkv, s.qkv, s.x, rows)
		if ctx.Err() != nil {
			return 0, false
		}
		r.attend(s, n, rows)
		r.apply(s, &l.output, s.mixed, s.attended, rows)
		r.addAndNormalise(s, n, l.attended)
		if ctx.Err() != nil {
			return 0, false
		}
		r.apply(s, &l.up, s.inner, s.x, rows)
		r.kernel.gelu(s.inner[:n*innerWidth])
		if ctx.Err() != nil {
			return 0, false
		}
		r.apply(s, &l.down, s.mixed, s.inner, rows)
		r.addAndNormalise(s, n, l.fedForward)
	}
	return r.pool(s, n), ctx.Err() == nil
}

// embed sets s.x to the normalised sum of the embeddings of words, positions and types.
func (r *ranker) embed(s *rankScratch, in rankInput) {
	for i, id := range in.ids {
		x := s.x[i*hidden:][:hidden]
		word, wordScale := r.words[int(id)*hidden:][:hidden], r.wordScales[id]
		position, positionScale := r.positions[i*hidden:][:hidden], r.positionScales[i]
		kind := r.types[:hidden]
		if i >= in.questionLength {
			kind = r.types[hidden:]
		}
		for j := range x {
			x[j] = float32(word[j])*wordScale + float32(position[j])*positionScale + kind[j]
		}
		normalise(x, r.embedded.gain, r.embedded.bias)
	}
}

// apply sets the rows of dst to the outputs of a layer for the rows of x. Each panel is converted to floating point
// once for all rows, so that the layer takes no memory of its own.
func (r *ranker) apply(s *rankScratch, l *linear, dst, x []float32, rows int) {
	panel := s.panel[:l.inputs*panelWidth]
	for column := 0; column < l.outputs; column += panelWidth {
		r.kernel.widen(panel, l.panels[column*l.inputs:][:len(panel)])
		r.kernel.product(product{
			dst: dst[column:], dstStride: l.outputs,
			a: x, aStride: l.inputs, rows: rows,
			b: panel, bStride: panelWidth, depth: l.inputs,
			scale: (*[panelWidth]float32)(l.scales[column:]),
			bias:  (*[panelWidth]float32)(l.biases[column:]),
		})
	}
}

// addAndNormalise adds s.mixed to s.x and normalises the rows.
func (r *ranker) addAndNormalise(s *rankScratch, n int, p gainBias) {
	for i := range n {
		r.kernel.addNormalise(s.x[i*hidden:][:hidden], s.mixed[i*hidden:][:hidden], p.gain, p.bias)
	}
}

var (
	scoreScale = func() (scale [panelWidth]float32) {
		for i := range scale {
			scale[i] = float32(1 / math.Sqrt(headWidth))
		}
		return scale
	}()
	ones = func() (scale [panelWidth]float32) {
		for i := range scale {
			scale[i] = 1
		}
		return scale
	}()
	zeros [panelWidth]float32
)

// attend sets s.attended to the values of all heads, weighted by the softmax of queries times keys.
func (r *ranker) attend(s *rankScratch, n, rows int) {
	const width = 3 * hidden
	columns := (n + panelWidth - 1) / panelWidth * panelWidth
	for head := range headCount {
		query, key, value := head*headWidth, hidden+head*headWidth, 2*hidden+head*headWidth
		transpose(s.keys, columns, s.qkv[key:], width, n)
		for column := 0; column < columns; column += panelWidth {
			r.kernel.product(product{
				dst: s.scores[column:], dstStride: columns,
				a: s.qkv[query:], aStride: width, rows: rows,
				b: s.keys[column:], bStride: columns, depth: headWidth,
				scale: &scoreScale, bias: &zeros,
			})
		}
		for i := range n {
			r.kernel.softmax(s.scores[i*columns:][:columns], n)
		}
		r.kernel.product(product{
			dst: s.attended[query:], dstStride: hidden,
			a: s.scores, aStride: columns, rows: rows,
			b: s.qkv[value:], bStride: width, depth: n,
			scale: &ones, bias: &zeros,
		})
	}
}

// transpose sets the columns of keys, which has headWidth rows, to n rows of src. Further columns are zero.
func transpose(keys []float32, columns int, src []float32, stride, n int) {
	for d := range headWidth {
		clear(keys[d*columns+n : (d+1)*columns])
	}
	for i := range n {
		for d, v := range src[i*stride:][:headWidth] {
			keys[d*columns+i] = v
		}
	}
}

// pool applies the head to the first row and the mean of all rows.
func (r *ranker) pool(s *rankScratch, n int) float64 {
	x := s.inner[:rowMultiple*2*hidden]
	copy(x, s.x[:hidden])
	mean := x[hidden : 2*hidden]
	clear(mean)
	for i := range n {
		for j, v := range s.x[i*hidden:][:hidden] {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float32(n)
	}
	r.apply(s, &r.dense, s.mixed, x, rowMultiple)
	logit := float64(r.headBias)
	for j, w := range r.head {
		logit += float64(w) * math.Tanh(float64(s.mixed[j]))
	}
	return logit
}
