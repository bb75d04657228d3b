package segment

import "math"

// Vectors are the sign bits of the units' embeddings, by which candidates are found; Segment.Vector returns a whole
// embedding. The slices are nil if the segment has no vectors, and views of the file otherwise.
type Vectors struct {
	Dims int
	// Bits is the number of bits of a value: EightBits or FourBits.
	Bits int
	// Codes are the sign bits, (Dims+63)/64 words per unit; see Quantise.
	Codes []uint64
	// Scales holds one value per unit, 0 for a unit without a vector.
	Scales []float32
}

// The numbers of bits of a quantised value. Four bits are enough for vectors whose values are of similar magnitude.
const (
	EightBits = 8
	FourBits  = 4
)

// Quantise appends the sign bits of a vector to codes and its quantised values to bytes, in the form that segments
// store and queries are compared in. Bit i%64 of word i/64 is set if value i is positive. With FourBits, a byte holds
// value i in its lower half and value i+(n+1)/2 in its upper half. A vector without direction (all zeros, or not
// finite) gets the scale 0.
func Quantise(vector []float32, bits int, codes []uint64, bytes []byte) ([]uint64, []byte, float32) {
	scale := scaleOf(vector, bits)
	if scale == 0 {
		codes = append(codes, make([]uint64, (len(vector)+63)/64)...)
		return codes, append(bytes, make([]byte, valueBytes(len(vector), bits))...), 0
	}
	for rest := vector; len(rest) > 0; {
		var word uint64
		n := min(64, len(rest))
		for i, v := range rest[:n] {
			word |= positive(v) << (i & 63)
		}
		codes, rest = append(codes, word), rest[n:]
	}
	if bits == FourBits {
		bytes, scale = quantiseFour(vector, scale, bytes)
		return codes, bytes, scale
	}
	for _, v := range vector {
		bytes = append(bytes, byte(quantised(v, scale, math.MaxInt8)))
	}
	return codes, bytes, scale
}

// positive returns 1 for a number above zero, and otherwise 0. Signs are random, so a branch would often be predicted
// wrongly.
func positive(v float32) uint64 {
	b := math.Float32bits(v)
	return uint64((-b &^ b) >> 31)
}

// quantiseFour appends values of four bits, and returns the scale that restores the length of the vector.
func quantiseFour(vector []float32, scale float32, bytes []byte) ([]byte, float32) {
	var length float64 // squared
	rounded := 0       // length of the quantised vector, squared
	factor := 1 / float64(scale)
	half := (len(vector) + 1) / 2
	for i := range half {
		low, square := fourBits(vector[i], factor)
		rounded += square
		high := int8(0)
		// The conversions keep the compiler from fusing the operations, which would round differently.
		length += float64(float64(vector[i]) * float64(vector[i]))
		if i+half < len(vector) {
			v := vector[i+half]
			high, square = fourBits(v, factor)
			rounded += square
			length += float64(float64(v) * float64(v))
		}
		bytes = append(bytes, byte(low)&0xf|byte(high)<<4)
	}
	return bytes, float32(math.Sqrt(length / float64(rounded)))
}

// fourBits returns a value in units of 1/factor, and its square.
func fourBits(v float32, factor float64) (q int8, square int) {
	// Adding 1.5×2^52 leaves the nearest integer in the lowest bits of the sum.
	n := int(int32(math.Float64bits(float64(float64(v)*factor) + 3<<51)))
	n = max(-maxFourBits, min(maxFourBits, n))
	return int8(n), n * n
}

// maxFourBits is the highest quantised value of four bits. fourBitRange is the share of the largest value that it
// stands for: the few larger values are cut off, so that the others are rounded less.
const (
	maxFourBits  = 7
	fourBitRange = 0.8
)

// scaleOf returns the value of one step, 0 for a vector without direction.
func scaleOf(vector []float32, bits int) float32 {
	// Magnitudes are in the order of their bits, with infinity and NaN above all numbers. Bits are compared faster.
	const sign = 1 << 31
	var magnitude uint32
	for _, v := range vector {
		magnitude = max(magnitude, math.Float32bits(v)&^sign)
	}
	highest := math.Float32frombits(magnitude)
	if !(highest <= math.MaxFloat32) {
		return 0
	}
	if bits == FourBits {
		return float32(float64(highest) * fourBitRange / maxFourBits)
	}
	return highest / math.MaxInt8 // 0 if the division underflows
}

func quantised(v, scale float32, limit float64) int8 {
	q := math.RoundToEven(float64(v) / float64(scale))
	return int8(max(-limit, min(limit, q)))
}

// Value returns value i of a quantised vector.
func (v *Vectors) Value(bytes []byte, i int) int8 {
	if v.Bits == EightBits {
		return int8(bytes[i])
	}
	if half := (v.Dims + 1) / 2; i >= half {
		return int8(bytes[i-half]) >> 4
	}
	return int8(bytes[i]<<4) >> 4
}

// valueBytes returns the number of bytes of n quantised values.
func valueBytes(n, bits int) int { return (n*bits + 7) / 8 }

// vectorWriter writes the vectors of units in order.
type vectorWriter struct {
	codes, bytes, scales *sectionWriter
	noCode               []byte
	noBytes              []byte
}

func newVectorWriter(w *fileWriter, m *meta) *vectorWriter {
	return &vectorWriter{
		codes: w.section(secVectorCodes), bytes: w.section(secVectorBytes), scales: w.section(secVectorScales),
		noCode: make([]byte, 8*m.words()), noBytes: make([]byte, m.valueBytes()),
	}
}

func (v *vectorWriter) add(code []uint64, bytes []byte, scale float32) {
	v.codes.write(bytesOf(code))
	v.bytes.write(bytes)
	v.scales.uint32(math.Float32bits(scale))
}

// none writes the entry of a unit without a vector.
func (v *vectorWriter) none() {
	v.codes.write(v.noCode)
	v.bytes.write(v.noBytes)
	v.scales.uint32(0)
}
