package rank

import (
	"cmp"
	"context"
	"math"
	"slices"

	"carrel/internal/search/local/segment"
	"carrel/internal/search/scoring"
)

// plan is a prepared request: the postings of its terms in the searched sources, and the statistics of those sources.
// Other sources have no influence on the ranking.
type plan struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Search
	views   []View
	request Request
	parts   []part
	terms   []term
	units   int // live units of all parts
	satur   scoring.Saturation
	mass    uint32 // of all terms that some document holds
	narrow  bool   // the query has required clauses; see part.chosen
	bounded bool   // the query limits the years; see part.inYears
}

// term is a term of the query over all parts.
type term struct {
	holders int     // live units that hold it
	idf     float64 // 0 if no unit holds it
	gain    float64 // upper limit of its score in a unit, in points
	mass    uint32
}

// part is one source in one segment: a range of documents and their units.
type part struct {
	view   int
	s      *segment.Segment
	r      segment.Range
	lists  []list
	shrink float64 // see bound
	// chosen are the documents that hold every required clause, if the plan is narrow; excluded are those that hold an
	// excluded clause, or nil.
	chosen, excluded *segment.Bits
	// inYears are the units of documents within the bounds of years, as bits counted from the first unit of the part; nil
	// if the query does not limit the years.
	inYears  []uint64
	filtered bool   // some documents within the bounds of years are not allowed
	stops    uint32 // number of stop words, which come first in the dictionary
}

// list holds the postings of a term in a part. Blocks are counted over the whole term; skew is the offset of the list
// in its first block.
type list struct {
	ord    uint32
	units  []uint32
	freqs  []uint8
	bounds []float32
	skew   int
}

// least returns the smallest bound of the blocks that hold the postings from first to end, which must not be empty.
func (l *list) least(first, end int) float32 {
	blocks := l.bounds[(first+l.skew)/segment.BlockSize : (end-1+l.skew)/segment.BlockSize+1]
	q := blocks[0]
	for _, b := range blocks[1:] {
		q = min(q, b)
	}
	return q
}

// newPlan looks up the terms. Parts are sorted by source and then by view, which is the order of documents with equal
// scores.
func newPlan(ctx context.Context, views []View, r Request) (*plan, error) {
	p := &plan{
		ctx: ctx, views: views, request: r, terms: make([]term, len(r.Parsed.Terms)), bounded: r.Bounded(),
	}
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
			lostUnits, lostLength := v.Deductions.of(source)
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

// lookUp returns the postings of the query's terms, empty for a term that the segment does not hold.
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

// newPart cuts the postings to one source and counts the holders of each term.
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
		p.terms[i].holders += end - first - v.Deductions.holders(within.Source, ords[i])
	}
	return out
}

// weigh computes the values that depend on the statistics of all parts.
func (p *plan) weigh(average float64) {
	p.satur = scoring.NewSaturation(average)
	for i := range p.terms {
		t := &p.terms[i]
		// A term that no document holds, such as a typo, does not lower the weight of the others.
		if t.holders == 0 {
			continue
		}
		count := p.request.Parsed.Terms[i].Count
		t.idf = scoring.IDF(p.units, t.holders)
		t.gain = scoring.Gain(count, t.idf)
		t.mass = scoring.Mass(count, t.idf)
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

// unknown returns the terms that no unit holds.
func (p *plan) unknown() []int {
	var out []int
	for i, t := range p.terms {
		if t.holders == 0 {
			out = append(out, i)
		}
	}
	return out
}

// filter prepares the checks of candidates.
func (p *plan) filter() {
	from, to := max(0, p.request.FromYear), cmp.Or(p.request.ToYear, math.MaxUint16)
	if from > math.MaxUint16 || to < 0 {
		from, to = 1, 0 // no year
	}
	for i := range p.parts {
		at := &p.parts[i]
		at.filtered = p.narrow || at.excluded != nil || p.views[at.view].Deleted.Count() > 0
		if p.bounded {
			at.inYears = at.s.UnitsOfYears(at.r, uint16(from), uint16(min(to, math.MaxUint16)))
		}
	}
}

// within reports whether a unit of the part is within the bounds of years.
func (at *part) within(unit uint32) bool {
	if at.inYears == nil {
		return true
	}
	place := unit - at.r.FirstUnit
	return at.inYears[place/64]&(1<<(place%64)) != 0
}

// allowed reports whether a document of a part may be listed: it is not deleted, it passes the clauses of the query,
// and its year is within bounds.
func (p *plan) allowed(at *part, doc uint32) bool {
	return p.holds(at, doc) && (!p.bounded || p.request.Covers(int(at.s.Years()[doc])))
}

// holds is allowed without the check of the year.
func (p *plan) holds(at *part, doc uint32) bool {
	return !p.views[at.view].Deleted.Get(doc) && (!p.narrow || at.chosen.Get(doc)) && !at.excluded.Get(doc)
}
