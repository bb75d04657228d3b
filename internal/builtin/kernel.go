package builtin

import "math"

// kernel is a set of the inner loops for one kind of processor. All kernels return the same integers, and
// floating-point results that differ by rounding only.
type kernel struct {
	name string
	fast bool // uses vector instructions

	// addWords adds the vectors of words to sum.
	addWords func(sum *[Dimensions]int32, words []*word)
	// dots sets dst to the products of all rows with the first of blockWords vectors, then with the second, and so on.
	// Their length is a multiple of 128, and values of rows are at most 8191.
	dots func(dst []int64, rows, vectors []int16)

	// widen converts integers. Their number is a multiple of panelWidth.
	widen func(dst []float32, src []int8)
	// product computes a product of matrices with panelWidth columns.
	product func(p product)
	// gelu replaces x with x times the normal distribution function of x. The length is a multiple of 8.
	gelu func(x []float32)
	// softmax replaces the first n values with their softmax, and may change the others. The length is a multiple of
	// panelWidth.
	softmax func(x []float32, n int)
	// addNormalise adds a row to x and normalises it. All have the length hidden.
	addNormalise func(x, add, gain, bias []float32)
}

// product is the argument of a kernel for
//
//	dst[i][j] = (a[i][0]·b[0][j] + … + a[i][depth-1]·b[depth-1][j]) · scale[j] + bias[j]
//
// with j up to panelWidth and i up to rows, which is a multiple of rowMultiple. Strides are numbers of floats.
type product struct {
	dst       []float32
	dstStride int
	a         []float32
	aStride   int
	rows      int
	b         []float32
	bStride   int
	depth     int
	scale     *[panelWidth]float32
	bias      *[panelWidth]float32
}

// check panics if the product would read or write outside its slices. Kernels in assembly rely on it.
func (p product) check() {
	_ = p.dst[(p.rows-1)*p.dstStride+panelWidth-1]
	_ = p.a[(p.rows-1)*p.aStride+p.depth-1]
	_ = p.b[(p.depth-1)*p.bStride+panelWidth-1]
}

var plainKernel = kernel{
	name:         "plain",
	addWords:     addWordsPlain,
	dots:         dotsPlain,
	widen:        widenPlain,
	product:      productPlain,
	gelu:         geluPlain,
	softmax:      softmaxPlain,
	addNormalise: addNormalisePlain,
}

func addWordsPlain(sum *[Dimensions]int32, words []*word) {
	for _, w := range words {
		shift := w.shift & 31
		for i, v := range &w.values {
			sum[i] += int32(v) << shift
		}
	}
}

func dotsPlain(dst []int64, rows, vectors []int16) {
	n, width := len(dst)/blockWords, len(vectors)/blockWords
	for i := range dst {
		x, row := vectors[i/n*width:][:width], rows[i%n*width:][:width]
		var sum int64
		for j, v := range x {
			sum += int64(int32(v) * int32(row[j]))
		}
		dst[i] = sum
	}
}

func widenPlain(dst []float32, src []int8) {
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// productPlain keeps two rows of four columns in registers.
func productPlain(p product) {
	for i := 0; i < p.rows; i += 2 {
		x, y := p.a[i*p.aStride:][:p.depth], p.a[(i+1)*p.aStride:][:p.depth]
		for j := 0; j < panelWidth; j += 4 {
			var x0, x1, x2, x3, y0, y1, y2, y3 float32
			b := p.b[j:]
			for k, xv := range x {
				w := (*[4]float32)(b[k*p.bStride:])
				yv := y[k]
				x0 += xv * w[0]
				x1 += xv * w[1]
				x2 += xv * w[2]
				x3 += xv * w[3]
				y0 += yv * w[0]
				y1 += yv * w[1]
				y2 += yv * w[2]
				y3 += yv * w[3]
			}
			s, o := (*[4]float32)(p.scale[j:]), (*[4]float32)(p.bias[j:])
			*(*[4]float32)(p.dst[i*p.dstStride+j:]) = [4]float32{
				x0*s[0] + o[0], x1*s[1] + o[1], x2*s[2] + o[2], x3*s[3] + o[3],
			}
			*(*[4]float32)(p.dst[(i+1)*p.dstStride+j:]) = [4]float32{
				y0*s[0] + o[0], y1*s[1] + o[1], y2*s[2] + o[2], y3*s[3] + o[3],
			}
		}
	}
}

func geluPlain(x []float32) {
	cdf := normalCDF()
	for i, v := range x {
		x[i] = float32(gelu(cdf, float64(v)))
	}
}

func softmaxPlain(x []float32, n int) {
	x = x[:n]
	largest := x[0]
	for _, v := range x {
		largest = max(largest, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v - largest)))
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

func addNormalisePlain(x, add, gain, bias []float32) {
	for i, v := range add {
		x[i] += v
	}
	normalise(x, gain, bias)
}

// normalise replaces x with (x - mean) / deviation · gain + bias.
func normalise(x, gain, bias []float32) {
	const epsilon = 1e-12
	var sum float32
	for _, v := range x {
		sum += v
	}
	mean := sum / float32(len(x))
	var squares float32
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	factor := float32(1 / math.Sqrt(float64(squares)/float64(len(x))+epsilon))
	for i, v := range x {
		x[i] = (v-mean)*factor*gain[i] + bias[i]
	}
}
