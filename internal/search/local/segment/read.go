package segment

import "encoding/binary"

// Lookup finds a term in the dictionary.
func (s *Segment) Lookup(term string) (Term, bool, error) {
	low, high := uint64(0), s.meta.terms
	for low < high {
		mid := (low + high) / 2
		b, err := s.terms.at(mid)
		if err != nil {
			return Term{}, false, err
		}
		if string(b) < term {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == s.meta.terms {
		return Term{}, false, nil
	}
	b, err := s.terms.at(low)
	if err != nil || string(b) != term {
		return Term{}, false, err
	}
	t, err := s.places(low)
	return t, err == nil, err
}

// places returns the range of a term's postings.
func (s *Segment) places(ord uint64) (Term, error) {
	v, err := s.starts.slice(ord, ord+2)
	if err != nil {
		return Term{}, err
	}
	if v[0] > v[1] || v[1] > s.meta.postings {
		return Term{}, damaged("postings of term %d", ord)
	}
	return Term{Ord: uint32(ord), First: v[0], End: v[1]}, nil
}

// Term returns the term with an ordinal. Ordinals are in the order of terms.
func (s *Segment) Term(ord uint32) (string, Term, error) {
	b, err := s.terms.at(uint64(ord))
	if err != nil {
		return "", Term{}, err
	}
	t, err := s.places(uint64(ord))
	if err != nil {
		return "", Term{}, err
	}
	return string(b), t, nil
}

// Surface returns a readable form of a term, or the term itself.
func (s *Segment) Surface(ord uint32) (string, error) {
	b, err := s.surfaces.at(uint64(ord))
	if err == nil && len(b) == 0 {
		b, err = s.terms.at(uint64(ord))
	}
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// Postings returns the postings of a term. All its units are less than Units.
func (s *Segment) Postings(t Term) (Postings, error) {
	units, err := s.postingUnits.slice(t.First, t.End)
	if err != nil || t.First == t.End {
		return Postings{First: t.First}, err
	}
	freqs, err := s.postingFreqs.slice(t.First, t.End)
	if err != nil {
		return Postings{}, err
	}
	ord := uint64(t.Ord)
	bounds, err := s.postingBounds.slice(t.First/BlockSize+ord, (t.End-1)/BlockSize+ord+1)
	if err != nil {
		return Postings{}, err
	}
	return Postings{First: t.First, Units: units, Freqs: freqs, Bounds: bounds}, nil
}

// Forward reads the terms of a unit in their order. It reuses the slices of into.
func (s *Segment) Forward(unit uint32, into *Forward) error {
	b, err := s.forward.at(uint64(unit))
	if err != nil {
		return err
	}
	var sizes [3]uint64
	total := uint64(0)
	for i := range sizes {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)) {
			return damaged("forward record %d", unit)
		}
		sizes[i] = n
		total += n
		b = b[used:]
	}
	if total > uint64(len(b)) { // a term takes at least one byte
		return damaged("forward record %d", unit)
	}
	for i, field := range []*[]uint32{&into.Title, &into.Authors, &into.Text} {
		var ok bool
		if *field, b, ok = appendTerms((*field)[:0], b, sizes[i], s.meta.terms); !ok {
			return damaged("forward record %d", unit)
		}
	}
	if len(b) > 0 {
		return damaged("forward record %d", unit)
	}
	return nil
}

// appendTerms decodes n varints, none of them above limit.
func appendTerms(to []uint32, b []byte, n, limit uint64) ([]uint32, []byte, bool) {
	for range n {
		if len(b) == 0 {
			return to, b, false
		}
		v, used := uint64(b[0]), 1
		if v >= 0x80 {
			if v, used = binary.Uvarint(b); used <= 0 {
				return to, b, false
			}
		}
		if v > limit {
			return to, b, false
		}
		to = append(to, uint32(v))
		b = b[used:]
	}
	return to, b, true
}

// Vectors returns the vectors of all units. The first call verifies all of them.
func (s *Segment) Vectors() (Vectors, error) {
	if s.meta.dims == 0 {
		return Vectors{}, nil
	}
	v := Vectors{Dims: int(s.meta.dims), Bits: int(s.meta.bits), Codes: s.codes.values, Scales: s.scales.values}
	if s.vectorsChecked.Load() {
		return v, nil
	}
	for _, id := range []sectionID{secVectorCodes, secVectorScales} {
		if err := s.sections[id].need(0, uint64(len(s.sections[id].data))); err != nil {
			return Vectors{}, err
		}
	}
	s.vectorsChecked.Store(true)
	return v, nil
}

// Vector returns the quantised embedding of a unit, to be multiplied by its scale, as a view of the file. The segment
// must have vectors; Quantise describes their form.
func (s *Segment) Vector(unit uint32) ([]byte, error) {
	size := s.meta.valueBytes()
	return s.bytes.slice(uint64(unit)*size, (uint64(unit)+1)*size)
}
