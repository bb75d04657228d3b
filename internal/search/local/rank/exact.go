package rank

import (
	"slices"

	"carrel/internal/search/local/segment"
)

// named returns the documents of the searched sources with this title or DOI key, best first. It does not check years.
func (p *plan) named(key uint64, find func(*segment.Segment, uint64) ([]uint32, error)) ([]candidate, error) {
	var out []candidate
	for view := range p.views {
		docs, err := find(p.views[view].Segment, key)
		if err != nil {
			return nil, err
		}
		for i := range p.parts {
			at := &p.parts[i]
			if at.view != view {
				continue
			}
			from := make([]int, len(at.lists))
			for _, doc := range docs {
				if doc >= at.r.FirstDoc && doc < at.r.EndDoc && p.holds(at, doc) {
					c := p.bestUnit(i, doc, from)
					c.named = true
					out = append(out, c)
				}
			}
		}
	}
	slices.SortFunc(out, compare)
	return out, nil
}

// answerNamed answers a query that is a DOI, which finds only the documents with that DOI.
func (p *plan) answerNamed(named []candidate) Answer {
	var answer Answer
	tally := newTally(p)
	listed := slices.DeleteFunc(named, func(c candidate) bool {
		year := p.parts[c.part].s.Years()[c.doc]
		if p.request.Covers(int(year)) {
			tally.add(c.part, year)
			return false
		}
		if year == 0 {
			answer.UndatedExcluded++
		}
		return true
	})
	if p.request.Facets {
		tally.write(&answer)
	}
	answer.Hits = p.hits(listed)
	return answer
}

// putFirst moves the documents whose title is the query to the front.
func (p *plan) putFirst(titled, found []candidate) []candidate {
	titled = slices.DeleteFunc(titled, func(c candidate) bool { return !p.allowed(&p.parts[c.part], c.doc) })
	if len(titled) == 0 {
		return found
	}
	out := titled
	for _, c := range found {
		i := slices.IndexFunc(titled, func(t candidate) bool { return t.part == c.part && t.doc == c.doc })
		if i < 0 {
			out = append(out, c)
			continue
		}
		// The reranked candidate has the better score.
		c.named = true
		out[i] = c
	}
	slices.SortStableFunc(out, compare)
	return out
}
