package segment

import "math"

// Vectors are the sign bits of the units' embeddings, by which candidates are found; Segment.Vector returns a whole
// embedding. The slices are nil if the segment has no vectors, and views of the file otherwise.
type Vectors struct {
	Dims int
	// Codes are the sign bits, (Dims+63)/64 words per unit; see Quantise.
	Codes []uint64
	// Scales holds one value per unit, 0 for a unit without a vector.
	Scales []float32
}

// Quantise appends the sign bits of a vector to codes and its quantised values to bytes, in the form that segments
// store and queries are compared in. Bit i%64 of word i/64 is set if value i is positive. A vector without direction
// (all zeros, or not finite) gets the scale 0.
func Quantise(vector []float32, codes []uint64, bytes []int8) ([]uint64, []int8, float32) {
	var highest float32
	for _, v := range vector {
		a := float32(math.Abs(float64(v)))
		if math.IsNaN(float64(a)) || math.IsInf(float64(a), 0) {
			highest = 0
			break
		}
		highest = max(highest, a)
	}
	scale := highest / math.MaxInt8
	if scale == 0 { // also if the division underflowed
		return append(codes, make([]uint64, (len(vector)+63)/64)...), append(bytes, make([]int8, len(vector))...), 0
	}
	var word uint64
	for i, v := range vector {
		if v > 0 {
			word |= 1 << (i % 64)
		}
		if i%64 == 63 || i == len(vector)-1 {
			codes = append(codes, word)
			word = 0
		}
		q := math.RoundToEven(float64(v) / float64(scale))
		bytes = append(bytes, int8(max(-math.MaxInt8, min(math.MaxInt8, q))))
	}
	return codes, bytes, scale
}

// vectorWriter writes the vectors of units in order.
type vectorWriter struct {
	codes, bytes, scales *sectionWriter
	noCode               []byte
	noBytes              []byte
}

func newVectorWriter(w *fileWriter, m *meta) *vectorWriter {
	return &vectorWriter{
		codes: w.section(secVectorCodes), bytes: w.section(secVectorBytes), scales: w.section(secVectorScales),
		noCode: make([]byte, 8*m.words()), noBytes: make([]byte, m.dims),
	}
}

func (v *vectorWriter) add(code []uint64, bytes []int8, scale float32) {
	v.codes.write(bytesOf(code))
	v.bytes.write(bytesOf(bytes))
	v.scales.uint32(math.Float32bits(scale))
}

// none writes the entry of a unit without a vector.
func (v *vectorWriter) none() {
	v.codes.write(v.noCode)
	v.bytes.write(v.noBytes)
	v.scales.uint32(0)
}
