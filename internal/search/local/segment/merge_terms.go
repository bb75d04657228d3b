package segment

import (
	"bytes"
)

// termCursor iterates over the dictionary of an input.
type termCursor struct {
	segment *Segment
	input   int
	ord     uint64
	text    []byte
}

func (c *termCursor) read() (err error) {
	c.text, err = c.segment.terms.at(c.ord)
	return err
}

// next advances to the next term and reports whether there is one.
func (c *termCursor) next() (bool, error) {
	c.ord++
	if c.ord == c.segment.meta.terms {
		return false, nil
	}
	before := c.text
	if err := c.read(); err != nil {
		return false, err
	}
	if bytes.Compare(before, c.text) >= 0 {
		return false, damaged("term %d is not above the one before", c.ord)
	}
	return true, nil
}

// planTerms merges the dictionaries: it numbers the terms that surviving units hold, and counts their postings.
func (m *merger) planTerms() error {
	queue := queue[*termCursor]{less: func(a, b *termCursor) bool { return bytes.Compare(a.text, b.text) < 0 }}
	for i, in := range m.inputs {
		m.terms = append(m.terms, filled(in.Segment.Terms()))
		if in.Segment.Terms() == 0 {
			continue
		}
		c := &termCursor{segment: in.Segment, input: i}
		if err := c.read(); err != nil {
			return err
		}
		queue.push(c)
	}
	var holders []holder
	for len(queue.items) > 0 {
		if err := m.step(); err != nil {
			return err
		}
		term := queue.items[0].text
		holders = holders[:0]
		for len(queue.items) > 0 && bytes.Equal(queue.items[0].text, term) {
			c := queue.items[0]
			holders = append(holders, holder{c.input, c.ord})
			more, err := c.next()
			if err != nil {
				return err
			}
			queue.settle(more)
		}
		if err := m.planTerm(term, holders); err != nil {
			return err
		}
	}
	return m.out.check()
}

// holder is the ordinal of a term in one input.
type holder struct {
	input int
	ord   uint64
}

func (m *merger) planTerm(term []byte, holders []holder) error {
	postings := uint64(0)
	for _, h := range holders {
		n, err := m.surviving(h)
		if err != nil {
			return err
		}
		postings += n
	}
	if postings == 0 {
		return nil
	}
	surface, err := m.surface(holders)
	if err != nil {
		return err
	}
	for _, h := range holders {
		m.terms[h.input][h.ord] = uint32(m.out.terms)
	}
	m.out.terms++
	m.out.postings += postings
	m.termText += uint64(len(term))
	m.surfaces += uint64(len(surface))
	return nil
}

// surviving counts the postings of a term whose units survive.
func (m *merger) surviving(h holder) (uint64, error) {
	in := &m.inputs[h.input]
	t, err := in.Segment.places(h.ord)
	if err != nil || in.Deleted.Count() == 0 {
		return t.End - t.First, err
	}
	units, err := in.Segment.postingUnits.slice(t.First, t.End)
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	for _, u := range units {
		if m.units[h.input][u] != gone {
			n++
		}
	}
	return n, nil
}

// surface returns the shortest readable form of a term, or of equally short ones the smallest, so that the order of
// merges does not matter.
func (m *merger) surface(holders []holder) ([]byte, error) {
	var best []byte
	for _, h := range holders {
		b, err := m.inputs[h.input].Segment.surfaces.at(h.ord)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			continue
		}
		if len(best) == 0 || len(b) < len(best) || len(b) == len(best) && bytes.Compare(b, best) < 0 {
			best = b
		}
	}
	return best, nil
}

// writeTerms writes the new dictionary and the postings.
func (m *merger) writeTerms(w *fileWriter) error {
	terms := newTextWriter(w, secTermOffsets, secTermText)
	surfaces := newTextWriter(w, secSurfaceOffsets, secSurfaceText)
	postings := newPostingWriter(w, m.newNorms())
	next := make([]uint64, len(m.inputs)) // next term of each input
	var holders []holder
	var cursors []postingCursor
	for ord := range uint32(m.out.terms) {
		if err := m.step(); err != nil {
			return err
		}
		holders = m.holders(holders[:0], ord, next)
		text, err := m.inputs[holders[0].input].Segment.terms.at(holders[0].ord)
		if err != nil {
			return err
		}
		terms.add(text)
		surface, err := m.surface(holders)
		if err != nil {
			return err
		}
		surfaces.add(surface)
		if cursors, err = m.cursors(cursors[:0], holders); err != nil {
			return err
		}
		if err := mergePostings(postings, cursors); err != nil {
			return err
		}
		postings.endTerm()
	}
	postings.finish()
	return nil
}

// holders returns the inputs that hold the term with a new number. Numbers ascend in every input, so only the next term
// of each has to be checked.
func (m *merger) holders(to []holder, ord uint32, next []uint64) []holder {
	for i, terms := range m.terms {
		for next[i] < uint64(len(terms)) && terms[next[i]] == gone {
			next[i]++
		}
		if next[i] < uint64(len(terms)) && terms[next[i]] == ord {
			to = append(to, holder{i, next[i]})
			next[i]++
		}
	}
	return to
}

func (m *merger) cursors(to []postingCursor, holders []holder) ([]postingCursor, error) {
	for _, h := range holders {
		s := m.inputs[h.input].Segment
		t, err := s.places(h.ord)
		if err != nil {
			return to, err
		}
		p, err := s.Postings(t)
		if err != nil {
			return to, err
		}
		c := postingCursor{units: p.Units, freqs: p.Freqs, to: m.units[h.input], unit: -1}
		more, err := c.next()
		if err != nil {
			return to, err
		}
		if more {
			to = append(to, c)
		}
	}
	return to, nil
}

// postingCursor iterates over the surviving postings of a term in one input.
type postingCursor struct {
	units []uint32
	freqs []uint8
	to    []uint32
	unit  int64 // new number of the current unit
	freq  uint8
}

func (c *postingCursor) next() (bool, error) {
	for i, u := range c.units {
		unit := int64(c.to[u])
		if unit == gone {
			continue
		}
		// Units of one input keep their order, so this verifies that the input is sorted.
		if unit <= c.unit || c.freqs[i] == 0 {
			return false, damaged("order of postings, unit %d", u)
		}
		c.unit, c.freq = unit, c.freqs[i]
		c.units, c.freqs = c.units[i+1:], c.freqs[i+1:]
		return true, nil
	}
	return false, nil
}

// mergePostings writes the postings of the cursors in the order of units. Units of different inputs alternate only
// between sources, so it mostly stays with one cursor.
func mergePostings(out *postingWriter, cursors []postingCursor) error {
	for len(cursors) > 0 {
		least, second := 0, int64(gone)
		for i := 1; i < len(cursors); i++ {
			switch unit := cursors[i].unit; {
			case unit < cursors[least].unit:
				least, second = i, cursors[least].unit
			case unit < second:
				second = unit
			}
		}
		c := &cursors[least]
		for c.unit < second {
			out.add(uint32(c.unit), c.freq)
			more, err := c.next()
			if err != nil {
				return err
			}
			if !more {
				cursors[least] = cursors[len(cursors)-1]
				cursors = cursors[:len(cursors)-1]
				break
			}
		}
	}
	return nil
}
