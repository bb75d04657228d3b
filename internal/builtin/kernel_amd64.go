package builtin

import (
	"math"

	"golang.org/x/sys/cpu"
)

var avx2Kernel = kernel{
	name:     "avx2",
	fast:     true,
	addWords: addWordsSIMD,
	dots:     dotsSIMD,
	widen: func(dst []float32, src []int8) {
		_ = dst[:len(src)]
		widenAVX2(&dst[0], &src[0], len(src))
	},
	product: productAVX2,
	gelu:    func(x []float32) { geluAVX2(&x[0], len(x)) },
	softmax: softmaxSIMD,
	addNormalise: func(x, add, gain, bias []float32) {
		_, _, _, _ = x[hidden-1], add[hidden-1], gain[hidden-1], bias[hidden-1]
		addNormaliseAVX2(&x[0], &add[0], &gain[0], &bias[0])
	},
}

// avx512Kernel differs from avx2Kernel in the products, which take nearly all the time.
var avx512Kernel = func() kernel {
	k := avx2Kernel
	k.name, k.dots, k.product = "avx512", dotsWide, productAVX512
	return k
}()

// kernels lists the kernels that the processor can run, the fastest first.
var kernels = func() []*kernel {
	var list []*kernel
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW {
			list = append(list, &avx512Kernel)
		}
		list = append(list, &avx2Kernel)
	}
	return append(list, &plainKernel)
}()

var bestKernel = kernels[0]

func addWordsSIMD(sum *[Dimensions]int32, words []*word) {
	if len(words) > 0 {
		addWordsAVX2(sum, &words[0], len(words))
	}
}

func dotsSIMD(dst []int64, rows, vectors []int16) {
	n, width := len(dst)/blockWords, len(vectors)/blockWords
	_ = rows[:n*width]
	dotsAVX2(&dst[0], n, &rows[0], &vectors[0], width)
}

func dotsWide(dst []int64, rows, vectors []int16) {
	n, width := len(dst)/blockWords, len(vectors)/blockWords
	_ = rows[:n*width]
	dotsAVX512(&dst[0], n, &rows[0], &vectors[0], width)
}

// productAVX2 computes tiles of six rows and sixteen columns, and of four rows where six do not fit.
func productAVX2(p product) {
	p.check()
	const half = panelWidth / 2
	for column := 0; column < panelWidth; column += half {
		tile, height := product6x16, 6
		for row := 0; row < p.rows; row += height {
			if left := p.rows - row; left == 4 || left == 8 {
				tile, height = product4x16, 4
			}
			tile(&p.dst[row*p.dstStride+column], 4*p.dstStride, &p.a[row*p.aStride], 4*p.aStride,
				&p.b[column], 4*p.bStride, p.depth, &p.scale[column], &p.bias[column])
		}
	}
}

// productAVX512 computes tiles of twelve rows, and of eight or four at the end.
func productAVX512(p product) {
	p.check()
	for row := 0; row < p.rows; {
		tile, height := product12x32, 12
		switch left := p.rows - row; {
		case left < 8:
			tile, height = product4x32, 4
		case left < 12:
			tile, height = product8x32, 8
		}
		tile(&p.dst[row*p.dstStride], 4*p.dstStride, &p.a[row*p.aStride], 4*p.aStride,
			&p.b[0], 4*p.bStride, p.depth, &p.scale[0], &p.bias[0])
		row += height
	}
}

func softmaxSIMD(x []float32, n int) {
	end := (n + 7) / 8 * 8
	for i := n; i < end; i++ {
		x[i] = -math.MaxFloat32
	}
	softmaxAVX2(&x[0], end)
}

//go:noescape
func addWordsAVX2(sum *[Dimensions]int32, words **word, n int)

//go:noescape
func dotsAVX2(dst *int64, n int, rows, vectors *int16, width int)

//go:noescape
func dotsAVX512(dst *int64, n int, rows, vectors *int16, width int)

//go:noescape
func widenAVX2(dst *float32, src *int8, n int)

//go:noescape
func product6x16(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
	scale, bias *float32)

//go:noescape
func product4x16(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
	scale, bias *float32)

//go:noescape
func addNormaliseAVX2(x, add, gain, bias *float32)

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func softmaxAVX2(x *float32, n int)

//go:noescape
func product12x32(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
	scale, bias *float32)

//go:noescape
func product8x32(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
	scale, bias *float32)

//go:noescape
func product4x32(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
	scale, bias *float32)
