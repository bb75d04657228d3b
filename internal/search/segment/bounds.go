package segment

import "math"

// The parameters of BM25 that bounds are computed with, and how often a word of
// a title counts.
const (
	K1          = 1.2
	B           = 0.75
	TitleWeight = 3
)

// BlockSize is how many postings share a bound.
const BlockSize = 128

// maxFreq is the highest weighted frequency that is told apart.
const maxFreq = math.MaxUint8

// average is the mean length of a source's units.
func (r *Range) average() float64 {
	if r.EndUnit == r.FirstUnit {
		return 0
	}
	return float64(r.Length) / float64(r.EndUnit-r.FirstUnit)
}

// norm is K1×(1-B+B×length/average), rounded down by at least a part in 2^40,
// so that whoever computes the same in another order of steps does not get less.
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

// bound turns the least norm/freq of a block, itself rounded to the nearest, into one below all of them.
func bound(least float32) float32 { return math.Nextafter32(least, 0) }

// postingWriter writes terms' postings, terms and units ascending.
type postingWriter struct {
	starts, units, freqs, bounds *sectionWriter
	norms                        []float32
	place                        uint64 // of the next posting
	ord                          uint64 // of the term that is being written
	first                        uint64 // its first posting
	boundsAt                     uint64 // how many bounds are written
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

// endBlock writes the bound of the last posting's block at its place/BlockSize+ord.
// A term that ends where a block does leaves the entry after it unused.
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

// finish ends the last term's places.
func (p *postingWriter) finish() {
	p.starts.uint64(p.place)
	p.padBounds(p.place/BlockSize + p.ord)
}
