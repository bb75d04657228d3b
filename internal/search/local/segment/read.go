package segment

import (
	"encoding/binary"
	"slices"
)

// numHeads is the number of terms whose first bytes Lookup keeps, which are those of its first ten steps.
const numHeads = 1 << 10

// Lookup finds a term in the dictionary. The terms that are compared first are far apart in the file, so their first
// bytes are kept.
func (s *Segment) Lookup(term string) (Term, bool, error) {
	wanted := head(term)
	low, high := uint64(0), s.meta.terms
	for node := 1; low < high; {
		mid := (low + high) / 2
		less, err := s.termLess(mid, node, term, wanted)
		if err != nil {
			return Term{}, false, err
		}
		node *= 2
		if less {
			low = mid + 1
			node++
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

// termLess reports whether the term with an ordinal, which is a node of the heap, is less than the wanted one.
func (s *Segment) termLess(ord uint64, node int, term string, wanted uint64) (bool, error) {
	if node < len(s.heads) {
		if first := s.heads[node].Load(); first != 0 && first != wanted {
			return first < wanted, nil
		}
	}
	b, err := s.terms.at(ord)
	if err != nil {
		return false, err
	}
	if node < len(s.heads) {
		s.heads[node].Store(head(b))
	}
	return string(b) < term, nil
}

// head returns the first eight bytes of a term as a number, which is in the order of terms. A shorter term is padded
// with zeros.
func head[T string | []byte](term T) uint64 {
	var first [8]byte
	copy(first[:], term)
	return binary.BigEndian.Uint64(first[:])
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

// appendTerms decodes n varints, none of them above limit. Most terms take two or three bytes.
func appendTerms(to []uint32, b []byte, n, limit uint64) ([]uint32, []byte, bool) {
	if n > uint64(len(b)) {
		return to, b, false
	}
	to = slices.Grow(to, int(n))
	for range n {
		var v uint64
		var used int
		switch {
		case len(b) > 0 && b[0] < 0x80:
			v, used = uint64(b[0]), 1
		case len(b) > 1 && b[1] < 0x80:
			v, used = uint64(b[0]&0x7f)|uint64(b[1])<<7, 2
		case len(b) > 2 && b[2] < 0x80:
			v, used = uint64(b[0]&0x7f)|uint64(b[1]&0x7f)<<7|uint64(b[2])<<14, 3
		default:
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
