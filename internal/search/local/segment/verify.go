package segment

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Verify reads the whole file, regardless of earlier checks, and verifies every checksum and the consistency of the
// sections.
func (s *Segment) Verify() error {
	// Reopened, so that no page counts as verified.
	fresh, err := open(s.data)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	for _, step := range []func() error{
		fresh.verifyBytes, fresh.verifyTerms, fresh.verifyForward, fresh.verifyIDs, fresh.verifyKeys, fresh.verifyVectors,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
	}
	return nil
}

// verifyBytes verifies the checksum of every page, and that the gaps between sections are zero.
func (s *Segment) verifyBytes() error {
	at := uint64(headerSize)
	for i := range s.sections {
		sec := &s.sections[i]
		if err := sec.need(0, uint64(len(sec.data))); err != nil {
			return err
		}
		end := at + uint64(len(sec.data))
		at = align(end)
		for _, b := range s.data[end:at] {
			if b != 0 {
				return damaged("padding after %v", sec.id)
			}
		}
	}
	return nil
}

// verifyTerms verifies the order of the dictionary and every posting and bound.
func (s *Segment) verifyTerms() error {
	norms := norms(s.sources, s.lengths)
	var before []byte
	var place, bounds uint64
	for ord := range s.meta.terms {
		term, err := s.terms.at(ord)
		if err != nil {
			return err
		}
		if len(term) == 0 || bytes.Compare(before, term) >= 0 {
			return damaged("order of term %d", ord)
		}
		before = term
		if _, err := s.surfaces.at(ord); err != nil {
			return err
		}
		t, err := s.places(ord)
		if err != nil {
			return err
		}
		if t.First != place || t.First == t.End {
			return damaged("places of term %d", ord)
		}
		place = t.End
		p, err := s.Postings(t)
		if err != nil {
			return err
		}
		if err := p.verify(norms); err != nil {
			return fmt.Errorf("term %d: %w", ord, err)
		}
		bounds += uint64(len(p.Bounds))
	}
	if place != s.meta.postings {
		return damaged("%d postings, %d of terms", s.meta.postings, place)
	}
	return s.verifyUnusedBounds(bounds)
}

func (p *Postings) verify(norms []float32) error {
	least := float32(math.MaxFloat32)
	for i, u := range p.Units {
		if i > 0 && p.Units[i-1] >= u {
			return damaged("order of postings, unit %d", u)
		}
		if p.Freqs[i] == 0 {
			return damaged("frequency 0, unit %d", u)
		}
		least = min(least, norms[u]/float32(p.Freqs[i]))
		place := p.First + uint64(i)
		if place%BlockSize < BlockSize-1 && i < len(p.Units)-1 {
			continue
		}
		if p.Bounds[place/BlockSize-p.First/BlockSize] != bound(least) {
			return damaged("bound of place %d", place)
		}
		least = math.MaxFloat32
	}
	return nil
}

// verifyUnusedBounds verifies that unused bounds are 0, which no used bound is.
func (s *Segment) verifyUnusedBounds(used uint64) error {
	for _, b := range s.postingBounds.values {
		if math.Float32bits(b) != 0 {
			used--
		}
	}
	if used != 0 {
		return damaged("unused bounds")
	}
	return nil
}

// verifyForward verifies that forward records agree with postings and lengths. Their orders differ, so it compares sums
// of hashes.
func (s *Segment) verifyForward() error {
	stops, err := s.stopTerms()
	if err != nil {
		return err
	}
	var sum uint64
	var count counter
	count.init(s.Terms())
	var record Forward
	for unit := range uint32(s.meta.units) {
		if err := s.Forward(unit, &record); err != nil {
			return err
		}
		var length uint64
		for i, field := range [][]uint32{record.Title, record.Authors, record.Text} {
			weight, counted := uint32(1), uint64(1)
			switch i {
			case 0:
				weight, counted = TitleWeight, TitleWeight
			case 1:
				counted = 0
			}
			for _, n := range field {
				if n == 0 {
					continue
				}
				count.add(n-1, weight)
				if !stops.Get(n - 1) {
					length += counted
				}
			}
		}
		if min(length, math.MaxUint32) != uint64(s.lengths[unit]) {
			return damaged("length of unit %d", unit)
		}
		for ord, freq := range count.all() {
			sum += mix(ord, unit, freq)
		}
	}
	for ord := range s.meta.terms {
		t, err := s.places(ord)
		if err != nil {
			return err
		}
		for place := t.First; place < t.End; place++ {
			sum -= mix(uint32(ord), s.postingUnits.values[place], s.postingFreqs.values[place])
		}
	}
	if sum != 0 {
		return damaged("postings and forward records differ")
	}
	return s.forward.complete()
}

// stopTerms returns the terms that do not add to a unit's length.
func (s *Segment) stopTerms() (*Bits, error) {
	stops := NewBits(s.Terms())
	for ord := range s.meta.terms {
		term, err := s.terms.at(ord)
		if err != nil {
			return nil, err
		}
		if term[0] == StopMark { // verifyTerms has checked that it is not empty
			stops.Set(uint32(ord))
		}
	}
	return stops, nil
}

// mix hashes a posting with the finaliser of splitmix64.
func mix(ord, unit uint32, freq uint8) uint64 {
	h := uint64(ord)<<32 | uint64(unit)
	for range 2 {
		h += 0x9e3779b97f4a7c15 + uint64(freq)
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// complete verifies that the strings cover all bytes, in order.
func (t *text[O]) complete() error {
	o := t.offsets.values
	if !slices.IsSorted(o) || o[0] != 0 || uint64(o[len(o)-1]) != t.bytes.len() {
		return damaged("%v", t.offsets.section.id)
	}
	return nil
}

func (s *Segment) verifyIDs() error {
	for _, t := range []*text[uint32]{&s.ids, &s.terms, &s.surfaces} {
		if err := t.complete(); err != nil {
			return err
		}
	}
	seen := NewBits(s.Documents())
	for i, doc := range s.idKeys.docs.values {
		id, err := s.ids.at(uint64(doc))
		if err != nil {
			return err
		}
		if xxhash.Sum64(id) != s.idKeys.hashes.values[i] || !seen.Set(doc) {
			return damaged("hash of document %d", doc)
		}
	}
	return nil
}

func (s *Segment) verifyKeys() error {
	for _, kind := range keyTables {
		table := kind.table(s)
		hashes, docs := table.hashes.values, table.docs.values
		for i := range hashes {
			k := key{hashes[i], docs[i]}
			if i > 0 && k.compare(key{hashes[i-1], docs[i-1]}) <= 0 || kind.count != nil && k.hash == 0 {
				return damaged("order of %v", table.hashes.section.id)
			}
		}
	}
	return nil
}

func (s *Segment) verifyVectors() error {
	v, err := s.Vectors()
	if err != nil {
		return err
	}
	for unit, scale := range v.Scales {
		if !(scale >= 0 && scale <= math.MaxFloat32) {
			return damaged("scale of unit %d", unit)
		}
		words := int(s.meta.words())
		code := v.Codes[unit*words:][:words]
		bytes, err := s.Vector(uint32(unit))
		if err != nil {
			return err
		}
		if scale == 0 && slices.Max(code) != 0 {
			return damaged("vector of unit %d", unit)
		}
		for i := range v.Dims {
			b := v.Value(bytes, i)
			// A value may round to 0, but never changes its sign.
			positive := code[i/64]>>(i%64)&1 == 1
			if b > 0 && !positive || b < 0 && positive || b != 0 && scale == 0 {
				return damaged("vector of unit %d", unit)
			}
		}
	}
	return nil
}
