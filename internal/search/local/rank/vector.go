package rank

import (
	"cmp"
	"math"
	"math/bits"
	"runtime/debug"
	"slices"

	"carrel/internal/search/local/segment"
	"carrel/internal/search/scoring"
)

// denseRescan is how many of the nearest units by sign bits, a rough measure, are compared in full, and denseDepth how
// many documents are added to the candidates. Twice as many of each do not change the quality of the first ten.
const (
	denseRescan = 300
	denseDepth  = 100
)

// neighbours are the documents nearest to the query in embedding space, nearest first.
type neighbours struct {
	vectors   []segment.Vectors // of each part
	query     quantised
	documents []candidate
	byWords   []candidate // the documents with their best units by words
}

// neighboursDuring returns the documents nearest to the query, for which it looks while f runs. It returns nil if no
// unit has an embedding of the query's model. A memory fault while a file is read panics, as it does in f.
func (p *plan) neighboursDuring(f func() error) (*neighbours, error) {
	var found *neighbours
	var nearErr error
	var fault any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { fault = recover() }()
		debug.SetPanicOnFault(true)
		found, nearErr = p.neighbours()
	}()
	defer func() { <-done }() // also if f panics: the caller may close the segments
	err := f()
	<-done
	if fault != nil {
		panic(fault)
	}
	return found, cmp.Or(err, nearErr)
}

func (p *plan) neighbours() (*neighbours, error) {
	vectors, some, err := p.vectors()
	if err != nil || !some {
		return nil, err
	}
	q := quantise(p.request.Vector)
	documents, err := p.nearest(vectors, q, denseDepth)
	if err != nil {
		return nil, err
	}
	return &neighbours{vectors: vectors, query: q, documents: documents, byWords: p.bestUnits(documents)}, nil
}

// bestUnits returns the documents with their best units by words. It reads them in the order of the postings, so that
// the next posting is near the last.
func (p *plan) bestUnits(documents []candidate) []candidate {
	order := make([]int, len(documents))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := &documents[x], &documents[y]
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.doc, b.doc))
	})
	out := make([]candidate, len(documents))
	from, part := make([]int, len(p.terms)), -1
	for _, i := range order {
		c := &documents[i]
		if c.part != part {
			clear(from)
			part = c.part
		}
		out[i] = p.bestUnit(c.part, c.doc, from)
	}
	return out
}

