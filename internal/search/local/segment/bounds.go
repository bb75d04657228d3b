package segment

import (
	"math"

	"carrel/internal/search/scoring"
)

// The BM25 parameters that bounds are computed with, and the weight of a word in the title.
const (
	K1          = scoring.K1
	B           = scoring.B
	TitleWeight = scoring.TitleWeight
)

// BlockSize is the number of postings that share a bound.
const BlockSize = 128

// maxFreq caps weighted frequencies.
const maxFreq = math.MaxUint8

// average returns the mean length of the source's units.
func (r *Range) average() float64 {
	if r.EndUnit == r.FirstUnit {
		return 0
	}
	return float64(r.Length) / float64(r.EndUnit-r.FirstUnit)
}

// norm returns K1×(1-B+B×length/average), rounded down by at least one part in 2^40, so that the same formula computed
// in another order does not return less.
func norm(length uint32, average float64) float32 {
	n := K1 * (1 - B)
	if average > 0 {
		n += K1 * B * float64(length) / average
	}
	n *= 1 - 0x1p-40
	f := float32(n)
	if float64(f) > n {
		f = math.Nextafter32(f, 0)
	}
	return f
}

// norms returns the norm of every unit.
func norms(sources []Range, lengths []uint32) []float32 {
	out := make([]float32, len(lengths))
	for i := range sources {
		average := sources[i].average()
		for u := sources[i].FirstUnit; u < sources[i].EndUnit; u++ {
			out[u] = norm(lengths[u], average)
		}
	}
	return out
}

// bound rounds the least norm/freq of a block down, so that it is below all of them.
func bound(least float32) float32 { return math.Nextafter32(least, 0) }

// postingWriter writes postings in the order of terms and units.
type postingWriter struct {
	starts, units, freqs, bounds *sectionWriter
	norms                        []float32
	place                        uint64 // index of the next posting
	ord                          uint64 // current term
	first                        uint64 // its first posting
	boundsAt                     uint64 // number of bounds written
	least                        float32
}

func newPostingWriter(w *fileWriter, norms []float32) *postingWriter {
	return &postingWriter{
		starts: w.section(secPostingStarts), units: w.section(secPostingUnits),
		freqs: w.section(secPostingFreqs), bounds: w.section(secPostingBounds),
		norms: norms, least: math.MaxFloat32,
	}
}

func (p *postingWriter) add(unit uint32, freq uint8) {
	p.units.uint32(unit)
	p.freqs.uint8(freq)
	p.least = min(p.least, p.norms[unit]/float32(freq))
	p.place++
	if p.place%BlockSize == 0 {
		p.endBlock()
	}
}

// endBlock writes the bound of the last posting's block at index place/BlockSize+ord. If a term ends with its block,
// the next entry is unused.
func (p *postingWriter) endBlock() {
	p.padBounds((p.place-1)/BlockSize + p.ord)
	p.bounds.uint32(math.Float32bits(bound(p.least)))
	p.boundsAt++
	p.least = math.MaxFloat32
}

func (p *postingWriter) padBounds(to uint64) {
	for ; p.boundsAt < to; p.boundsAt++ {
		p.bounds.uint32(0)
	}
}

func (p *postingWriter) endTerm() {
	if p.place > p.first && p.place%BlockSize != 0 {
		p.endBlock()
	}
	p.starts.uint64(p.first)
	p.first = p.place
	p.ord++
}

// finish completes the last term.
func (p *postingWriter) finish() {
	p.starts.uint64(p.place)
	p.padBounds(p.place/BlockSize + p.ord)
}
