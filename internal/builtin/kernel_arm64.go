package builtin

// neonKernel is available on all 64-bit ARM processors. Functions that take little time stay in Go, whose compiler
// uses fused instructions there.
var neonKernel = kernel{
	name: "neon",
	fast: true,
	addWords: func(sum *[Dimensions]int32, words []*word) {
		if len(words) > 0 {
			addWordsNEON(sum, &words[0], len(words))
		}
	},
	dots: func(dst []int64, rows, vectors []int16) {
		n, width := len(dst)/blockWords, len(vectors)/blockWords
		_ = rows[:n*width]
		for i := range blockWords {
			dotsNEON(&dst[i*n], n, &rows[0], &vectors[i*width], width)
		}
	},
	widen: func(dst []float32, src []int8) {
		_ = dst[:len(src)]
		widenNEON(&dst[0], &src[0], len(src))
	},
	product:      productNEON,
	gelu:         geluPlain,
	softmax:      softmaxPlain,
	addNormalise: addNormalisePlain,
}

// kernels lists the kernels that the processor can run, the fastest first.
var kernels = []*kernel{&neonKernel, &plainKernel}

var bestKernel = kernels[0]

// productNEON computes tiles of four rows and sixteen columns.
func productNEON(p product) {
	p.check()
	const half = panelWidth / 2
	for column := 0; column < panelWidth; column += half {
		for row := 0; row < p.rows; row += rowMultiple {
			product4x16(&p.dst[row*p.dstStride+column], 4*p.dstStride, &p.a[row*p.aStride], 4*p.aStride,
				&p.b[column], 4*p.bStride, p.depth, &p.scale[column], &p.bias[column])
		}
	}
}

//go:noescape
func addWordsNEON(sum *[Dimensions]int32, words **word, n int)

//go:noescape
func dotsNEON(dst *int64, n int, rows, x *int16, width int)

//go:noescape
func widenNEON(dst *float32, src *int8, n int)

//go:noescape
func product4x16(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
	scale, bias *float32)
