package rank

import (
	"slices"

	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
)

// applyClauses computes the documents that hold every required clause and those that hold an excluded one. A document
// holds a clause if one of its units does.
func (p *plan) applyClauses() error {
	q := &p.request.Parsed
	p.narrow = len(q.Require) > 0
	for i := range p.parts {
		at := &p.parts[i]
		for n, clause := range q.Require {
			if err := p.ctx.Err(); err != nil {
				return err
			}
			held := segment.NewBits(at.s.Documents())
			err := p.holders(at, clause, func(doc uint32) {
				if n == 0 || at.chosen.Get(doc) {
					held.Set(doc)
				}
			})
			if err != nil {
				return err
			}
			at.chosen = held
		}
		if len(q.Exclude) > 0 {
			at.excluded = segment.NewBits(at.s.Documents())
		}
		for _, clause := range q.Exclude {
			if err := p.holders(at, clause, func(doc uint32) { at.excluded.Set(doc) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// holders calls found with each document of a part that holds a clause, possibly more than once.
func (p *plan) holders(at *part, c query.Clause, found func(doc uint32)) error {
	m := matcher{clause: c, places: make([]uint32, len(c.Terms))}
	var lists [][]uint32
	for i, text := range c.Terms {
		if text == "" {
			continue
		}
		t, ok, err := at.s.Lookup(text)
		if err != nil || !ok {
			return err
		}
		postings, err := at.s.Postings(t)
		if err != nil {
			return err
		}
		first, _ := slices.BinarySearch(postings.Units, at.r.FirstUnit)
		end, _ := slices.BinarySearch(postings.Units, at.r.EndUnit)
		lists = append(lists, postings.Units[first:end])
		m.places[i] = t.Ord + 1
	}
	// A single word in any field needs no check of positions.
	plain := c.Field == query.Any && len(c.Terms) == 1
	docOf := at.s.DocOf()
	var err error
	intersect(lists, func(unit uint32) bool {
		ok := plain
		if !ok {
			if err = at.s.Forward(unit, &m.forward); err != nil {
				return false
			}
			ok = m.match()
		}
		if ok {
			found(docOf[unit])
		}
		return true
	})
	return err
}

// intersect yields the units that are in all lists, in ascending order.
func intersect(lists [][]uint32, yield func(unit uint32) bool) {
	slices.SortFunc(lists, func(x, y []uint32) int { return len(x) - len(y) })
	from := make([]int, len(lists))
units:
	for _, unit := range lists[0] {
		for i, l := range lists[1:] {
			from[i] = seek(l, from[i], unit)
			if from[i] == len(l) {
				return
			}
			if l[from[i]] != unit {
				continue units
			}
		}
		if !yield(unit) {
			return
		}
	}
}

// matcher matches the phrase of a clause against the forward record of a unit.
type matcher struct {
	clause  query.Clause
	places  []uint32 // the terms of the phrase as in a forward record; 0 matches any word
	forward segment.Forward
}

func (m *matcher) match() bool {
	switch m.clause.Field {
	case query.Title:
		return m.in(m.forward.Title)
	case query.Author:
		return m.named()
	case query.Text:
		return m.in(m.forward.Text)
	default:
		return m.in(m.forward.Title) || m.in(m.forward.Text) || m.in(m.forward.Authors)
	}
}

// named reports whether one author's name holds all words, in any order: "donald knuth" finds both "Donald E. Knuth"
// and "Knuth, Donald". Names are separated by positions without a term.
func (m *matcher) named() bool {
	for rest := m.forward.Authors; len(rest) > 0; {
		name := rest
		if end := slices.Index(rest, 0); end >= 0 {
			name, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if !slices.ContainsFunc(m.places, func(want uint32) bool { return want != 0 && !slices.Contains(name, want) }) {
			return true
		}
	}
	return false
}

func (m *matcher) in(field []uint32) bool {
starts:
	for i := 0; i+len(m.places) <= len(field); i++ {
		for j, want := range m.places {
			if want != 0 && field[i+j] != want {
				continue starts
			}
		}
		return true
	}
	return false
}
