package rank

import (
	"cmp"
	"slices"

	"carrel/internal/search/local/segment"
	"carrel/internal/search/scoring"
)

// windowUnits is the number of units in a window. Small windows have sharper bounds, large ones less overhead.
const windowUnits = 2048

// window is a range of a part's units with an upper bound on their scores. Starts and ends are the ranges of its
// postings in each list of the part.
type window struct {
	bound  points
	part   int
	first  uint32
	starts []int32
	ends   []int32
}

// best returns the best k documents, best first.
//
// It is block-max MaxScore over windows. Windows are visited in descending order of their bounds, until no further
// window can hold a document that is good enough. Inside a window, lists whose bounds together are too low to lift a
// document into the result (common words) are not read through; they are probed only for documents found in the other
// lists.
func (p *plan) best(k int) ([]candidate, error) {
	best := top{k: k}
	if p.few() {
		for i := range p.parts {
			p.scoreChosen(i, &best)
		}
		return best.sorted(), p.ctx.Err()
	}
	windows := p.windows()
	// Break ties, so that the work is deterministic (the result is anyway).
	slices.SortFunc(windows, func(x, y window) int {
		return cmp.Or(cmp.Compare(y.bound, x.bound), cmp.Compare(x.part, y.part), cmp.Compare(x.first, y.first))
	})
	s := newScorer(p, &best)
	for i := range windows {
		if windows[i].bound < best.least {
			break
		}
		if i%64 == 0 && p.ctx.Err() != nil {
			return nil, p.ctx.Err()
		}
		s.visit(&windows[i])
	}
	s.close()
	return best.sorted(), nil
}

// windows divides the parts into windows with their bounds, and leaves out windows without postings.
func (p *plan) windows() []window {
	most := 0
	for i := range p.parts {
		most += p.parts[i].numWindows()
	}
	out := make([]window, 0, most)
	for i := range p.parts {
		at := &p.parts[i]
		n := at.numWindows()
		lists := len(at.lists)
		starts := make([]int32, (n+1)*lists)
		bounds := make([]points, n)
		for t := range at.lists {
			p.cut(at, t, starts[t:], bounds)
		}
		for w, b := range bounds {
			if b > 0 && at.anyWithin(w*windowUnits, (w+1)*windowUnits) {
				out = append(out, window{
					bound: b, part: i, first: at.r.FirstUnit + uint32(w*windowUnits),
					starts: starts[w*lists : (w+1)*lists], ends: starts[(w+1)*lists : (w+2)*lists],
				})
			}
		}
	}
	return out
}

// numWindows returns the number of windows that the units of the part are divided into.
func (at *part) numWindows() int { return int(at.r.EndUnit-at.r.FirstUnit+windowUnits-1) / windowUnits }

// anyWithin reports whether a unit is within the bounds of years. Units are counted from the first of the part, and
// first is a multiple of 64.
func (at *part) anyWithin(first, end int) bool {
	if at.inYears == nil {
		return true
	}
	return slices.ContainsFunc(at.inYears[first/64:min((end+63)/64, len(at.inYears))], func(word uint64) bool {
		return word != 0
	})
}

// cut computes where each window of a part begins in one list, and adds the list's upper bounds to the bounds of
// the windows. Starts holds one row per window and one column per list, of which the first is this list's.
func (p *plan) cut(at *part, t int, starts []int32, bounds []points) {
	l, lists, gain := &at.lists[t], len(at.lists), p.terms[t].gain
	from := 0
	for w := range bounds {
		end := at.r.FirstUnit + uint32((w+1)*windowUnits)
		to := seek(l.units, from, end)
		if to > from {
			bounds[w] += bound(gain, l.least(from, to), at.shrink)
		}
		starts[(w+1)*lists] = int32(to)
		from = to
	}
}

// seek returns the first index from from on whose unit is not less than unit. It gallops, because the distance is
// usually short.
func seek(units []uint32, from int, unit uint32) int {
	if from >= len(units) || units[from] >= unit {
		return from
	}
	step := 1
	for from+step < len(units) && units[from+step] < unit {
		from += step
		step *= 2
	}
	// units[from] is less than unit; units[from+step] is not, if it exists.
	low, high := from+1, min(from+step, len(units))
	for low < high {
		middle := int(uint(low+high) / 2)
		if units[middle] < unit {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// several reports whether a document has more than one unit.
func several(s *segment.Segment, doc uint32) bool {
	firsts := s.FirstUnits()
	return firsts[doc+1]-firsts[doc] > 1
}

// unitScore returns the score of a unit over all terms. From holds the seek positions of the lists, so units must be
// passed in ascending order.
func (p *plan) unitScore(at *part, unit uint32, from []int) points {
	norm := p.satur.Norm(at.s.Lengths()[unit])
	sum := points(0)
	for t := range at.lists {
		l := &at.lists[t]
		from[t] = seek(l.units, from[t], unit)
		if from[t] < len(l.units) && l.units[from[t]] == unit {
			sum += scoring.Score(p.terms[t].gain, l.freqs[from[t]], norm)
		}
	}
	return sum
}

// bestUnit returns the candidate for a document's best unit.
func (p *plan) bestUnit(part int, doc uint32, from []int) candidate {
	at := &p.parts[part]
	firsts := at.s.FirstUnits()
	out := candidate{part: part, doc: doc, unit: firsts[doc], score: -1}
	for unit := firsts[doc]; unit < firsts[doc+1]; unit++ {
		if sum := p.unitScore(at, unit, from); sum > out.score {
			out.unit, out.score = unit, sum
		}
	}
	return out
}

// few reports whether the clauses chose so few documents that probing the lists for each of them is less work than
// reading the lists.
func (p *plan) few() bool {
	if !p.narrow {
		return false
	}
	chosen, postings := 0, 0
	for i := range p.parts {
		chosen += p.parts[i].chosen.Count()
		for _, l := range p.parts[i].lists {
			postings += len(l.units)
		}
	}
	const seekCost = 8 // cost of finding a posting, in postings read
	return chosen*len(p.terms)*seekCost < postings
}

// scoreChosen scores the chosen documents of a part one by one.
func (p *plan) scoreChosen(part int, best *top) {
	at := &p.parts[part]
	from := make([]int, len(at.lists))
	for doc := range at.chosen.All() {
		if !p.allowed(at, doc) {
			continue
		}
		if c := p.bestUnit(part, doc, from); c.score > 0 {
			best.add(c, false)
		}
	}
}
