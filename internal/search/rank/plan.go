package rank

import (
	"context"
	"slices"

	"carrel/internal/search/segment"
)

// plan is a request made ready: the postings of its terms in the sources asked for, and the statistics of those
// sources, which nothing else takes part in.
type plan struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Search
	views   []View
	request Request
	parts   []part
	terms   []term
	units   int // live ones in all parts
	satur   saturation
	mass    uint32 // of all terms that somebody holds
	narrow  bool   // the query requires something: see part.chosen
}

// term is a term of the query over all parts.
type term struct {
	holders int     // live units that hold it
	idf     float64 // 0 when nobody does
	gain    float64 // the most it can be worth in a unit, in points
	mass    uint32
}

// part is one source in one segment: a stretch of documents and their units.
type part struct {
	view   int
	s      *segment.Segment
	r      segment.Range
	lists  []list
	shrink float64 // see bound
	// chosen are the documents that hold what the query requires, when the plan is narrow; excluded are those that
	// hold what it excludes, or nil.
	chosen, excluded *segment.Bits
	filtered         bool   // not every document is allowed
	stops            uint32 // how many terms are stop words: they come first in the dictionary
}

// list is the postings of a term in a part. The places of blocks are those of the whole term: skew is how far into
// its first block the list begins.
type list struct {
	ord    uint32
	units  []uint32
	freqs  []uint8
	bounds []float32
	skew   int
}

// least returns the smallest bound of the blocks that hold the postings from first up to end, which must be some.
func (l *list) least(first, end int) float32 {
	blocks := l.bounds[(first+l.skew)/segment.BlockSize : (end-1+l.skew)/segment.BlockSize+1]
	q := blocks[0]
	for _, b := range blocks[1:] {
		q = min(q, b)
	}
	return q
}

// newPlan looks the terms up. Parts come in the order of sources, then of views: equal documents keep that order.
func newPlan(ctx context.Context, views []View, r Request) (*plan, error) {
	p := &plan{ctx: ctx, views: views, request: r, terms: make([]term, len(r.Parsed.Terms))}
	if len(r.Parsed.Terms) == 0 && r.Parsed.DOIKey == 0 {
		return p, nil
	}
	found := make([][]segment.Postings, len(views))
	ords := make([][]uint32, len(views))
	for i, v := range views {
		var err error
		if found[i], ords[i], err = lookUp(v.Segment, r); err != nil {
			return nil, err
		}
	}
	sources := slices.Compact(slices.Sorted(slices.Values(r.Sources)))
	var length uint64
	for _, source := range sources {
		for i, v := range views {
			within, ok := v.Segment.Source(source)
			if !ok {
				continue
			}
			lostUnits, lostLength := v.Lost.of(source)
			p.units += int(within.EndUnit-within.FirstUnit) - lostUnits
			length += within.Length - lostLength
			p.parts = append(p.parts, p.newPart(i, within, found[i], ords[i]))
		}
	}
	average := 0.0
	if p.units > 0 {
		average = float64(length) / float64(p.units)
	} else {
		p.parts = nil
	}
	p.weigh(average)
	return p, nil
}

// lookUp returns the postings of each of the query's terms, empty where the segment has none.
func lookUp(s *segment.Segment, r Request) ([]segment.Postings, []uint32, error) {
	postings := make([]segment.Postings, len(r.Parsed.Terms))
	ords := make([]uint32, len(r.Parsed.Terms))
	for i, t := range r.Parsed.Terms {
		at, ok, err := s.Lookup(t.Text)
		if err == nil && ok {
			ords[i] = at.Ord
			postings[i], err = s.Postings(at)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return postings, ords, nil
}

// newPart cuts the postings to one source and counts the term's holders.
func (p *plan) newPart(view int, within segment.Range, found []segment.Postings, ords []uint32) part {
	v := p.views[view]
	out := part{view: view, s: v.Segment, r: within, lists: make([]list, len(found))}
	for i, all := range found {
		first, _ := slices.BinarySearch(all.Units, within.FirstUnit)
		end, _ := slices.BinarySearch(all.Units, within.EndUnit)
		if first == end {
			continue
		}
		place := int(all.First%segment.BlockSize) + first // counted from the start of the term's first block
		out.lists[i] = list{
			ord: ords[i], units: all.Units[first:end], freqs: all.Freqs[first:end],
			bounds: all.Bounds[place/segment.BlockSize:], skew: place % segment.BlockSize,
		}
		p.terms[i].holders += end - first - v.Lost.holders(within.Source, ords[i])
	}
	return out
}

// weigh computes what depends on the statistics of all parts together.
func (p *plan) weigh(average float64) {
	p.satur = newSaturation(average)
	for i := range p.terms {
		t := &p.terms[i]
		// A word that no document holds, a slip of the keyboard say, asks nothing of the others.
		if t.holders == 0 {
			continue
		}
		count := p.request.Parsed.Terms[i].Count
		t.idf = idf(p.units, t.holders)
		t.gain = float64(count) * t.idf * (segment.K1 + 1) * float64(one)
		t.mass = mass(count, t.idf)
		p.mass += t.mass
	}
	for i := range p.parts {
		at := &p.parts[i]
		own := float64(at.r.Length) / float64(at.r.EndUnit-at.r.FirstUnit)
		at.shrink = 1
		if own < average {
			at.shrink = own / average
		}
	}
}

// unknown returns the terms that nobody holds.
func (p *plan) unknown() []int {
	var out []int
	for i, t := range p.terms {
		if t.holders == 0 {
			out = append(out, i)
		}
	}
	return out
}

// allowed reports whether a document of a part may be listed: it is there, its year is asked for, and the clauses
// of the query chose it.
func (p *plan) allowed(at *part, doc uint32) bool {
	return p.holds(at, doc) && p.request.Covers(int(at.s.Years()[doc]))
}

// holds is allowed but for the year.
func (p *plan) holds(at *part, doc uint32) bool {
	return !p.views[at.view].Deleted.Get(doc) && (!p.narrow || at.chosen.Get(doc)) && !at.excluded.Get(doc)
}
