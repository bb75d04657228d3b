package rank

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"carrel/internal/search/scoring"
)

// scorer scores the documents of windows. It reuses its arrays.
type scorer struct {
	*plan
	best   *top
	sums   [windowUnits]points
	seen   [windowUnits / 64]uint64
	order  []share  // the lists with postings in the window, by ascending bound
	tables []*table // spare ones, cleared
}

// table holds the frequencies of a term in the units of a window.
type table [windowUnits]uint8

// share is the postings of a list in a window.
type share struct {
	term       int
	from, end  int
	bound, sum points // sum includes the bounds of all shares before
	probes     int
	table      *table // nil while there are few probes
}

// probeCost is the cost of finding a posting, in postings that are copied to a table.
const probeCost = 16

var scorers = sync.Pool{New: func() any { return new(scorer) }}

// newScorer returns a scorer, which must be closed.
func newScorer(p *plan, best *top) *scorer {
	s := scorers.Get().(*scorer)
	s.plan, s.best = p, best
	return s
}

// close returns the scorer to the pool. It must not be called after a panic in visit, which leaves sums behind.
func (s *scorer) close() {
	s.plan, s.best = nil, nil
	scorers.Put(s)
}

// visit scores the documents of a window that may be among the best.
func (s *scorer) visit(w *window) {
	at := &s.parts[w.part]
	s.order = s.order[:0]
	for t := range at.lists {
		if from, end := int(w.starts[t]), int(w.ends[t]); from < end {
			s.order = append(s.order, share{
				term: t, from: from, end: end, bound: bound(s.terms[t].gain, at.lists[t].least(from, end), at.shrink),
			})
		}
	}
	slices.SortFunc(s.order, func(x, y share) int { return cmp.Compare(x.bound, y.bound) })
	sum, optional := points(0), 0
	for i := range s.order {
		sum += s.order[i].bound
		s.order[i].sum = sum
		if sum < s.best.least {
			optional = i + 1
		}
	}
	if optional == len(s.order) {
		return // the threshold has risen since the window was bounded
	}
	for i := optional; i < len(s.order); i++ {
		s.sumUp(at, &s.order[i], w.first)
	}
	s.collect(at, w, s.order[:optional])
	for i := range s.order[:optional] {
		if t := s.order[i].table; t != nil {
			*t = table{}
			s.tables = append(s.tables, t)
		}
	}
}

// sumUp adds the scores of a list to the sums of the window.
func (s *scorer) sumUp(at *part, in *share, first uint32) {
	l, gain, lengths := &at.lists[in.term], s.terms[in.term].gain, at.s.Lengths()
	units := l.units[in.from:in.end]
	freqs := l.freqs[in.from:in.end][:len(units)]
	for i, unit := range units {
		place := (unit - first) % windowUnits
		s.sums[place] += scoring.Score(gain, freqs[i], s.satur.Norm(lengths[unit]))
		s.seen[place/64] |= 1 << (place % 64)
	}
}

// collect completes the scores of the found units that may be among the best, by probing the optional lists, and clears
// the window.
func (s *scorer) collect(at *part, w *window, optional []share) {
	most := points(0)
	if len(optional) > 0 {
		most = optional[len(optional)-1].sum
	}
	docOf := at.s.DocOf()
	for i := range s.seen {
		word := s.seen[i]
		if word == 0 {
			continue
		}
		s.seen[i] = 0
		sums := (*[64]points)(s.sums[i*64:])
		if at.inYears != nil {
			within := word & at.inYears[int(w.first-at.r.FirstUnit)/64+i]
			for word ^= within; word != 0; word &= word - 1 {
				sums[bits.TrailingZeros64(word)%64] = 0
			}
			word = within
		}
		for ; word != 0; word &= word - 1 {
			place := bits.TrailingZeros64(word) % 64
			sum := sums[place]
			sums[place] = 0
			if sum+most < s.best.least {
				continue
			}
			unit := w.first + uint32(i*64+place)
			if at.filtered && !s.holds(at, docOf[unit]) {
				continue
			}
			if sum = s.complete(at, sum, unit, w.first, optional); sum >= s.best.least {
				doc := docOf[unit]
				s.best.add(candidate{score: sum, part: w.part, unit: unit, doc: doc}, several(at.s, doc))
			}
		}
	}
}

// complete adds the scores of the optional lists to the score of a unit, highest bound first, until the unit cannot be
// among the best. Units must be passed in ascending order.
func (s *scorer) complete(at *part, sum points, unit, first uint32, optional []share) points {
	norm := s.satur.Norm(at.s.Lengths()[unit])
	for i := len(optional) - 1; i >= 0; i-- {
		in := &optional[i]
		if sum+in.sum < s.best.least {
			return -1
		}
		if in.table == nil && !s.spread(at, in, first) {
			l := &at.lists[in.term]
			in.from = seek(l.units[:in.end], in.from, unit)
			if in.from < in.end && l.units[in.from] == unit {
				sum += scoring.Score(s.terms[in.term].gain, l.freqs[in.from], norm)
			}
			continue
		}
		// A frequency of 0 adds 0, which is faster than a branch that is hard to predict.
		sum += scoring.Score(s.terms[in.term].gain, in.table[(unit-first)%windowUnits], norm)
	}
	return sum
}

// spread counts a probe, and copies the postings of the list to a table if there are so many probes that seeking takes
// longer. It reports whether there is a table.
func (s *scorer) spread(at *part, in *share, first uint32) bool {
	in.probes++
	if in.probes*probeCost < in.end-in.from {
		return false
	}
	if n := len(s.tables); n > 0 {
		in.table, s.tables = s.tables[n-1], s.tables[:n-1]
	} else {
		in.table = new(table)
	}
	l := &at.lists[in.term]
	units := l.units[in.from:in.end]
	freqs := l.freqs[in.from:in.end][:len(units)]
	for i, unit := range units {
		in.table[(unit-first)%windowUnits] = freqs[i]
	}
	return true
}
