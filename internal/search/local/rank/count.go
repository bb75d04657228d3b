package rank

import (
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/scoring"
)

// strong reports whether a document is counted: it holds at least half of the query's weight. A document that holds
// only a common word of the query is not.
func (p *plan) strong(held uint32) bool { return p.mass > 0 && 2*uint64(held) >= uint64(p.mass) }

// count computes the facets. It reads all postings of the query, which ranking does not, so it runs only if facets are
// requested or if year bounds may have excluded undated documents. Found are the candidates, best first.
func (p *plan) count(answer *Answer, found []candidate) error {
	listed := found[:min(len(found), p.request.Limit)]
	undated := p.request.Bounded() && p.anyUndated()
	if !p.request.Facets && !undated {
		return nil
	}
	tally := newTally(p)
	var held []uint32
	for i := range p.parts {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		at := &p.parts[i]
		held = append(held[:0], make([]uint32, at.r.EndDoc-at.r.FirstDoc)...)
		p.hold(at, held)
		// Listed documents are always counted.
		for _, c := range listed {
			if c.part == i {
				held[c.doc-at.r.FirstDoc] = p.mass
			}
		}
		years := at.s.Years()[at.r.FirstDoc:at.r.EndDoc]
		for place, mass := range held {
			if !p.strong(mass) || !p.holds(at, at.r.FirstDoc+uint32(place)) {
				continue
			}
			if year := years[place]; p.request.Covers(int(year)) {
				tally.add(i, year)
			} else if year == 0 {
				answer.UndatedExcluded++
			}
		}
	}
	if p.request.Facets {
		tally.write(answer)
	}
	return nil
}

// hold sums up the weight of the query's terms that each document of a part holds, in any of its units.
func (p *plan) hold(at *part, held []uint32) {
	docOf := at.s.DocOf()
	for t := range at.lists {
		mass := p.terms[t].mass
		last := ^uint32(0)
		for _, unit := range at.lists[t].units {
			doc := docOf[unit]
			if doc != last {
				held[doc-at.r.FirstDoc] += mass
				last = doc
			}
		}
	}
}

// anyUndated reports whether the parts have documents without a year.
func (p *plan) anyUndated() bool {
	return slices.ContainsFunc(p.parts, func(at part) bool { return at.s.Undated(at.r.Source) })
}

// isWeak reports whether unknown words make up so much of the query that even the best hits hold less than half of its
// weight.
func (p *plan) isWeak(found []candidate) bool {
	unknown := p.unknown()
	if len(unknown) == 0 {
		return false
	}
	if len(found) == 0 {
		return true
	}
	all := uint64(p.mass)
	for _, i := range unknown {
		all += uint64(scoring.Mass(p.request.Parsed.Terms[i].Count, scoring.IDF(p.units, 0)))
	}
	const look = 10
	for _, c := range found[:min(look, len(found))] {
		at := &p.parts[c.part]
		held := uint64(0)
		for t := range at.lists {
			if _, ok := slices.BinarySearch(at.lists[t].units, c.unit); ok {
				held += uint64(p.terms[t].mass)
			}
		}
		if 2*held >= all {
			return false
		}
	}
	return true
}

// tally counts documents by year and by part.
type tally struct {
	plan *plan
	// years are the counts in blocks of yearBlock years, because documents are of few centuries. A block without
	// documents is nil.
	years [lastYear/yearBlock + 1]*[yearBlock]int
	parts []int
}

const (
	lastYear  = 9999
	yearBlock = 128
)

func newTally(p *plan) *tally { return &tally{plan: p, parts: make([]int, len(p.parts))} }

func (t *tally) add(part int, year uint16) {
	t.parts[part]++
	block := &t.years[year/yearBlock]
	if *block == nil {
		*block = new([yearBlock]int)
	}
	(*block)[year%yearBlock]++
}

func (t *tally) write(answer *Answer) {
	for i, count := range t.parts {
		if count == 0 {
			continue
		}
		answer.Total += count
		// Parts of one source are consecutive.
		source := t.plan.parts[i].r.Source
		if n := len(answer.Sources); n > 0 && answer.Sources[n-1].SourceID == source {
			answer.Sources[n-1].Count += count
		} else {
			answer.Sources = append(answer.Sources, search.SourceCount{SourceID: source, Count: count})
		}
	}
	for i, block := range t.years {
		if block == nil {
			continue
		}
		for j, count := range block {
			if year := i*yearBlock + j; year != 0 && count > 0 {
				answer.Years = append(answer.Years, search.YearCount{Year: year, Count: count})
			}
		}
	}
}
