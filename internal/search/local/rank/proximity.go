package rank

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"carrel/internal/search/analysis"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/scoring"
)

// rerank adds proximity scores to the best documents, which are sorted. It stops at the first document that no
// proximity score can lift into the list, or after the first least documents if that is later.
func (p *plan) rerank(found []candidate, least int) error {
	pairs, most := p.pairs()
	if len(pairs) == 0 {
		return nil
	}
	if err := p.findStops(); err != nil {
		return err
	}
	n := nearness{positions: make([][]int, len(p.terms))}
	listed := top{k: max(1, p.request.Limit)}
	for i := range found {
		c := &found[i]
		if i >= least && c.score+most < listed.least {
			break
		}
		at := &p.parts[c.part]
		if err := at.s.Forward(c.unit, &n.forward); err != nil {
			return fmt.Errorf("read the positions of words: %w", err)
		}
		n.place(at)
		norm := p.satur.Norm(at.s.Lengths()[c.unit])
		for _, pair := range pairs {
			adjacent, within := scoring.Near(n.positions[pair.first], n.positions[pair.second])
			c.score += scoring.Score(pair.adjacent, adjacent, norm) + scoring.Score(pair.within, within, norm)
		}
		listed.add(*c, false)
	}
	slices.SortFunc(found, compare)
	return nil
}

// findStops counts the stop words of each segment, unless the query consists of stop words.
func (p *plan) findStops() error {
	if p.request.Parsed.Stops {
		return nil
	}
	for i := range p.parts {
		s := p.parts[i].s
		var failed error
		p.parts[i].stops = uint32(sort.Search(s.Terms(), func(ord int) bool {
			text, _, err := s.Term(uint32(ord))
			if err != nil {
				failed = err
			}
			return !strings.HasPrefix(text, analysis.StopMark)
		}))
		if failed != nil {
			return failed
		}
	}
	return nil
}

// pair is two consecutive terms of the query, with the upper limits of their scores for being adjacent and near.
type pair struct {
	first, second    int
	adjacent, within float64
}

// pairs returns the pairs of the query and the highest total score they can reach.
func (p *plan) pairs() (out []pair, most points) {
	sequence := p.request.Parsed.Sequence
	for i := 1; i < len(sequence); i++ {
		first, second := sequence[i-1], sequence[i]
		x, y := p.terms[first], p.terms[second]
		if first == second || x.holders == 0 || y.holders == 0 {
			continue
		}
		adjacent, within := scoring.PairGains(x.idf, y.idf)
		out = append(out, pair{first: first, second: second, adjacent: adjacent, within: within})
		most += scoring.MaxPair(x.idf, y.idf)
	}
	return out, most
}

// nearness holds the positions of the query's terms in a unit.
type nearness struct {
	forward   segment.Forward
	positions [][]int // by term, ascending
}

// place records the positions of the terms. Words that are not indexed have no position, so that "state of the art" has
// two adjacent words.
func (n *nearness) place(at *part) {
	var wanted uint64 // a bit filter of the terms, because most words of a text are not among them
	for t := range n.positions {
		n.positions[t] = n.positions[t][:0]
		if at.lists[t].units != nil {
			wanted |= 1 << ((at.lists[t].ord + 1) % 64)
		}
	}
	position := 0
	for _, field := range [2][]uint32{n.forward.Title, n.forward.Text} {
		for _, place := range field {
			if place <= at.stops {
				continue
			}
			position++
			if wanted&(1<<(place%64)) == 0 {
				continue
			}
			for t := range at.lists {
				if at.lists[t].units != nil && place == at.lists[t].ord+1 {
					n.positions[t] = append(n.positions[t], position)
					break
				}
			}
		}
	}
}
