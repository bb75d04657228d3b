package rank

import (
	"math"
	"math/bits"
	"slices"

	"carrel/internal/search/local/segment"
)

// denseWeight is the weight of the embedding score, and denseRescan how many of the nearest units by sign bits, a rough
// measure, are compared in full.
const (
	denseWeight = 0.3
	denseRescan = 2000
)

// fuse combines the candidates found by words with the documents nearest in embedding space. Both scores are scaled to
// 0..1 over all candidates and added by weight. If no unit has an embedding of the query's model, the candidates are
// returned unchanged.
func (p *plan) fuse(found []candidate) ([]candidate, error) {
	vectors, some, err := p.vectors()
	if err != nil || !some {
		return found, err
	}
	q := quantise(p.request.Vector)
	near, err := p.nearest(vectors, q, rerankDepth)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(found)
	for _, c := range near {
		if !slices.ContainsFunc(found, func(f candidate) bool { return f.part == c.part && f.doc == c.doc }) {
			unit := c.unit
			c = p.bestUnit(c.part, c.doc, make([]int, len(p.parts[c.part].lists)))
			if c.score <= 0 {
				c.unit, c.score = unit, 0 // no word of the query: show the nearest passage
			}
			all = append(all, c)
		}
	}
	dense := make([]float64, len(all))
	for i, c := range all {
		if dense[i], err = p.bestDot(vectors[c.part], c, q); err != nil {
			return nil, err
		}
	}
	words := make([]float64, len(all))
	for i, c := range all {
		words[i] = c.score.float()
	}
	spread(words)
	spread(dense)
	for i := range all {
		all[i].score = points(((1-denseWeight)*words[i] + denseWeight*dense[i]) * float64(one))
	}
	slices.SortFunc(all, compare)
	return all, nil
}

// spread scales numbers to 0..1. NaN, an unknown value, becomes 0.
func spread(x []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, v := range x {
		switch {
		case math.IsNaN(v):
			x[i] = 0
		case high > low:
			x[i] = (v - low) / (high - low)
		default:
			x[i] = 1
		}
	}
}

// vectors returns the embeddings of each part that are of the query's model, and whether there are any.
func (p *plan) vectors() ([]segment.Vectors, bool, error) {
	out := make([]segment.Vectors, len(p.parts))
	some := false
	for i := range p.parts {
		s := p.parts[i].s
		if name, dims := s.Model(); name != p.request.Model || dims != len(p.request.Vector) || dims == 0 {
			continue
		}
		var err error
		if out[i], err = s.Vectors(); err != nil {
			return nil, false, err
		}
		some = some || out[i].Dims > 0
	}
	return out, some, nil
}

// quantised is the query's embedding in the quantised forms that segments store.
type quantised struct {
	code  []uint64
	bytes []int8
	scale float32
}

func quantise(v []float32) (q quantised) {
	q.code, q.bytes, q.scale = segment.Quantise(v, nil, nil)
	return q
}

// nearest returns the documents nearest to the query, nearest first: it scans the sign bits of all allowed units, and
// computes the full product for the best of them.
func (p *plan) nearest(vectors []segment.Vectors, q quantised, k int) ([]candidate, error) {
	far := make([][]uint16, len(p.parts))
	counts := make([]int, len(q.bytes)+1)
	for i := range p.parts {
		far[i] = p.distances(&p.parts[i], vectors[i], q, counts)
	}
	reach, sum := 0, 0
	for reach < len(counts) && sum < denseRescan {
		sum += counts[reach]
		reach++
	}
	best := top{k: k}
	for i := range p.parts {
		at := &p.parts[i]
		docOf := at.s.DocOf()
		for place, d := range far[i] {
			if int(d) >= reach {
				continue
			}
			unit := at.r.FirstUnit + uint32(place)
			cosine, err := dot(at.s, vectors[i], unit, q)
			if err != nil {
				return nil, err
			}
			// Shifted to be positive, because the heap starts at 0.
			near := points((cosine + 2) * float64(one))
			best.add(candidate{score: near, part: i, unit: unit, doc: docOf[unit]}, several(at.s, docOf[unit]))
		}
	}
	return best.sorted(), nil
}

// notNear is the distance of a unit that has no embedding or is not allowed.
const notNear = math.MaxUint16

// distances returns the Hamming distances of the part's units to the query by sign bits, and counts them.
func (p *plan) distances(at *part, v segment.Vectors, q quantised, counts []int) []uint16 {
	if v.Dims == 0 {
		return nil
	}
	docOf := at.s.DocOf()
	far := make([]uint16, at.r.EndUnit-at.r.FirstUnit)
	for place := range far {
		unit := at.r.FirstUnit + uint32(place)
		if v.Scales[unit] == 0 || !p.allowed(at, docOf[unit]) {
			far[place] = notNear
			continue
		}
		d := distance(v.Codes[int(unit)*len(q.code):][:len(q.code)], q.code)
		far[place] = uint16(d)
		counts[d]++
	}
	return far
}

func distance(x, y []uint64) int {
	n := 0
	for i := range x {
		n += bits.OnesCount64(x[i] ^ y[i])
	}
	return n
}

// dot returns the approximate cosine of a unit's embedding and the query's. Both have unit length up to rounding.
func dot(s *segment.Segment, v segment.Vectors, unit uint32, q quantised) (float64, error) {
	x, err := s.Vector(unit)
	if err != nil {
		return 0, err
	}
	y := q.bytes[:len(x)]
	var sum int32 // at most 127² times the dimensions
	for i := range x {
		sum += int32(x[i]) * int32(y[i])
	}
	return float64(sum) * float64(v.Scales[unit]) * float64(q.scale), nil
}

// bestDot returns the cosine of a document's nearest unit, NaN if it has no embedding.
func (p *plan) bestDot(v segment.Vectors, c candidate, q quantised) (float64, error) {
	best := math.NaN()
	if v.Dims == 0 {
		return best, nil
	}
	s := p.parts[c.part].s
	firsts := s.FirstUnits()
	for unit := firsts[c.doc]; unit < firsts[c.doc+1]; unit++ {
		if v.Scales[unit] == 0 {
			continue
		}
		near, err := dot(s, v, unit, q)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(best) || near > best {
			best = near
		}
	}
	return best, nil
}