// fuse combines the candidates found by words with the documents nearest in embedding space. Both scores are scaled to
// 0..1 over all candidates and added by weight. The sum is scaled to the best score by words, so that the scores can be
// compared with those of sources without embeddings. Without neighbours the candidates are returned unchanged.
func (p *plan) fuse(found []candidate, near *neighbours) ([]candidate, error) {
	if near == nil {
		return found, nil
	}
	all := slices.Clone(found)
	for i, nearest := range near.documents {
		c := near.byWords[i]
		if slices.ContainsFunc(found, func(f candidate) bool { return f.part == c.part && f.doc == c.doc }) {
			continue
		}
		if c.score <= 0 {
			if nearest.score < cosinePoints(p.request.LeastCosine) {
				continue
			}
			c.unit, c.score, c.wordless = nearest.unit, 0, true
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return all, nil
	}
	dense := make([]float64, len(all))
	for i, c := range all {
		var err error
		if dense[i], err = p.bestDot(near.vectors[c.part], c, near.query); err != nil {
			return nil, err
		}
	}
	words := make([]float64, len(all))
	for i, c := range all {
		words[i] = c.score.Float()
	}
	for i, fused := range scoring.Fuse(words, dense, p.request.VectorWeight) {
		all[i].score = fused
	}
	slices.SortFunc(all, compare)
	return all, nil
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

// quantised is the query's embedding in quantised forms.
type quantised struct {
	code  []uint64
	bytes []int8
	sum   int32 // of bytes
	scale float32
}

func quantise(v []float32) quantised {
	code, bytes, scale := segment.Quantise(v, segment.EightBits, nil, nil)
	q := quantised{code: code, bytes: make([]int8, len(v)), scale: scale}
	for i, b := range bytes {
		q.bytes[i] = int8(b)
		q.sum += int32(q.bytes[i])
	}
	return q
}

// nearest returns the documents nearest to the query, nearest first: it scans the sign bits of all units, and computes
// the full product for the best of them.
func (p *plan) nearest(vectors []segment.Vectors, q quantised, k int) ([]candidate, error) {
	s := newScan(p, q)
	if err := s.readAll(vectors, q); err != nil {
		return nil, err
	}
	best := top{k: k}
	for _, n := range s.found {
		if int(n.distance) > s.limit {
			continue
		}
		at := &p.parts[n.part]
		doc := at.s.DocOf()[n.unit]
		cosine, err := dot(at.s, &vectors[n.part], n.unit, &q)
		if err != nil {
			return nil, err
		}
		best.add(candidate{score: cosinePoints(cosine), part: n.part, unit: n.unit, doc: doc}, several(at.s, doc))
	}
	return best.sorted(), nil
}

// cosinePoints returns a cosine as the score of a candidate, shifted to be positive, because the heap starts at 0.
func cosinePoints(cosine float64) points { return points((cosine + 2) * float64(one)) }

// scan collects the units nearest to the query by the Hamming distance of sign bits: all units within the least
// distance that includes denseRescan units. The result does not depend on the order of units.
type scan struct {
	plan   *plan
	code   []uint64
	limit  int   // distance within which units are collected; it decreases
	within int   // number of units within the limit
	counts []int // number of units by distance, up to limit
	found  []nearUnit
}

type nearUnit struct {
	part     int
	unit     uint32
	distance uint32
}

func newScan(p *plan, q quantised) *scan {
	dims := len(q.bytes)
	return &scan{
		plan: p, code: q.code, limit: dims, counts: make([]int, dims+1),
		found: make([]nearUnit, 0, min(p.units, 4*denseRescan)),
	}
}

// readAll scans all parts, or the cells nearest to the query if there are many units.
func (s *scan) readAll(vectors []segment.Vectors, q quantised) error {
	var cells []string
	if from := s.plan.request.CellsFrom; from > 0 && s.plan.units >= from && len(q.bytes) == CellDims {
		cells = nearestCells(s.plan.request.Vector, probes(s.plan.units, from))
	}
	for i, v := range vectors {
		switch {
		case v.Dims == 0:
		case cells == nil:
			s.read(i, v)
		default:
			if err := s.readCells(i, v, cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// read scans the units of a part.
func (s *scan) read(part int, v segment.Vectors) {
	at := &s.plan.parts[part]
	words := len(s.code)
	codes := v.Codes[int(at.r.FirstUnit)*words : int(at.r.EndUnit)*words]
	if words == 4 {
		s.readFour(part, v, codes)
		return
	}
	for unit := at.r.FirstUnit; len(codes) > 0; unit++ {
		if d := distance(codes[:words], s.code); d <= s.limit {
			s.add(part, v, unit, d)
		}
		codes = codes[words:]
	}
}

// add collects a unit within the limit, if it has an embedding and is allowed, and lowers the limit if it can.
func (s *scan) add(part int, v segment.Vectors, unit uint32, distance int) {
	at := &s.plan.parts[part]
	if v.Scales[unit] == 0 || !at.within(unit) || at.filtered && !s.plan.holds(at, at.s.DocOf()[unit]) {
		return
	}
	s.counts[distance]++
	s.within++
	s.found = append(s.found, nearUnit{part: part, unit: unit, distance: uint32(distance)})
	lowered := false
	for s.within-s.counts[s.limit] >= denseRescan {
		s.within -= s.counts[s.limit]
		s.limit--
		lowered = true
	}
	if lowered && len(s.found) > 3*denseRescan {
		s.found = slices.DeleteFunc(s.found, func(n nearUnit) bool { return int(n.distance) > s.limit })
	}
}

func distance(x, y []uint64) int {
	n := 0
	for i := range x {
		n += bits.OnesCount64(x[i] ^ y[i])
	}
	return n
}

// dot returns the approximate cosine of a unit's embedding and the query's. Both have unit length up to rounding.
func dot(s *segment.Segment, v *segment.Vectors, unit uint32, q *quantised) (float64, error) {
	x, err := s.Vector(unit)
	if err != nil {
		return 0, err
	}
	var sum int32 // at most 127² times the dimensions
	if v.Bits == segment.FourBits {
		sum = dotFour(x, q)
	} else {
		y := q.bytes[:len(x)]
		for i := range x {
			sum += int32(int8(x[i])) * int32(y[i])
		}
	}
	return float64(sum) * float64(v.Scales[unit]) * float64(q.scale), nil
}

// dotFour returns the product of a vector with four bits a value and the query.
func dotFour(x []byte, q *quantised) int32 {
	if len(q.bytes) == 2*len(x) && len(x)%dotFourBlock == 0 && len(x) <= dotFourMost && hasDotFour {
		return dotFourFast(&x[0], &q.bytes[0], len(x)) - 8*q.sum
	}
	return dotFourPlain(x, q.bytes)
}

func dotFourPlain(x []byte, y []int8) int32 {
	half := len(x)
	var sum int32
	for i, b := range x[:len(y)-half] {
		sum += int32(int8(b<<4)>>4)*int32(y[i]) + int32(int8(b)>>4)*int32(y[i+half])
	}
	if len(y) < 2*half {
		sum += int32(int8(x[half-1]<<4)>>4) * int32(y[half-1])
	}
	return sum
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
		near, err := dot(s, &v, unit, &q)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(best) || near > best {
			best = near
		}
	}
	return best, nil
}
